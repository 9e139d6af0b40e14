"""What may be done to the data, and what then becomes of their soft margin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
from planes import primal_value
from softmargins import assert_optimal, plane


@st.composite
def problems(draw):
    n, d = draw(st.integers(4, 14)), draw(st.integers(1, 4))
    cells = st.integers(-6, 6)
    X = draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    y[0], y[1] = -1, 1
    return np.array(X, dtype=float) / 2, np.array(y), draw(st.sampled_from([0.01, 0.5, 4.0, 100.0]))


def fitted(X, y, C, weight=None, **options):
    return mm.SoftMarginSVC(C=C, tol=1e-9, **options).fit(X, y, weight)


def assert_w(one, two):
    """Values to 2e-9 leave w known to about the root of that."""
    a, b = one.certificate_, two.certificate_
    assert a.primal == pytest.approx(b.primal, rel=3e-9)
    apart = np.linalg.norm(one.coef_ - two.coef_)
    assert apart <= np.sqrt(2e-9 * a.primal) + np.sqrt(2e-9 * b.primal) + 1e-12


@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(case, random):
    X, y, C = case
    rows, columns = list(range(len(y))), list(range(X.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one, two = fitted(X, y, C), fitted(X[rows][:, columns], y[rows], C)
    two._Z[0, columns] = two._Z[0, :-1].copy()
    assert_w(one, two)


@given(problems())
def test_flipped_labels_flip_the_plane(case):
    X, y, C = case
    one, two = fitted(X, y, C), fitted(X, -y, C)
    two._Z *= -1.0
    assert_w(one, two)


@given(problems(), st.lists(st.integers(-50, 50), min_size=4, max_size=4))
def test_a_translation_leaves_w_as_it_is(case, by):
    X, y, C = case
    by = np.array(by[: X.shape[1]], dtype=float)
    one, two = fitted(X, y, C), fitted(X + by, y, C)
    assert_w(one, two)
    moved = primal_value(X, y, C, two.coef_[0], float(two.intercept_[0] + two.coef_[0] @ by))
    assert moved == pytest.approx(one.certificate_.primal, rel=3e-9)


@given(problems(), st.integers(-3, 3))
def test_a_scale_of_the_features_is_a_scale_of_C(case, power):
    X, y, C = case
    s = 4.0**power
    one, two = fitted(X, y, C), fitted(s * X, y, C / s**2)
    assert two.certificate_.primal * s**2 == pytest.approx(one.certificate_.primal, rel=3e-9)


@given(problems(), st.lists(st.integers(1, 3), min_size=14, max_size=14))
def test_repeated_rows_are_weights(case, times):
    X, y, C = case
    times = np.array(times[: len(y)])
    again = np.repeat(np.arange(len(y)), times)
    assert_w(fitted(X, y, C, times), fitted(X[again], y[again], C))


@given(problems())
def test_no_plane_nearby_is_better(case):
    X, y, C = case
    model = fitted(X, y, C)
    w, b = plane(model)
    proof = model.certificate_
    assert proof.primal == pytest.approx(primal_value(X, y, C, w, b), rel=1e-9)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(5):
            other = primal_value(
                X, y, C, w + size * rng.standard_normal(len(w)), b + size * rng.normal()
            )
            assert other >= proof.primal * (1 - 1e-9)


@given(problems())
def test_every_certificate_holds(case):
    X, y, C = case
    for bias in (True, False):
        model = fitted(X, y, C, fit_intercept=bias)
        assert_optimal(model, X, y, C, bias=bias)
