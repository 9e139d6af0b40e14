"""Bad data: a clear error (allowed, given, what to do), never a crash or a silent wrong answer."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import maxmargin as mm

ESTIMATORS = [mm.Perceptron, mm.BatchPerceptron, mm.PocketPerceptron]
X = [[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [-2.0, -1.0]]
Y = [1, 1, 0, 0]


def with_value(value):
    bad = np.array(X)
    bad[2, 1] = value
    return bad


DATA = {
    "nan": (with_value(np.nan), Y, "NaN"),
    "infinity": (with_value(np.inf), Y, "infinity"),
    "minus infinity": (with_value(-np.inf), Y, "infinity"),
    "sparse nan": (sparse.csr_array(with_value(np.nan)), Y, "NaN"),
    "sparse infinity": (sparse.csr_array(with_value(np.inf)), Y, "infinity"),
    "single nan": (with_value(np.nan).astype(np.float32), Y, "NaN"),
    "one class": (X, [1, 1, 1, 1], "at least two classes. Got 1 class"),
    "no rows": (np.empty((0, 2)), [], "0 sample"),
    "no features": (np.empty((4, 0)), Y, "0 feature"),
    "one dimension": ([1.0, 2.0, 3.0, 4.0], Y, "1D array"),
    "three dimensions": (np.zeros((4, 2, 2)), Y, "dim 3"),
    "complex": (np.array(X) * 1j, Y, "Complex"),
    "strings": ([["a", "b"]] * 4, Y, "could not convert string"),
    "no X": (None, Y, "Expected|None"),
    "short y": (X, Y[:3], "inconsistent"),
    "no y": (X, None, "requires y to be passed"),
    "nan in y": (X, [1.0, 0.0, np.nan, 1.0], "NaN"),
    "regression": (X, [0.1, 0.2, 0.35, 0.4], "[Cc]ontinuous"),
    "labels of many columns": (X, [[0, 1], [1, 0], [0, 1], [1, 0]], "1d array|multilabel"),
    "labels that cannot be sorted": (X, np.array([1, "a", None, 2], dtype=object), "label|NaN|None"),
    "1e300": (
        np.array(X) * 1e300,
        Y,
        r"absolute values up to .* Got a largest .* 2\.0e\+300",
    ),
    "1e-300": (np.array(X) * 1e-300, Y, r"Got a largest absolute value of 2\.0e-300 instead\. Divide X"),
    "denormal": (np.array(X) * 1e-320, Y, "Got a largest absolute value of .* Divide X"),
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("rows", "labels", "message"), DATA.values(), ids=DATA)
def test_bad_data_is_refused_by_fit_and_partial_fit(rows, labels, message, estimator):
    with pytest.raises(ValueError, match=message):
        estimator().fit(rows, labels)
    if "classes. Got 1" not in message and "label" not in message and "ontinuous" not in message:
        with pytest.raises(ValueError, match=message):
            estimator().partial_fit(rows, labels, classes=[0, 1])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_rows_are_refused_by_predict(estimator):
    model = estimator().fit(X, Y)
    for bad, message in [
        ([[1.0, 2.0, 3.0]], r"3 features.*2 features"),
        ([[np.nan, 0.0]], "NaN"),
        ([1.0, 2.0], "1D array"),
        ([[1e300, 0.0]], "absolute values up to"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
    with pytest.raises(Exception, match="not fitted"):
        estimator().predict(X)
    with pytest.raises(AttributeError, match="no weights before fit"):
        _ = estimator().coef_


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_starts_are_refused(estimator):
    for bad in ([1.0], [[1.0, 2.0]] * 3, [np.nan, 1.0], ["a", "b"], [1e300, 0.0]):
        with pytest.raises(mm.InputError, match=r"^coef_init must hold 1 × 2 finite numbers.*Got "):
            estimator().fit(X, Y, coef_init=bad)
    for bad in ([1.0, 2.0], np.inf, "b"):
        with pytest.raises(mm.InputError, match=r"^intercept_init must hold 1 × 1 finite numbers.*Got "):
            estimator().fit(X, Y, intercept_init=bad)
    with pytest.raises(mm.InputError, match="intercept_init must be None when fit_intercept=False"):
        estimator(fit_intercept=False).fit(X, Y, intercept_init=1.0)


@pytest.mark.parametrize("x", [[], [[1.0, 2.0]], "ab", 3.0, [1.0, "b"], None, [1j, 2.0]])
def test_bad_vectors_are_refused_by_learn_one(x):
    with pytest.raises(
        mm.InputError, match=r"^x must be a vector of numbers or a dict of features\. Got "
    ):
        mm.Perceptron().learn_one(x, 1)


def test_a_third_label_and_a_new_width_are_refused_by_learn_one():
    model = mm.Perceptron().learn_one([1.0, 2.0], "a").learn_one([0.0, 1.0], "b")
    with pytest.raises(
        mm.InputError, match=r"labels must be among the classes \[.*'a'.*'b'.*\]\. Got .*'c'"
    ):
        model.learn_one([1.0, 1.0], "c")
    with pytest.raises(mm.InputError, match=r"x must hold 2 features, as before\. Got 3 instead"):
        model.learn_one([1.0, 1.0, 1.0], "a")
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one([1.0, np.nan], "a")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_the_place_of_a_missing_value_is_named(form, value, word):
    data = np.arange(12.0).reshape(4, 3)
    data[2, 1] = value
    with pytest.raises(mm.InputError, match=rf"Got {word} in row 2, column 1 instead"):
        mm.Perceptron().fit(form(data), [0, 1, 0, 1])


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0], "height": [1.0, 2.0, np.nan, 5.0], "city": list("xyxy")}
    )


@pytest.mark.parametrize(
    "estimator", [mm.SoftMarginSVC, mm.Perceptron, mm.PocketPerceptron, mm.MinErrorClassifier]
)
def test_columns_are_called_by_their_names(estimator):
    table, y = frame(), [0, 0, 1, 1]
    with pytest.raises(
        mm.InputError, match=r"Got text in row 0, column 'city' instead .*Encode the column"
    ):
        estimator().fit(table[["age", "city"]], y)
    with pytest.raises(mm.InputError, match="Got NaN in row 2, column 'height' instead"):
        estimator().fit(table[["age", "height"]], y)
    model = estimator().fit(table[["age", "height"]].fillna(3.0), y)
    with pytest.raises(mm.InputError, match="Got NaN in row 2, column 'height' instead"):
        model.predict(table[["age", "height"]])
    with pytest.raises(mm.InputError, match="Divide column 'age', where it is"):
        estimator().fit(table[["age"]] * 1e300, y)


def test_verdicts_call_columns_by_their_names_too():
    table, y = frame(), [0, 0, 1, 1]
    with pytest.raises(mm.InputError, match="column 'city'"):
        mm.separability(table[["age", "city"]], y)
    with pytest.raises(mm.InputError, match="column 'height'"):
        mm.separability(table[["age", "height"]], y)


@pytest.mark.parametrize(
    "y", [[0, 1, np.nan, 1], [0, 1, None, 1], ["a", "b", None, "a"], ["a", "b", np.nan, "a"]]
)
def test_a_label_that_is_missing_is_named_by_its_row(y):
    labels = np.array(y, dtype=object) if isinstance(y[0], str) else y
    for work in (mm.SoftMarginSVC().fit, mm.Perceptron().fit, mm.separability):
        with pytest.raises(mm.InputError, match=r"Got (NaN|None) in row 2 instead\. Leave the row out"):
            work(X, labels)


def test_labels_and_weights_of_another_number():
    with pytest.raises(
        mm.InputError, match=r"y must hold one label per row of X, 4 in all\. Got 3 instead"
    ):
        mm.Perceptron().fit(X, Y[:3])
    bad = {
        "Got 2 numbers instead": [1, 2],
        "Got NaN in row 1": [1, np.nan, 1, 1],
        "no number": list("abcd"),
    }
    bad |= {"Got -1.0 in row 0": [-1, 1, 1, 1], r"shape \(2, 2\)": [[1, 1], [1, 1]], "only zeros": 0.0}
    for message, weight in bad.items():
        with pytest.raises(mm.InputError, match=message):
            mm.SoftMarginSVC().fit(X, Y, sample_weight=weight)


THIRDS = [[Fraction(1, 3)], [Fraction(2, 3)], [Fraction(1, 3)], [Fraction(1)]]
TENTHS = [[Decimal("0.1")], [Decimal("0.3")], [Decimal("0.1")], [Decimal("0.4")]]


@pytest.mark.parametrize("X", [THIRDS, TENTHS, pd.DataFrame(THIRDS, columns=["a"])])
def test_a_verdict_does_not_round_fractions_or_decimals(X):
    with pytest.raises(mm.InputError, match="numbers that doubles hold exactly"):
        mm.separability(X, [0, 1, 0, 1])
    assert mm.SoftMarginSVC().fit(X, [0, 1, 0, 1]).coef_.shape == (1, 1)  # doubles all the same


def test_fractions_that_doubles_hold_are_taken():
    X = [[Fraction(1, 4)], [Decimal("0.5")], [Fraction(1, 4)], [2]]
    assert mm.separability(X, [0, 1, 0, 1]).kind == "separable"


def test_masked_entries_are_refused_everywhere():
    X = np.ma.array([[1.0], [2.0], [1.0], [3.0]], mask=[[0], [1], [0], [0]])
    y = [0, 1, 0, 1]
    with pytest.raises(mm.InputError, match=r"no masked entries\. Got one in row 1"):
        mm.separability(X, y)
    with pytest.raises(mm.InputError, match=r"no masked entries\. Got one in row 1"):
        mm.SoftMarginSVC().fit(X, y)
    model = mm.SoftMarginSVC().fit(X.filled(2.0), y)
    with pytest.raises(mm.InputError, match="no masked entries"):
        model.predict(X)
    assert mm.separability(np.ma.array(X.filled(2.0)), y).kind == "separable"  # nothing is masked


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[D]", "timedelta64[s]"])
def test_matrices_of_dates_are_refused(kind):
    X = np.arange(4).astype(kind)[:, None]
    for call in (mm.separability, mm.Perceptron().fit):
        with pytest.raises(mm.InputError, match="dates or times"):
            call(X, [0, 1, 0, 1])
        with pytest.raises(mm.InputError, match="dates or times"):
            call(pd.DataFrame(X, columns=["day"]), [0, 1, 0, 1])


@pytest.mark.parametrize("labels", [[0, 1, 0, 1], [False, True, False, True]])
def test_labels_that_are_whole_numbers_as_objects(labels):
    X, y = [[1.0], [2.0], [1.0], [3.0]], np.array(labels, dtype=object)
    assert mm.separability(X, y).kind == "separable"
    model = mm.SoftMarginSVC(C=100.0).fit(X, y)
    assert model.predict(X).tolist() == labels and model.score(X, y) == 1.0


def test_names_of_columns_that_occur_twice_are_refused():
    X = pd.DataFrame([[1.0, 2.0], [2.0, 3.0], [1.0, 4.0], [3.0, 1.0]], columns=["a", "a"])
    for call in (mm.separability, mm.SoftMarginSVC().fit):
        with pytest.raises(mm.InputError, match="Got 'a' twice"):
            call(X, [0, 1, 0, 1])
