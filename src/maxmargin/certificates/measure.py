"""Measure a plane and multipliers on the original rows, block by block.

A block gives a small :class:`Summary`, a pure function of the block and the point; summaries add up. No
solver is imported here: whoever found (w, b) and α, they are judged by the same few lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.rows import Rows

__all__ = ["Point", "Summary", "certificate", "certificate_with_slack", "judge", "summary", "total"]

SMALL = 10_000  # rows that may be taken in any case
FEW = 8  # if fewer than one multiplier in so many is not zero, only those rows are read
WIDEST, WIDEST_SPARSE = 1 << 24, 8  # entries that are taken as a dense matrix; against n + d


class Point(NamedTuple):
    """What is to be judged: a plane, slacks and multipliers, with labels ±1 and the bounds C_i."""

    w: np.ndarray
    b: float
    y: np.ndarray
    alpha: np.ndarray
    slack: np.ndarray
    C: np.ndarray  # infinite for a hard margin
    fit_intercept: bool = True


class Summary(NamedTuple):
    """What a block contributes."""

    slack: float  # Σ C_i ξ_i
    alpha: float  # Σ α_i
    balance: float  # Σ α_i y_i
    v: np.ndarray  # Σ α_i y_i x_i
    violation: float  # max(1 − ξ_i − m_i, −ξ_i, 0)
    outside: float  # max(−α_i, α_i − C_i, 0) in proportion
    complementarity: float
    least: float  # min m_i


def certificate_with_slack(
    rows: Rows, point: Point, problem: str, passes: int
) -> tuple[Certificate, np.ndarray]:
    """Judge a point with the least slacks its plane needs, and return them too."""
    slack = np.zeros(rows.n)
    point = point._replace(slack=slack)
    return certificate(rows, point, problem, passes, find_slack=True), slack


def certificate(
    rows: Rows, point: Point, problem: str, passes: int, find_slack: bool = False
) -> Certificate:
    """Judge a point; ``passes`` were spent on it. With ``find_slack`` its slacks are filled in."""
    parts = rows.map(lambda where, block: summary(block, where, point, find_slack))
    hard = bool(np.isinf(point.C[0])) if len(point.C) else False
    read_again = 1 if FEW * np.count_nonzero(point.alpha) > rows.n else 0
    return judge(parts, point.w, hard, point.fit_intercept, problem, passes + 1 + read_again)


def judge(
    parts: Iterable[Summary], w: np.ndarray, hard: bool, fit_intercept: bool, problem: str, passes: int
) -> Certificate:
    """Judge a plane by what all blocks contribute."""
    s = total(parts)
    square = float(w @ w)
    primal = 0.5 * square + (0.0 if hard else s.slack)
    dual = s.alpha - 0.5 * float(s.v @ s.v)
    margin = None
    if hard:
        length = math.sqrt(square)
        attained = s.least / length if length > 0 else 0.0
        margin = attained, 1.0 / math.sqrt(2.0 * dual) if dual > 0 else math.inf
        if s.least <= 0:
            primal = math.inf
    balance = abs(s.balance) if fit_intercept else 0.0
    return Certificate(
        problem=problem,
        primal=primal,
        dual=dual,
        stationarity=_share(float(np.linalg.norm(w - s.v)), math.sqrt(square)),
        primal_infeasibility=s.violation,
        dual_infeasibility=max(_share(balance, s.alpha), s.outside),
        complementarity=_share(s.complementarity, primal),
        n_passes=passes,
        margin=margin,
    )


def summary(rows: Rows, where: slice, point: Point, find_slack: bool) -> Summary:
    """What a block contributes; with ``find_slack`` its slacks are filled in."""
    y, alpha, slack, C = point.y[where], point.alpha[where], point.slack[where], point.C[where]
    m = rows.times(point.w[:, None])[:, 0]
    m += point.b
    m *= y
    excess = m - 1.0
    if find_slack:
        np.maximum(-excess, 0.0, out=slack)
    excess += slack
    hard = bool(np.isinf(C[0]))  # no bounds, and no slack
    some = np.flatnonzero(alpha)
    signed = alpha[some] * y[some]
    if 0 < FEW * len(some) < max(rows.n, SMALL) and len(some) * rows.d <= _widest(rows):
        X = rows.take(some)
        first = X[0].copy()
        X -= first  # Σ α_i y_i is nearly zero: sums of differences lose fewer digits
        v = signed @ X + float(signed.sum()) * first
    else:
        v = rows.combine((alpha * y)[None])[0]
    late = np.flatnonzero(slack)
    free = np.abs(excess[some] * alpha[some])
    held = np.abs((C[late] - alpha[late]) * slack[late])
    outside = max(0.0, -_least(alpha))
    if not hard:
        outside = max(outside, float(np.max((alpha - C) / np.maximum(C, 1e-300))))
    return Summary(
        slack=float(C[late] @ slack[late]) if len(late) else 0.0,
        alpha=float(alpha.sum()),
        balance=float(signed.sum()),
        v=v,
        violation=max(0.0, -_least(excess), -_least(slack)),
        outside=outside,
        complementarity=max(float(free.max(initial=0.0)), float(held.max(initial=0.0))),
        least=_least(m),
    )


def _widest(rows: Rows) -> int:
    """Entries that are taken as a dense matrix: for sparse rows no more than a few vectors."""
    return min(WIDEST, WIDEST_SPARSE * (rows.n + rows.d)) if rows.is_sparse else WIDEST


def total(parts: Iterable[Summary]) -> Summary:
    """Add up what blocks contribute."""
    columns = Summary(*zip(*parts, strict=True))
    return Summary(
        slack=math.fsum(columns.slack),  # type: ignore[arg-type]
        alpha=math.fsum(columns.alpha),  # type: ignore[arg-type]
        balance=math.fsum(columns.balance),  # type: ignore[arg-type]
        v=np.sum(columns.v, axis=0),
        violation=max(columns.violation),  # type: ignore[call-overload]
        outside=max(columns.outside),  # type: ignore[call-overload]
        complementarity=max(columns.complementarity),  # type: ignore[call-overload]
        least=min(columns.least),  # type: ignore[call-overload]
    )


def _least(values: np.ndarray) -> float:
    return float(values.min(initial=math.inf))


def _share(part: float, whole: float) -> float:
    if part == 0.0:
        return 0.0
    return part / whole if whole > 0.0 else math.inf
