"""The soft margin in plain code: values, KKT conditions, and tiny problems solved in fractions.

Labels are ±1 and ``C`` is a number or one bound per row. Nothing here imports the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from exact import dot

__all__ = ["Exact", "check_kkt", "dual_value", "exact", "margins", "primal_value", "signs"]


def signs(y):
    """Return ±1: the larger label is +1."""
    return np.where(np.asarray(y) == np.max(y), 1.0, -1.0)


def margins(X, y, w, b):
    """y_i (w·x_i + b)."""
    return y * (np.asarray(X, dtype=np.float64) @ np.asarray(w, dtype=np.float64) + b)


def primal_value(X, y, C, w, b):
    """½‖w‖² + Σ C_i max(0, 1 − y_i (w·x_i + b))."""
    return 0.5 * float(np.dot(w, w)) + float(np.sum(C * np.maximum(0.0, 1.0 - margins(X, y, w, b))))


def dual_value(X, y, alpha):
    """Σ α_i − ½‖Σ α_i y_i x_i‖²."""
    v = (alpha * y) @ np.asarray(X, dtype=np.float64)
    return float(alpha.sum()) - 0.5 * float(v @ v)


def check_kkt(machine, X, y, C, *, gap, bias=True):
    """Check the KKT conditions of a fitted machine, as far as a relative ``gap`` allows for.

    With Σ α_i y_i = 0 the gap is ½‖w − v‖² + Σ α_i (m_i − 1 + ξ_i) + Σ (C_i − α_i) ξ_i, all ≥ 0, so
    none of them can be larger than the gap.
    """
    X = np.asarray(X, dtype=np.float64)
    C = np.broadcast_to(np.asarray(C, dtype=np.float64), (len(y),))
    w, b = machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0])
    alpha, slack = machine.dual_, machine.slack_
    m = margins(X, y, w, b)
    size = 1e-12 * (1.0 + float(np.abs(w) @ np.abs(X).max(axis=0)) + abs(b))
    counts = C > 0  # a row of weight zero is as good as left out
    np.testing.assert_allclose(slack[counts], np.maximum(0.0, 1.0 - m)[counts], rtol=1e-12, atol=size)
    assert np.all(alpha >= 0.0) and np.all(alpha <= C)
    if bias:
        assert abs(float(alpha @ y)) <= 1e-12 * float(alpha.sum())
    else:
        assert b == 0.0
    primal = primal_value(X, y, C, w, b)
    room = gap * primal + 1e-13 * float(C.sum())
    assert primal - dual_value(X, y, alpha) <= room
    v = (alpha * y) @ X
    assert 0.5 * float((w - v) @ (w - v)) <= room
    assert float(np.max(alpha * np.maximum(m - 1.0, 0.0))) <= room
    assert float(np.max((C - alpha) * np.maximum(1.0 - m, 0.0))) <= room
    free, bound = np.flatnonzero((alpha > 0) & (alpha < C)), np.flatnonzero((alpha == C) & counts)
    np.testing.assert_array_equal(machine.free_support_, free)
    np.testing.assert_array_equal(machine.bound_support_, bound)
    np.testing.assert_array_equal(machine.support_, np.union1d(free, bound))


@dataclass(frozen=True)
class Exact:
    """The optimum of a tiny problem: its value, the only w, and the interval of all best b."""

    value: float
    w: np.ndarray
    low: float
    high: float


def exact(X, y, C, bias=True):
    """Solve a tiny problem in fractions, by trying every set of free and of bounded rows.

    Every feasible α bounds the optimum from below. Some corner of the set of best α solves a regular
    system on its free rows, so the best α that was tried is the optimum.
    """
    X = [[Fraction(float(v)) for v in x] for x in X]
    y = [Fraction(int(v)) for v in y]
    n = len(y)
    C = [Fraction(float(c)) for c in np.broadcast_to(C, (n,))]
    Q = [[y[i] * y[j] * dot(X[i], X[j]) for j in range(n)] for i in range(n)]
    best, alpha = Fraction(-1), None
    for size in range(n + 1):
        for free in map(list, combinations(range(n), size)):
            rest = [i for i in range(n) if i not in free]
            system = [[Q[i][j] for j in free] + ([y[i]] if bias else []) for i in free]
            if bias and free:
                system.append([y[j] for j in free] + [Fraction(0)])
            inverse = _inverse(system)
            if inverse is None:
                continue
            for held in product((0, 1), repeat=len(rest)):
                a = [Fraction(0)] * n
                for i, up in zip(rest, held, strict=True):
                    a[i] = C[i] * up
                goal = [1 - sum(Q[i][j] * a[j] for j in rest) for i in free]
                if bias and free:
                    goal.append(-sum(y[j] * a[j] for j in rest))
                for i, row in zip(free, inverse, strict=False):
                    a[i] = dot(row, goal)
                if any(not 0 <= ai <= ci for ai, ci in zip(a, C, strict=True)):
                    continue
                if bias and dot(a, y):
                    continue
                value = sum(a) - sum(a[i] * dot(Q[i], a) for i in range(n)) / 2
                if value > best:
                    best, alpha = value, a
    w = [sum(alpha[i] * y[i] * X[i][j] for i in range(n)) for j in range(len(X[0]))]
    low, high = _best_biases(X, y, C, w) if bias else (Fraction(0), Fraction(0))
    slack = [max(Fraction(0), 1 - y[i] * (dot(w, X[i]) + low)) for i in range(n)]
    assert dot(w, w) / 2 + dot(C, slack) == best  # primal = dual, exactly
    return Exact(float(best), np.array([float(v) for v in w]), float(low), float(high))


def _best_biases(X, y, C, w):
    turns = sorted({y[i] - dot(w, X[i]) for i in range(len(y))})
    cost = [
        sum(C[i] * max(Fraction(0), 1 - y[i] * (dot(w, X[i]) + b)) for i in range(len(y))) for b in turns
    ]
    best = [b for b, c in zip(turns, cost, strict=True) if c == min(cost)]
    return best[0], best[-1]


def _inverse(M):
    """Gauss and Jordan; None if there is none."""
    k = len(M)
    T = [list(row) + [Fraction(int(i == j)) for j in range(k)] for i, row in enumerate(M)]
    for c in range(k):
        pivot = next((r for r in range(c, k) if T[r][c]), None)
        if pivot is None:
            return None
        T[c], T[pivot] = T[pivot], T[c]
        T[c] = [v / T[c][c] for v in T[c]]
        for r in range(k):
            if r != c and T[r][c]:
                T[r] = [a - T[r][c] * b for a, b in zip(T[r], T[c], strict=True)]
    return [row[k:] for row in T]
