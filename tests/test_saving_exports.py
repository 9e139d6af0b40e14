"""Other tools predict with our models what we predict."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin.core.errors import InputError
from maxmargin.saving import LinearModel, from_liblinear, read_any, to_liblinear, to_onnx
from zoo import model

X, y = load_iris(return_X_y=True)
CODES = {
    "int": np.array([2, 5, 9]),
    "negative": np.array([-3, -1, 4], dtype=np.int8),
    "float": np.array([0.0, 1.0, 2.0]),
    "text": np.array(["a", "bü", "c"]),
    "objects": np.array(["a", "b", "c"], dtype=object),
}


def run_onnx(path, rows):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["label", "decision"], {"X": np.asarray(rows, dtype=np.float64)})


def assert_exported(fitted, path, rows):
    to_onnx(fitted, path)
    labels, decisions = run_onnx(path, rows)
    expected = fitted.decision_function(rows)
    assert decisions.dtype == np.float64
    assert decisions.shape == expected.shape
    sizes = np.abs(rows) @ np.abs(fitted.coef_.T) + np.abs(fitted.intercept_)
    assert np.all(np.abs(decisions - expected) <= 1e-12 * max(1.0, float(sizes.max())))
    assert labels.tolist() == fitted.predict(rows).tolist()


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kind", list(CODES))
def test_onnx_predicts_the_same(tmp_path, kind, multi_class):
    labels = CODES[kind][y]
    assert_exported(mm.SoftMarginSVC(multi_class=multi_class).fit(X, labels), tmp_path / "m.onnx", X)
    two = y > 0
    assert_exported(mm.SoftMarginSVC().fit(X[two], labels[two]), tmp_path / "m.onnx", X)


@pytest.mark.parametrize("name", ["averaged", "batch", "hard", "cv", "hard, short"])
def test_onnx_of_every_kind_of_model(tmp_path, name):
    pytest.importorskip("onnx")
    assert_exported(model(name), tmp_path / "m.onnx", X)


def test_onnx_on_the_plane_itself(tmp_path):
    pytest.importorskip("onnx")
    plane = LinearModel([[1.0, 0.0]], [0.0], np.array(["no", "yes"]))
    to_onnx(plane, tmp_path / "m.onnx")
    labels, decisions = run_onnx(tmp_path / "m.onnx", [[0.0, 1.0], [1e-300, 0.0]])
    assert labels.tolist() == ["no", "yes"]
    assert decisions.tolist() == [0.0, 1e-300]


def test_onnx_of_mixed_labels_and_of_one_class(tmp_path):
    pytest.importorskip("onnx")
    mixed = LinearModel([[1.0]], [0.0], np.array([1, "a"], dtype=object))
    with pytest.raises(InputError, match="labels must be all"):
        to_onnx(mixed, tmp_path / "m.onnx")
    with pytest.raises(InputError, match="two classes"):
        to_onnx(model("one class"), tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("m.onnx", "Use maxmargin.saving.to_onnx for ONNX."),
        ("M.ONNX", "Use maxmargin.saving.to_onnx for ONNX."),
        ("m.liblinear", "Use maxmargin.saving.to_liblinear for LIBLINEAR."),
        ("m.pkl", "Use joblib.dump for a pickle."),
        ("m.joblib", "Use joblib.dump for a pickle."),
        ("m.csv", "Use numpy.savetxt for a table of weights (coef_)."),
        ("m.npz", "Use numpy.savez for weights (coef_)."),
    ],
)
def test_a_name_that_promises_another_format_is_refused(tmp_path, name, remedy):
    """JSON in a file called .onnx would be found out late, and elsewhere."""
    model = mm.Perceptron().fit([[1.0], [-1.0]], [1, -1])
    with pytest.raises(mm.InputError, match=re.escape(f"promises another format. {remedy}")):
        mm.save(model, tmp_path / name)
    assert not list(tmp_path.iterdir())
    for allowed in ("m.json", "m", "m.model", "of.onnx.json"):
        mm.save(model, tmp_path / allowed)
        assert mm.load(tmp_path / allowed).coef_ == model.coef_


def test_onnx_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'maxmargin\[onnx\]'"):
        to_onnx(model("hard"), tmp_path / "m.onnx")


def run_liblinear(path, rows):
    util = pytest.importorskip("liblinear.liblinearutil")
    loaded = util.load_model(str(path))
    assert loaded is not None
    labels, _, values = util.predict([], rows, loaded, "-q")
    return np.array(labels), np.array(values)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("codes", [[0, 1, 2], [-1, 4, 2], [7, 3, 1]])
def test_liblinear_predicts_the_same(tmp_path, codes, fit_intercept):
    labels = np.array(codes)[y]
    fitted = mm.SoftMarginSVC(fit_intercept=fit_intercept).fit(X, labels)
    to_liblinear(fitted, tmp_path / "m")
    found, values = run_liblinear(tmp_path / "m", X)
    assert found.tolist() == fitted.predict(X).tolist()
    assert np.allclose(values, fitted.decision_function(X), rtol=0, atol=1e-12 * 100)
    two = y > 0
    fitted = mm.Perceptron(fit_intercept=fit_intercept, max_iter=3, stop=None)
    with pytest.warns(mm.BudgetWarning):
        fitted.fit(X[two], labels[two])
    to_liblinear(fitted, tmp_path / "m")
    found, values = run_liblinear(tmp_path / "m", X)
    assert found.tolist() == fitted.predict(X).tolist()
    assert np.allclose(values[:, 0], fitted.decision_function(X), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("name", ["hard, short", "soft pairs", "cv", "perceptron"])
def test_a_model_comes_back_from_liblinear(tmp_path, name):
    fitted = model(name)
    if name == "soft pairs":
        with pytest.raises(InputError, match="multi_class='ovr'"):
            to_liblinear(fitted, tmp_path / "m")
        return
    to_liblinear(fitted, tmp_path / "m")
    for read in (from_liblinear, read_any):
        again = read(tmp_path / "m")
        assert again.coef_.tobytes() == fitted.coef_.tobytes()
        assert again.intercept_.tobytes() == fitted.intercept_.tobytes()
        assert again.classes_.tolist() == fitted.classes_.tolist()


def test_liblinear_needs_whole_labels(tmp_path):
    fitted = model("averaged")
    with pytest.raises(InputError, match=r"Pass labels=\[0, 1, …\]"):
        to_liblinear(fitted, tmp_path / "m")
    with pytest.raises(InputError, match="3 distinct integers"):
        to_liblinear(fitted, tmp_path / "m", labels=[1, 1, 2])
    to_liblinear(fitted, tmp_path / "m", labels=[5, 6, 7])
    assert read_any(tmp_path / "m").classes_.tolist() == [5, 6, 7]


def test_what_cannot_be_exported():
    with pytest.raises(InputError, match="from_sklearn"):
        to_liblinear(object(), "nowhere")
