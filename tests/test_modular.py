"""Elimination modulo a prime against plain loops, and what it decides against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_mat
from scipy import sparse

from clocks import HOUR, Clock
from maxmargin.core.parameters import NEVER, Deadline, OutOfTimeError
from maxmargin.rows import CsrRows, DenseRows
from maxmargin.solvers.exact import linear_algebra, modular
from maxmargin.solvers.exact.conditioning import condition
from maxmargin.solvers.exact.face import Face
from maxmargin.solvers.exact.integer_rows import ExactRows, exponents_of
from maxmargin.solvers.exact.linear_algebra import pivots
from maxmargin.solvers.exact.modular import (
    LARGEST_PRIME,
    leading_columns,
    outside_span,
    reduced,
    residues_of,
)

P = LARGEST_PRIME


def reduced_form(A, p):
    """The reduced echelon form modulo p, row by row, and its leading columns."""
    rows, leading = [[int(v) % p for v in row] for row in A], []
    for j in range(len(rows[0])):
        k = next((k for k in range(len(leading), len(rows)) if rows[k][j]), None)
        if k is None:
            continue
        top = len(leading)
        rows[top], rows[k] = rows[k], rows[top]
        inverse = pow(rows[top][j], -1, p)
        rows[top] = [v * inverse % p for v in rows[top]]
        for i, row in enumerate(rows):
            if i != top and row[j]:
                rows[i] = [(v - row[j] * u) % p for v, u in zip(row, rows[top], strict=True)]
        leading.append(j)
    return rows[: len(leading)], leading


def matrix(rng):
    n, m, rank = (int(v) for v in rng.integers(1, 40, 3))
    A = rng.integers(0, P, (n, rank)) @ rng.integers(0, 3, (rank, m)) % P
    return (A * (rng.random(A.shape) < rng.choice([0.1, 1.0]))).astype(float)


@pytest.mark.parametrize("at_once", [0, 1 << 16])
@pytest.mark.parametrize("seed", range(40))
def test_the_echelon_form_is_that_of_plain_loops(seed, at_once, monkeypatch):
    monkeypatch.setattr(modular, "SMALL_ENTRIES", at_once)
    monkeypatch.setattr(modular, "EXACT_PRODUCTS", 5)
    monkeypatch.setattr(modular, "MAX_ENTRIES", 50)
    A = matrix(np.random.default_rng(seed))
    form, leading = reduced_form(A, P)
    assert leading_columns(A.copy(), P, NEVER) == leading
    columns, M = reduced(A.copy(), P, NEVER)
    others = [j for j in range(A.shape[1]) if j not in leading]
    assert columns == leading and M.tolist() == [[row[j] for j in others] for row in form]
    assert not np.any(outside_span(A, columns, M, P))
    foreign = np.random.default_rng(seed).integers(0, P, (5, A.shape[1])).astype(float)
    inside = [len(reduced_form([*form, row], P)[1]) == len(leading) for row in foreign]
    assert outside_span(foreign, columns, M, P).tolist() == [not v for v in inside]


def test_doubles_are_whole_numbers_times_powers_of_two():
    rng = np.random.default_rng(0)
    numbers = np.append(rng.standard_normal(300) * 10.0 ** rng.uniform(-300, 300, 300), [0.0, 5e-324])
    for value, residue in zip(numbers.tolist(), residues_of(numbers, P).tolist(), strict=True):
        p, q = value.as_integer_ratio()
        assert residue == p * pow(q, -1, P) % P


@pytest.mark.parametrize("seed", range(20))
def test_pieces_find_the_columns_that_one_call_finds(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, m, rank = (int(v) for v in rng.integers(1, 30, 3))
    A = (rng.integers(-(2**20), 2**20, (n, rank)) @ rng.integers(-9, 9, (rank, m))).tolist()
    expected = pivots(A, NEVER)
    assert len(expected) == fmpz_mat(A).rank()
    monkeypatch.setattr(linear_algebra, "PIECE_ENTRIES", 0)
    monkeypatch.setattr(linear_algebra, "CONFIRMED_ENTRIES", 0)
    assert pivots(A, NEVER) == expected


def test_a_large_rank_ends_when_the_time_does():
    A = np.random.default_rng(0).integers(-9, 9, (500, 600))
    asked = []
    assert pivots(A.tolist(), Deadline(tell=asked.append)) == list(range(500))
    assert len(asked) > 50
    with Clock().ticking() as clock, pytest.raises(OutOfTimeError):
        pivots(A.tolist(), Deadline(clock() + 10 * HOUR))
    assert clock.hours < 20


def rank(vectors):
    """The rank in fractions."""
    rows, r = [[Fraction(v) for v in row] for row in vectors], 0
    for j in range(len(rows[0]) if rows else 0):
        k = next((k for k in range(r, len(rows)) if rows[k][j]), None)
        if k is not None:
            rows[r], rows[k] = rows[k], rows[r]
            for i in range(r + 1, len(rows)):
                f = rows[i][j] / rows[r][j]
                rows[i] = [a - f * b for a, b in zip(rows[i], rows[r], strict=True)]
            r += 1
    return r


@pytest.mark.parametrize("form", ["dense", "sparse", "other coordinates"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_in_a_span_are_known(seed, form):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (30, 5)) / 8.0 * 3.0 ** rng.integers(0, 9, 5)
    X[rng.random(30) < 0.6, 2] = 0.0
    X = np.column_stack([X, X[:, 0] + 0.1 * X[:, 1]])
    pad = float(seed % 2)
    rows = CsrRows.from_matrix(sparse.csr_array(X)) if form == "sparse" else DenseRows(X)
    exact = ExactRows(rows, rng.choice([-1.0, 1.0], 30), pad, exponents_of(rows.column_reach))
    if form == "other coordinates":
        better = condition(exact)
        if better is None:
            pytest.skip("nothing depends")
        exact = better.rows
    face = Face(exact, dict.fromkeys(range(3), 1))
    A = np.column_stack([X, np.full(30, pad)]).tolist()
    inside = [rank([*A[:3], row]) == rank(A[:3]) for row in A]
    assert face.contains(np.arange(30)).tolist() == inside
