"""The hard margin and separability in rational arithmetic: slow, obvious, and free of rounding.

Rows are lists of integers (or fractions) and labels are ±1, and every answer proves itself. With
a_i = y_i x_i, either some (w, b) has a_i·w + y_i b > 0 for all i, or some λ ≥ 0 with Σ λ_i = 1 has
Σ λ_i a_i = 0 and Σ λ_i y_i = 0 (Gordan); through the origin b and the last equation are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

__all__ = ["Optimum", "dot", "hard_margin", "in_fractions", "meeting_weights", "solve"]


@dataclass(frozen=True)
class Optimum:
    """The plane with the largest margin, and multipliers that prove it."""

    w: list
    b: Fraction
    alpha: list

    @property
    def square(self):
        """The square of the largest margin, 1/‖w‖²."""
        return 1 / dot(self.w, self.w)

    @property
    def margin(self):
        """The largest margin, rounded once."""
        return math.sqrt(self.square)


def in_fractions(X):
    """The rows of a matrix, entry by entry as they are."""
    return [[Fraction(v) for v in row] for row in np.asarray(X, dtype=float).tolist()]


def dot(u, v):
    """Σ u_j v_j."""
    return sum((p * q for p, q in zip(u, v, strict=True)), Fraction(0))


def solve(M, rhs):
    """The solution of a square system, or None if it is singular (Gauss and Jordan)."""
    T = [[Fraction(e) for e in row] + [Fraction(r)] for row, r in zip(M, rhs, strict=True)]
    n = len(T)
    for k in range(n):
        pivot = next((i for i in range(k, n) if T[i][k]), None)
        if pivot is None:
            return None
        T[k], T[pivot] = T[pivot], T[k]
        T[k] = [e / T[k][k] for e in T[k]]
        for i in range(n):
            if i != k and T[i][k]:
                factor = T[i][k]
                T[i] = [e - factor * p for e, p in zip(T[i], T[k], strict=True)]
    return [row[-1] for row in T]


def hard_margin(X, y, intercept=True):
    """The optimum, or None if no plane separates strictly.

    An optimal α with as few positive entries as possible has independent rows (a_i, y_i) there, so at
    most d + 1 of them, and is the only solution of its equations a_i·w + y_i b = 1, w = Σ α_i a_i and
    Σ α_i y_i = 0. So try all such sets of rows; the first whose plane keeps α ≥ 0 and a_i·w + y_i b ≥ 1
    for all rows satisfies the KKT conditions, and is the optimum.
    """
    n, d = len(X), len(X[0])
    A = [[s * v for v in x] for x, s in zip(X, y, strict=True)]
    K = [[sum(p * q for p, q in zip(a, c, strict=True)) for c in A] for a in A]
    for size in range(1, d + 2 if intercept else d + 1):
        for S in combinations(range(n), size):
            if intercept and len({y[i] for i in S}) < 2:
                continue
            M = [[K[i][j] for j in S] + [y[i]] * intercept for i in S]
            if intercept:
                M.append([y[j] for j in S] + [0])
            found = solve(M, [1] * size + [0] * intercept)
            if found is None or min(found[:size]) < 0:
                continue
            b = found[size] if intercept else Fraction(0)
            values = [
                sum(f * K[i][j] for f, j in zip(found, S, strict=False)) + y[i] * b for i in range(n)
            ]
            if min(values) >= 1:
                alpha = [Fraction(0)] * n
                for i, f in zip(S, found, strict=False):
                    alpha[i] = f
                return Optimum([dot(alpha, column) for column in zip(*A, strict=True)], b, alpha)
    return None


def meeting_weights(X, y, intercept=True):
    """The weights λ of Gordan's theorem, or None if some plane separates strictly.

    The simplex method with Bland's rule: minimise the sum of artificial variables, one per equation.
    Whatever it says is checked, the weights or the plane.
    """
    n = len(X)
    A = [[s * v for v in x] for x, s in zip(X, y, strict=True)]
    equations = [list(column) for column in zip(*A, strict=True)]
    if intercept:
        equations.append(list(y))
    equations.append([1] * n)
    m = len(equations)
    T = [
        [Fraction(e) for e in row]
        + [Fraction(int(k == r)) for k in range(m)]
        + [Fraction(int(r == m - 1))]
        for r, row in enumerate(equations)
    ]
    basis = list(range(n, n + m))
    cost = [-sum(column) for column in zip(*T, strict=True)]  # reduced costs, and minus the value last
    for k in range(n, n + m):
        cost[k] += 1
    while True:
        enter = next((j for j in range(n + m) if cost[j] < 0), None)
        if enter is None:
            break
        ratios = [(T[r][-1] / T[r][enter], basis[r], r) for r in range(m) if T[r][enter] > 0]
        r = min(ratios)[2]
        pivot = T[r][enter]
        T[r] = [e / pivot for e in T[r]]
        for other in (*(T[i] for i in range(m) if i != r), cost):
            factor = other[enter]
            if factor:
                other[:] = [e - factor * p for e, p in zip(other, T[r], strict=True)]
        basis[r] = enter
    if cost[-1] == 0:
        weights = [Fraction(0)] * n
        for r, j in enumerate(basis):
            if j < n:
                weights[j] = T[r][-1]
        assert min(weights) >= 0 and sum(weights) == 1
        assert all(dot(weights, row) == 0 for row in equations[:-1])
        return weights
    plane = [cost[n + r] - 1 for r in range(m - 1)]
    assert all(dot(plane, column) > 0 for column in zip(*equations[:-1], strict=True))
    return None
