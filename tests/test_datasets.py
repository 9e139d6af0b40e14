"""Data with known answers: what datasets promises, exact arithmetic confirms."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin import datasets

MARGINS = [1.0, 1.25, 0.75, 5.0, 0.1, 1e-6, 3e7, 0.2]
GENERATORS = [
    lambda n, d, **options: datasets.make_separable(n, d, 0.5, **options)[:2],
    datasets.make_touching,
    datasets.make_overlapping,
]


@pytest.mark.parametrize("name", datasets.names())
def test_named_examples_are_of_the_kind_and_margin_they_say(name):
    data = datasets.load(name)
    verdict = mm.separability(data.X, data.y)
    if isinstance(verdict, mm.MulticlassVerdict):
        assert verdict.separable == (data.kind == "separable") and data.margin is None
        return
    assert verdict.kind == data.kind
    if not verdict.separable:
        assert data.margin is None
        return
    exact = mm.HardMarginSVC().prove(data.X, data.y)
    assert exact.squared_margin == data.squared_margin
    assert data.margin == pytest.approx(exact.margin, rel=1e-15)


def test_every_named_example_is_described_and_small():
    assert {"exam-marks", "touching", "one-outlier", "xor", "collinear"} <= set(datasets.names())
    for name in datasets.names():
        data = datasets.load(name)
        assert data.name == name and data.description.endswith(".") and name in repr(data)
        assert len(data.X) == len(data.y) <= 30 and len(data.feature_names) == data.X.shape[1]


def test_loading_twice_gives_two_copies():
    datasets.load("xor").X[:] = 7
    assert datasets.load("xor").X.max() == 1


def test_descriptions_tell_the_truth():
    off = datasets.load("off-origin")
    assert mm.separability(off.X, off.y, fit_intercept=False).kind != "separable"
    outlier = datasets.load("one-outlier")
    others = np.flatnonzero(np.any(outlier.X != [1.5, 1.25], axis=1))
    without = mm.HardMarginSVC().prove(outlier.X[others], outlier.y[others])
    assert without.margin > 5 * outlier.margin
    three = datasets.load("three-points")
    optimum = mm.HardMarginSVC().prove(three.X, three.y)
    assert (*optimum.w, optimum.b) == (Fraction(1, 17), Fraction(4, 17), Fraction(-5, 17))
    opposite, quarter = (datasets.load(name) for name in ("opposite", "quarter"))
    assert mm.Perceptron().fit(opposite.X, opposite.y).n_mistakes_ == 1
    assert mm.Perceptron().fit(quarter.X, quarter.y).n_mistakes_ > 1
    marks = datasets.load("more-marks")
    assert np.array_equal(marks.y == 1, marks.X.mean(axis=1) > 50)
    for name, errors in (("slack", 2), ("alternating", 2)):
        data = datasets.load(name)
        pocket = mm.PocketPerceptron(random_state=0).fit(data.X, data.y)
        assert round(pocket.best_error_ * len(data.y)) == errors


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (9, 1), (30, 2), (40, 3), (40, 5), (10, 30)])
def test_the_margin_is_exactly_the_one_returned(n, d, margin, fit_intercept):
    X, y, true = datasets.make_separable(n, d, margin, fit_intercept=fit_intercept)
    assert X.shape == (n, d) and true == margin
    exact = mm.HardMarginSVC(fit_intercept=fit_intercept).prove(X, y)
    assert exact.squared_margin == Fraction(true) ** 2
    assert mm.separability(X, y, fit_intercept=fit_intercept).separable


@given(
    st.integers(2, 12),
    st.integers(1, 6),
    st.floats(1e-8, 1e8),
    st.floats(1e-3, 1e3),
    st.floats(0.01, 0.99),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_any_margin_is_exact(n, d, margin, spread, balance, fit_intercept, seed):
    X, y, true = datasets.make_separable(
        n, d, margin, spread=spread, balance=balance, fit_intercept=fit_intercept, random_state=seed
    )
    exact = mm.HardMarginSVC(fit_intercept=fit_intercept).prove(X, y)
    assert exact.squared_margin == Fraction(true) ** 2 == Fraction(margin) ** 2


@given(st.integers(4, 12), st.integers(1, 6), st.floats(0.01, 0.99), st.integers(0, 2**32 - 1))
def test_touching_sets_touch(n, d, balance, seed):
    X, y = datasets.make_touching(n, d, balance=balance, random_state=seed)
    assert mm.separability(X, y).kind == "touching"


@given(
    st.integers(0, 8),
    st.integers(1, 6),
    st.floats(0.01, 0.99),
    st.floats(0, 100),
    st.integers(0, 2**32 - 1),
)
def test_overlapping_sets_overlap(more, d, balance, distance, seed):
    n = d + 2 + more
    X, y = datasets.make_overlapping(n, d, distance=distance, balance=balance, random_state=seed)
    assert mm.separability(X, y).kind == "overlapping"


def test_planes_are_tilted_where_doubles_allow():
    def weights(d, margin):
        X, y, _ = datasets.make_separable(60, d, margin)
        return sorted(abs(w) * Fraction(margin) for w in mm.HardMarginSVC().prove(X, y).w)

    assert weights(2, 1.25) == [Fraction(3, 5), Fraction(4, 5)]
    assert weights(3, 0.75) == [Fraction(1, 3), Fraction(2, 3), Fraction(2, 3)]
    assert weights(5, 1.0) == [0, *[Fraction(1, 2)] * 4]
    assert weights(2, 1.0) == [0, 1]


def test_without_a_bias_the_plane_goes_through_the_origin_and_with_one_it_does_not():
    X, y, _ = datasets.make_separable(60, 4, 0.25, fit_intercept=False)
    assert mm.HardMarginSVC().prove(X, y).b == 0
    X, y, _ = datasets.make_separable(60, 4, 0.25)
    assert mm.HardMarginSVC().prove(X, y).b != 0


@pytest.mark.parametrize("make", GENERATORS)
def test_seed_balance_and_spread_matter(make):
    X, y = make(200, 3)
    again, labels = make(200, 3)
    assert np.array_equal(X, again) and np.array_equal(y, labels)
    other, _ = make(200, 3, random_state=1)
    assert not np.array_equal(X, other)
    assert np.count_nonzero(y == 1) == 100
    _, few = make(200, 3, balance=0.1)
    assert np.count_nonzero(few == 1) == 20
    wide, _ = make(200, 3, spread=64.0)
    assert np.std(wide) > 16 * np.std(X)


def test_distance_parts_the_clouds():
    def errors(distance):
        X, y = datasets.make_overlapping(400, 2, distance=distance)
        return mm.SoftMarginSVC().fit(X, y).score(X, y)

    assert errors(0.5) < 0.75 < 0.9 < errors(4.0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: datasets.load("iris"), "name must be one of 'exam-marks'"),
        (lambda: datasets.make_separable(1, 2, 1.0), "n must be an integer ≥ 2"),
        (lambda: datasets.make_separable(5, 0, 1.0), "d must be an integer ≥ 1"),
        (lambda: datasets.make_separable(5, 2, 0.0), "margin must be a finite number > 0"),
        (lambda: datasets.make_separable(5, 2, 1.0, spread=-1), "spread must be"),
        (lambda: datasets.make_separable(5, 2, 1.0, balance=1.0), "balance must be"),
        (lambda: datasets.make_separable(5, 2, 1.0, fit_intercept="no"), "fit_intercept must be"),
        (lambda: datasets.make_separable(5, 2, 1.0, random_state=-1), "random_state must be"),
        (lambda: datasets.make_touching(3, 2), "n must be an integer ≥ 4"),
        (lambda: datasets.make_overlapping(4, 3), "n must be an integer ≥ 5"),
        (lambda: datasets.make_overlapping(9, 3, distance=-1), "distance must be"),
    ],
)
def test_wrong_parameters_are_named(call, said):
    with pytest.raises(mm.InputError, match="instead") as error:
        call()
    assert said in str(error.value)
