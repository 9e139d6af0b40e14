"""Signs of planes: floating point, sums of whole numbers and integers agree with fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.rows import DenseRows, as_rows
from maxmargin.solvers.exact import signs as module
from maxmargin.solvers.exact.integer_rows import ExactRows, exponents_of
from maxmargin.solvers.exact.signs import signs


def exact_rows(X, y, pad=1.0):
    exponents = np.frexp(np.abs(X).max(axis=0))[1].astype(np.int64)
    return ExactRows(as_rows(X), y, pad, exponents)


def expected(rows, X, y, z, offset=0):
    """sign(a_i·z − offset) in fractions, z in the coordinates of the exact rows."""
    found = []
    for x, s in zip(X.tolist(), y.tolist(), strict=True):
        a = [Fraction(v) / Fraction(2) ** k for v, k in zip(x, rows.powers, strict=True)]
        value = int(s) * sum(p * q for p, q in zip([*a, 1], z, strict=True)) - offset
        found.append((value > 0) - (value < 0))
    return found


numbers = st.one_of(
    st.floats(-4, 4, width=32),
    st.floats(-1e6, 1e6),
    st.sampled_from([0.0, 0.1, 0.3, -0.1, 1 / 3, 5e-324, 1e-9]),
)


@given(st.data())
def test_signs_are_those_of_fractions(data):
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    X = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(data.draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=n, max_size=n)))
    z = data.draw(
        st.lists(st.integers(-(2**70), 2**70) | st.integers(-9, 9), min_size=d + 1, max_size=d + 1)
    )
    if not any(z):
        return
    rows = exact_rows(X, y)
    assert signs(rows, z).of.tolist() == expected(rows, X, y, z)
    assert signs(rows, z, 3).of.tolist() == expected(rows, X, y, z, 3)


def test_rows_on_a_plane_are_decided_without_integers(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 6))
    X[:, 3] = X[:, 1]
    X[::7, 3] = np.nextafter(X[::7, 1], np.inf)  # some rows are one ulp off
    y = np.where(rng.random(5_000) < 0.5, 1.0, -1.0)
    rows = exact_rows(X, y)
    z = [0, 1 << rows.powers[1] - min(rows.powers[1], rows.powers[3]), 0, 0, 0, 0, 0]
    z[3] = -(1 << rows.powers[3] - min(rows.powers[1], rows.powers[3]))
    monkeypatch.setattr(ExactRows, "whole", None)  # not called
    found = signs(rows, z)
    assert found.exact == 5_000
    assert found.of.tolist() == np.sign(y * (X[:, 1] - X[:, 3])).astype(int).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_limbs(seed):
    rng = np.random.default_rng(seed)
    A = np.ldexp(rng.integers(-(2**53), 2**53, (50, 8)).astype(float), rng.integers(0, 26, (50, 8)))
    A[:10, 1] = A[:10, 0]
    v = rng.integers(-(2**20), 2**20, 8).astype(float)
    v[1] = -v[0]
    A[:5, 2:] = 0.0
    truth = [sum(int(a) * int(b) for a, b in zip(row, v, strict=True)) for row in A]
    assert module._in_limbs(A, v).tolist() == np.sign(np.array(truth, dtype=object)).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_dense_rows_in_integers_are_what_their_doubles_are(seed):
    rng = np.random.default_rng(seed)
    n, d = (int(v) for v in rng.integers(1, 9, 2))
    X = rng.standard_normal((n, d))
    wide = X * 10.0 ** rng.uniform(-300, 300, (n, d))
    X = [wide, rng.integers(-4, 5, (n, d)) / 2.0, X * 1e-320, X.astype(np.float32)][seed % 4]
    X = X * (rng.random((n, d)) < 0.7)
    y, form = rng.choice([-1.0, 1.0], n), DenseRows(X)
    rows = ExactRows(form, y, float(seed % 2), exponents_of(form.column_reach))
    for i, a in enumerate(rows.integers(range(n))):
        row = [Fraction(float(v)) / Fraction(2) ** k for v, k in zip(X[i], rows.powers, strict=True)]
        expected = [int(y[i]) * v for v in [*row, Fraction(1)][: rows.D]]
        assert [Fraction(v, 1 << a.m) for v in a.ints] == expected
