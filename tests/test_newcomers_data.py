"""What newcomers tripped over in Python: data frames, gaps, and answers too long to read."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.stopping import MaxUpdates

# Data frames: columns have names.


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0], "height": [1.0, 2.0, np.nan, 5.0], "city": list("xyxy")}
    )


@pytest.mark.parametrize("estimator", [mm.SoftMarginSVC, mm.Perceptron, mm.PocketPerceptron])
def test_columns_are_called_by_their_names(estimator):
    X, y = frame(), [0, 0, 1, 1]
    with pytest.raises(
        mm.InputError, match=r"Got text in row 0, column 'city' instead .*Encode the column"
    ):
        estimator().fit(X[["age", "city"]], y)
    with pytest.raises(mm.InputError, match="Got NaN in row 2, column 'height' instead"):
        estimator().fit(X[["age", "height"]], y)
    model = estimator().fit(X[["age", "height"]].fillna(3.0), y)
    with pytest.raises(mm.InputError, match="Got NaN in row 2, column 'height' instead"):
        model.predict(X[["age", "height"]])
    with pytest.raises(mm.InputError, match="Divide column 'age', where it is"):
        estimator().fit(X[["age"]] * 1e300, y)


def test_verdicts_call_columns_by_their_names_too():
    X, y = frame(), [0, 0, 1, 1]
    with pytest.raises(mm.InputError, match="column 'city'"):
        mm.separability(X[["age", "city"]], y)
    with pytest.raises(mm.InputError, match="column 'height'"):
        mm.separability(X[["age", "height"]], y)


@pytest.mark.parametrize(
    "y", [[0, 1, np.nan, 1], [0, 1, None, 1], ["a", "b", None, "a"], ["a", "b", np.nan, "a"]]
)
def test_a_label_that_is_missing_is_named_by_its_row(y):
    X = [[1.0], [2.0], [3.0], [4.0]]
    labels = np.array(y, dtype=object) if isinstance(y[0], str) else y
    for work in (mm.SoftMarginSVC().fit, mm.Perceptron().fit, mm.separability):
        with pytest.raises(mm.InputError, match=r"Got (NaN|None) in row 2 instead\. Leave the row out"):
            work(X, labels)


def test_labels_and_weights_of_another_number():
    X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    with pytest.raises(
        mm.InputError, match=r"y must hold one label per row of X, 4 in all\. Got 3 instead"
    ):
        mm.Perceptron().fit(X, y[:3])
    bad = {
        "Got 2 numbers instead": [1, 2],
        "Got NaN in row 1": [1, np.nan, 1, 1],
        "no number": list("abcd"),
    }
    bad |= {"Got -1.0 in row 0": [-1, 1, 1, 1], r"shape \(2, 2\)": [[1, 1], [1, 1]], "only zeros": 0.0}
    for message, weight in bad.items():
        with pytest.raises(mm.InputError, match=message):
            mm.SoftMarginSVC().fit(X, y, sample_weight=weight)


# Long answers in few words.


def test_certificates_of_several_machines_are_told_in_lines():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    found = mm.certify(mm.SoftMarginSVC(tol=0.1).fit(X, y), X, y)
    worst = max(found, key=lambda label: found[label].relative_gap)
    lines = str(found).splitlines()
    assert isinstance(found, dict) and len(lines) == 4
    assert lines[0].startswith(
        "3 certificates: soft margin, C = 1, audited. The largest relative gap is"
    )
    assert lines[0].endswith(f"that of {worst!r}.") and lines[1].startswith("· 'a': gap ")
    assert "\n" not in repr(found) and repr(found).startswith("Certificates('a': gap ")


def test_a_run_without_end_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("maxmargin.core.history.MOST", 10)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    model = mm.Perceptron(max_iter=None, stop=MaxUpdates(2000)).fit(X, y)
    history = model.history_
    assert len(history) <= 10 and history[-1].epoch == model.n_iter_ > 50
    assert history["mistakes"].sum() == model.n_mistakes_
    model.partial_fit(X, y)
    assert model.history_[-1].epoch == model.n_iter_
