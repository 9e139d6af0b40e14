"""Separability of any doubles, what does not change a verdict, and what a verdict holds."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import maxmargin as mm
from separation import check_verdict, decide, signed
from verdicts import HUGE, TINY, UP, both, judge
from verdicts import path as path

# A failing case is not made smaller, which would take minutes.
bounded = settings(phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False)
fewer = settings(bounded, max_examples=bounded.max_examples // 3)  # each asks for many verdicts
numbers = st.one_of(
    st.integers(-2, 2).map(float),
    st.sampled_from(
        [0.1, 0.2, 0.3, 1 / 3, UP, 1e-10, 1e-200, TINY, -TINY, 1e308, -1e308, 1e16, HUGE, -HUGE]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def cases(draw):
    n, d = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array([0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    return X, y, draw(st.booleans())


@both
@bounded
@given(cases())
def test_any_doubles(case):
    X, y, intercept = case
    expected = decide(signed(X, 2 * y - 1, intercept))
    verdict = judge(X, y, expected.kind, intercept)
    if expected.kind == "touching":
        assert verdict.on_plane.tolist() == expected.on


@both
@fewer
@given(cases(), st.randoms(use_true_random=False))
def test_what_does_not_matter_does_not_change_the_verdict(case, random):
    X, y, intercept = case
    n, d = X.shape
    kind = mm.separability(X, y, fit_intercept=intercept).kind

    def same(Z, labels):
        verdict = mm.separability(Z, labels, fit_intercept=intercept)
        assert verdict.kind == kind
        return verdict

    order = random.sample(range(n), n)
    same(X[order], y[order])
    same(X[:, random.sample(range(d), d)], y)
    again = [*range(n), *(random.randrange(n) for _ in range(4))]
    same(X[again], y[again])
    same(np.hstack([X, X[:, :1]]), y)
    same(np.hstack([X, np.zeros((n, 1))]), y)
    if intercept:
        same(np.hstack([X, np.full((n, 1), random.choice([1.0, -3.0, 1e300, TINY]))]), y)
    powers = 2.0 ** np.array([random.randint(-40, 40) for _ in range(d)])
    with np.errstate(over="ignore", under="ignore"):
        Z = X * powers
        if np.array_equal(Z / powers, X):
            same(Z, y)


@both
@fewer
@given(cases())
def test_flipping_the_labels_flips_the_plane(case):
    X, y, intercept = case
    one = mm.separability(X, y, fit_intercept=intercept)
    other = mm.separability(X, 1 - y, fit_intercept=intercept)
    assert one.kind == other.kind
    check_verdict(other, X, 1 - y, intercept)
    if one.kind == "touching":
        assert one.on_plane.tolist() == other.on_plane.tolist()
    if one.kind == "separable" and one.margin[0] > 0:
        for ours, theirs in zip(one.margin, other.margin, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-5)
        for a, b in zip(one.w.tolist(), other.w.tolist(), strict=True):
            assert not (a * b > 0 and min(abs(a), abs(b)) > 0.01 * np.max(np.abs(one.w)))


def test_a_determinant_that_many_primes_divide():
    """Four rows whose determinant is (2^61 − 1)(2^63 − 25)(2^64 − 59), and their mirror images."""
    goal = (2**61 - 1) * (2**63 - 25) * (2**64 - 59)
    base = 2**47
    digits = [goal // base**k % base for k in range(4)]
    digits[3] += goal // base**4 * base
    # A companion matrix: its determinant is the number with these digits.
    V = [[float(v) for v in digits]] + [
        [float(-base) if j == k else 1.0 if j == k + 1 else 0.0 for j in range(4)] for k in range(3)
    ]
    X, y = np.array(V + V), [0] * 4 + [1] * 4
    verdict = mm.separability(X, y, fit_intercept=False)
    assert verdict.kind == "overlapping" and verdict.rank == 4
    assert verdict.proof.verify(X, y)


def test_wide_rows_that_cancel_have_short_proofs():
    rng = np.random.default_rng(0)
    half = rng.integers(-3, 4, (15, 600)) * (rng.random((15, 600)) < 0.02)
    X, y = np.vstack([half, half]).astype(float), [0] * 15 + [1] * 15
    verdict = mm.separability(X, y)
    assert verdict.kind == "overlapping" and verdict.proof.verify(X, y)
    assert not verdict.proof.content["span"]["flat"]


def test_verdicts_keep_no_copies_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, 8))
    y = np.arange(12_000) % 3
    verdict = mm.separability(X, y)
    assert not verdict.pairs[0, 1].separable
    assert verdict.pairs[0, 1].proof.verify(X, np.where(y == 2, -1, y))
    assert verdict.pairs[1, 2].proof.verify(X, y)
