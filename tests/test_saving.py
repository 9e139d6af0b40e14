"""A loaded model is the saved one: the same bits, and the same future."""

import json
import pickle
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

import maxmargin as mm
from maxmargin import saving
from maxmargin.core.errors import BudgetWarning, InputError
from maxmargin.saving import LinearModel, from_dict, load, save, to_dict
from zoo import NAMES, X, assert_same, model, y

FIXTURES = Path(__file__).parent / "fixtures"
STREAMS = ["one class", "stream", "averaged stream", "batch stream", "pocket stream"]
VECTORS = ["perceptron", "averaged", "pairs", "shuffled", "batch parts", "pocket parts"]


def rows_for(fitted):
    """The rows of the zoo, with names if the model knows them."""
    names = getattr(fitted, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    saved = model(name)
    before = to_dict(saved)
    save(saved, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert_same(saved, loaded)
    assert to_dict(loaded) == before == to_dict(saved)
    if name not in ("unfitted", *STREAMS):
        rows = rows_for(saved)
        assert loaded.decision_function(rows).tobytes() == saved.decision_function(rows).tobytes()
        assert loaded.predict(rows).tolist() == saved.predict(rows).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_through_a_dict_of_plain_values(name):
    saved = model(name)
    plain = json.loads(json.dumps(to_dict(saved), allow_nan=False))
    assert_same(saved, from_dict(plain))


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_goes_on_as_if_it_had_not_been_saved(name, tmp_path):
    one = model(name)
    save(one, tmp_path / "state.json")
    other = load(tmp_path / "state.json")
    words = np.array(["a", "b"]) if name == "one class" else np.array(["setosa", "versicolor"])
    for k in range(60, 120):
        x = X[k, :2] if name == "one class" else {f"x{j}": X[k, j % 4] for j in range(k // 10)}
        label = str(words[k % 2])
        assert one.predict_one(x) == other.predict_one(x)
        one.learn_one(x, label)
        other.learn_one(x, label)
    assert_same(one, other)


@pytest.mark.parametrize("name", VECTORS)
def test_parts_go_on_as_if_the_model_had_not_been_saved(name):
    one = model(name).set_params(random_state=6)
    other = from_dict(to_dict(one))
    for _ in range(2):
        labels = one.classes_[y % len(one.classes_)]
        one.partial_fit(X, labels)
        other.partial_fit(X, labels)
    assert_same(one, other)


@pytest.mark.parametrize("name", ["perceptron", "batch", "pocket"])
def test_a_warm_start_goes_on_as_if_the_model_had_not_been_saved(name):
    one = model(name).set_params(warm_start=True, random_state=5)
    other = from_dict(to_dict(one))
    chosen = (
        slice(0, 100) if name == "perceptron" else slice(50, 150) if name == "batch" else slice(0, 150)
    )
    labels = one.classes_[y[chosen] - (1 if name == "batch" else 0)]
    for each in (one, other):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BudgetWarning)
            each.fit(rows_for(one)[chosen], labels)
    for each in (one, other):
        for log in each._logs:
            log.history._epochs = [e._replace(seconds=0.0) for e in log.history]
    assert_same(one, other)


def test_a_warm_start_of_the_soft_margin():
    one = model("soft pairs")
    other = from_dict(to_dict(one))
    assert_same(one.set_params(C=3.0).fit(X, y), other.set_params(C=3.0).fit(X, y))


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        np.array([3, 7], dtype=np.int8),
        np.array([3, 7], dtype=">u4"),
        np.array([-1.0, 1.0], dtype=np.float32),
        [False, True],
        ["no", "ja\u0308 \U0001f600"],
        np.array(["b", "a"], dtype=object),
        np.array([b"x", b"yz"]),
        np.array(["a", np.str_("b")], dtype=object),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [mm.Perceptron, mm.HardMarginSVC])
def test_labels_keep_their_types(labels, kind):
    labels = np.asarray(labels)
    first = kind().fit([[0.0], [1.0], [3.0]], labels[[0, 0, 1]])
    again = from_dict(json.loads(json.dumps(to_dict(first))))
    assert_same(first, again)
    assert [type(v) for v in again.predict([[0.0], [4.0]])] == [
        type(v) for v in first.predict([[0.0], [4.0]])
    ]


@pytest.mark.parametrize("y0", [1, np.int64(1), 1.5, "a", True, np.str_("b")])
def test_labels_of_a_stream_keep_their_types(y0):
    one = mm.Perceptron().learn_one({"a": 1.0, 3: 2.0, ("b", 1): 4.0}, y0)
    assert_same(one, from_dict(to_dict(one)))


def test_weights_are_exact_doubles(tmp_path):
    values = [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 2.0**-1074]
    save(LinearModel([values], [0.1 + 0.2]), tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.coef_.tobytes() == np.array([values]).tobytes()
    assert again.intercept_.tolist() == [0.1 + 0.2]


def test_the_encoding_of_the_command_line_is_kept(tmp_path):
    saved = model("hard")
    saved.encoding_ = {
        "label": "kind",
        "columns": ["size", "colour"],
        "header": True,
        "first_index": 1,
        "categories": {"colour": ["blué", "red"]},
    }
    save(saved, tmp_path / "m.json")
    assert load(tmp_path / "m.json").encoding_ == saved.encoding_
    saved.encoding_ = {"bad": {1, 2}}
    with pytest.raises(InputError, match="plain JSON"):
        save(saved, tmp_path / "m.json")


def test_the_file_says_what_it_is(tmp_path):
    save(model("soft"), tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text(encoding="ascii"))
    assert (content["format"], content["version"]) == ("maxmargin-model", 1)
    assert content["library"] == mm.__version__
    assert content["parameters"]["class_weight"] == "balanced"
    assert content["features"]["names"]["values"] == list("abcd")
    assert content["classes"]["values"] == ["setosa", "versicolor", "virginica"]
    assert content["state"]["machines"][0]["certificate"]["primal"] > 0
    assert len(content["checksum"]) == 64


def test_splitters_of_scikit_learn_are_kept():
    cv = mm.SoftMarginSVCCV([1.0], cv=StratifiedKFold(4, shuffle=True, random_state=2)).fit(X, y)
    again = from_dict(to_dict(cv))
    assert repr(again.cv) == repr(cv.cv)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (mm.SoftMarginSVCCV(cv=[([0], [1])].__iter__()), r"set_params\(cv=None\)"),
        (mm.SoftMarginSVCCV(scoring=max), r"set_params\(scoring=None\)"),
        (mm.SoftMarginSVC(C=-1.0), "C must be"),
        (mm.Perceptron(stop="never"), "stop must be"),
        (StratifiedKFold(), "an estimator of maxmargin"),
        (type("Mine", (mm.Perceptron,), {})(), "an estimator of maxmargin"),
    ],
)
def test_what_cannot_be_saved_is_refused(broken, words, tmp_path):
    with pytest.raises(InputError, match=words):
        save(broken, tmp_path / "m.json")
    assert not list(tmp_path.iterdir())


def test_pickle_and_joblib_work(tmp_path):
    for name in ("averaged", "stream", "pocket", "soft", "cv"):
        saved = model(name)
        assert_same(saved, pickle.loads(pickle.dumps(saved)))
        joblib.dump(saved, tmp_path / "m.joblib")
        assert_same(saved, joblib.load(tmp_path / "m.joblib"))


@pytest.mark.parametrize("name", ["soft", "averaged", "stream", "pocket"])
def test_models_of_format_version_1_keep_loading(name):
    loaded = load(FIXTURES / f"model-v1-{name}.json")
    expected = json.loads((FIXTURES / f"model-v1-{name}.expected.json").read_text())
    assert loaded.coef_.tolist() == expected["coef"]
    assert loaded.intercept_.tolist() == expected["intercept"]
    assert loaded.classes_.tolist() == expected["classes"]
    if name != "stream":
        assert loaded.predict(rows_for(loaded)).tolist() == expected["predictions"]
    assert_same(loaded, from_dict(to_dict(loaded)))


def test_a_part_of_format_version_1_keeps_loading():
    loaded = load(FIXTURES / "model-v1-wide.json")
    assert loaded.coef_.shape == (1, 20_000)
    assert np.flatnonzero(loaded.coef_).tolist() == [3, 19_999]


@pytest.mark.parametrize("name", [*NAMES, "linear", "wide"])
def test_model_files_follow_their_schema(name, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((Path(saving.__file__).parent / "model-1.schema.json").read_text())
    made = {
        "linear": LinearModel(np.eye(3), np.zeros(3), np.array(["a", "b", "c"])),
        "wide": LinearModel(np.zeros((1, 20_000)), [1.0]),
    }
    save(made[name] if name in made else model(name), tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    checked = jsonschema.Draft202012Validator(schema)
    checked.validate(content)
    for key in ("format", "version", "model", "weights"):
        assert not checked.is_valid({**content, key: "other"})
