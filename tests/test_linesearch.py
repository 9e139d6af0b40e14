"""The exact line searches against brute force in exact arithmetic."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from maxmargin.kernels.line_search import fewest_errors
from maxmargin.solvers.perceptron.batch import breaks, lowest

small = st.integers(-6, 6)
cases = st.lists(st.tuples(small, small, st.integers(1, 4)), min_size=1, max_size=12)


def columns(rows):
    return (np.array(column, dtype=float) for column in zip(*rows, strict=True))


def risk(rows, t):
    return sum(c * max(Fraction(0), -(m + t * q)) for m, q, c in rows)


def least_risk(m, q, c):
    return lowest(breaks(m, q, c))


def breakpoints(rows):
    return sorted({Fraction(-m, q) for m, q, _ in rows if q})


@given(cases)
def test_least_risk_is_the_least_over_all_breakpoints(rows):
    assume(any(m for m, _, _ in rows))
    best = min(risk(rows, t) for t in [Fraction(0), *(t for t in breakpoints(rows) if t > 0)])
    t = least_risk(*columns(rows))
    assert t >= 0
    assert float(risk(rows, Fraction(t))) == pytest.approx(float(best), abs=1e-12)


@given(cases)
def test_least_risk_beats_dense_sampling(rows):
    assume(any(m for m, _, _ in rows))
    t = least_risk(*columns(rows))
    m, q, c = columns(rows)
    samples = np.linspace(0, 15, 1501)
    R = (c[:, None] * np.maximum(0, -(m[:, None] + np.outer(q, samples)))).sum(axis=0)
    assert float(risk(rows, Fraction(t))) <= R.min() + 1e-9


def test_least_risk_takes_the_middle_of_a_flat_stretch():
    # −(−1 + t) falls until t = 1, −(3 − t) rises from t = 3: zero in between.
    t = least_risk(np.array([-1.0, 3.0]), np.array([1.0, -1.0]), np.ones(2))
    assert t == 2.0


def test_least_risk_goes_beyond_a_crease_after_which_nothing_rises():
    t = least_risk(np.array([-1.0, 2.0]), np.array([1.0, 1.0]), np.ones(2))
    assert t > 1  # every row strictly correct


def test_least_risk_heeds_the_weights():
    m, q = np.array([-1.0, 2.0]), np.array([1.0, -1.0])
    assert risk([(-1, 1, 1), (2, -1, 1)], Fraction(least_risk(m, q, np.ones(2)))) == 0
    m = np.array([-4.0, 2.0])
    assert least_risk(m, q, np.array([1.0, 3.0])) == 2.0
    assert least_risk(m, q, np.array([3.0, 1.0])) == 4.0


def test_least_risk_leaves_the_origin():
    # At z = 0 all margins are zero and so is R, a minimum that decides nothing.
    assert least_risk(np.zeros(3), np.array([1.0, 2.0, -1.0]), np.ones(3)) > 0


def test_least_risk_stays_where_every_way_is_up():
    assert least_risk(np.array([-1.0]), np.array([-1.0]), np.ones(1)) == 0.0


def wrong(rows, t):
    return sum(c for m, q, c in rows if m + t * q <= 0)


def fewest(rows):
    """Try a point inside every interval between breakpoints, and the breakpoints themselves."""
    at = breakpoints(rows)
    if not at:
        return wrong(rows, Fraction(0))
    middles = [(a + b) / 2 for a, b in pairwise(at)]
    return min(wrong(rows, t) for t in [at[0] - 1, *at, *middles, at[-1] + 1])


@given(cases)
def test_fewest_errors_is_the_least_over_all_intervals(rows):
    t, errors = fewest_errors(*columns(rows))
    assert errors == fewest(rows)
    assert wrong(rows, Fraction(t)) == errors


@given(cases, st.integers(1, 6))
def test_fewest_errors_among_the_nearest_breakpoints(rows, nearest):
    at = sorted(abs(Fraction(-m, q)) for m, q, _ in rows if q)
    reach = at[nearest] if nearest < len(at) else None
    assume(reach is None or reach > 0)
    t, errors = fewest_errors(*columns(rows), nearest)
    assert wrong(rows, Fraction(t)) == errors
    if reach is None:
        assert errors == fewest(rows)
    else:
        assert abs(t) <= reach
        assert errors <= min(wrong(rows, reach * Fraction(k, 50)) for k in range(-49, 50))


def test_fewest_errors_takes_the_middle_of_the_widest_interval():
    # Errors: one for t in (0, 1), one for t in (4, 10), more elsewhere.
    rows = [(0, 1, 1), (1, -1, 1), (-4, 1, 1), (10, -1, 1), (-20, 1, 5), (-20, -1, 5)]
    t, _ = fewest_errors(*columns(rows[:4]))
    assert t == 7.0


def test_fewest_errors_looks_both_ways():
    assert fewest_errors(np.array([-1.0]), np.array([1.0]), np.ones(1))[0] > 1
    assert fewest_errors(np.array([-1.0]), np.array([-1.0]), np.ones(1))[0] < -1


def test_fewest_errors_along_a_direction_in_which_nothing_moves():
    t, errors = fewest_errors(np.array([-1.0, 2.0]), np.zeros(2), np.array([3.0, 1.0]))
    assert (t, errors) == (0.0, 3.0)
