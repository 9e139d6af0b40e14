"""The certificate of a margin machine: primal, dual, gap and the four KKT residuals.

It is measured on the original rows, block by block, rounding included.

The primal value that is stated is not below the exact one of the plane, and the dual value not above
that of multipliers which are feasible exactly. So the optimum lies between them, whatever was rounded on
the way. Sums that cancel are kept in two doubles; of the others, a bound on their rounding is added.

Weak duality asks for 0 ≤ α_i ≤ C_i and Σ α_i y_i = 0, and multipliers in doubles balance to rounding at
best. So those that are measured are clipped, and those of the heavier side taken in proportion less:

    v = (1 − ρ) Σ₊ α_i x_i − Σ₋ α_i x_i,      ρ = 1 − Σ₋ α_i / Σ₊ α_i,

and likewise if the other side is the heavier one. All it takes are two sums per side.

A block gives a small :class:`Summary`, a pure function of the block and the point; summaries add up. No
solver is imported here: whoever found (w, b) and α, they are judged by the same few lines.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from maxmargin.kernels.bounds import (
    DOWN,
    ERROR_ROUNDING,
    UP,
    U,
    dual_bound,
    lengths_of,
    primal_bound,
    square_bound,
)
from maxmargin.kernels.margin import measure
from maxmargin.kernels.rows import UNDERFLOW
from maxmargin.rows import Rows


@dataclass(frozen=True)
class Certificate:
    """How far a plane can be from the optimum, at most.

    The primal value of a feasible plane is never below the optimum, and the dual value of a feasible α
    never above: ``gap`` bounds the distance of both. It is a bound for the stored doubles, rounding
    included: ``primal`` is not below the exact value of (``coef_``, ``intercept_``), and ``dual`` not
    above that of an α with 0 ≤ α_i ≤ C_i and Σ α_i y_i = 0 exactly. So the gap is never negative, and
    never less than the true one; bounds on rounding add no more than some 1e-12 of the primal value.
    The four residuals are measured, and tell where a gap comes from.

    Attributes
    ----------
    problem : str
        The problem in words.
    primal : float
        ½‖w‖² + Σ C_i ξ_i with the slacks ξ_i that the plane needs, rounded up. Hard margin: ½‖w‖² of
        the plane at margin 1; inf if it does not separate.
    dual : float
        Σ α_i − ½‖Σ α_i y_i x_i‖² of multipliers that are feasible exactly, rounded down: clipped to
        their bounds, and on the heavier side in proportion less, until they balance. 0 if that is more.
    gap, relative_gap : float
        primal − dual, and its share of the primal value.
    stationarity : float
        ‖w − Σ α_i y_i x_i‖ / ‖w‖.
    primal_infeasibility : float
        Hard margin: by how much a row falls short of y_i (w·x_i + b) ≥ 1, at most. Soft margin: 0, since
        the slacks are those that the plane needs.
    dual_infeasibility : float
        abs(Σ α_i y_i) / Σ α_i, or the largest violation of 0 ≤ α_i ≤ C_i in proportion, if
        that is larger: of the multipliers as they are stored.
    complementarity : float
        The largest α_i (y_i (w·x_i + b) − 1 + ξ_i) or (C_i − α_i) ξ_i, as a share of the primal value.
    margin : (float, float)
        Hard margin: bounds on the largest margin γ, attained by this plane and implied by the dual,
        the one rounded down and the other up.
    n_passes : int
        Passes over the data, those of the certificate included.
    findings : tuple of str
        What an audit found, in words.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.SoftMarginSVC(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> certificate = model.certificate_
    >>> round(certificate.primal, 9), round(certificate.dual, 9), certificate.relative_gap < 1e-9
    (2.888888889, 2.888888889, True)
    """

    problem: str
    primal: float
    dual: float
    stationarity: float
    primal_infeasibility: float
    dual_infeasibility: float
    complementarity: float
    n_passes: int
    margin: tuple[float, float] | None = None
    findings: tuple[str, ...] = field(default=())

    @property
    def gap(self) -> float:
        """Primal − dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal value."""
        if self.primal == 0.0:
            return 0.0 if self.gap == 0.0 else math.inf
        return self.gap / self.primal if math.isfinite(self.primal) else math.inf

    def __str__(self) -> str:
        lines = [f"Certificate: {self.problem}"]
        table = [
            ("primal value", self.primal, "attained by this plane"),
            ("dual value", self.dual, "no plane has less"),
            ("gap", self.gap, f"{self.relative_gap:.1e} of the primal value"),
        ]
        if self.margin is not None:
            lower, upper = self.margin
            table += [
                ("margin", lower, "of this plane, 1/‖w‖ at margin 1"),
                ("margin, at most", upper, "of any plane"),
            ]
        table += [
            ("stationarity", self.stationarity, "‖w − Σ α y x‖ / ‖w‖"),
            ("primal infeasibility", self.primal_infeasibility, "y f ≥ 1 − ξ, ξ ≥ 0"),
            ("dual infeasibility", self.dual_infeasibility, "Σ α y = 0, 0 ≤ α ≤ C"),
            ("complementarity", self.complementarity, "α (y f − 1 + ξ) = (C − α) ξ = 0"),
        ]
        for name, value, meaning in table:
            shown = (
                f"{value:.12g}" if name.startswith(("primal v", "dual v", "margin")) else f"{value:.1e}"
            )
            lines.append(f"  {name:<21} {shown:>18}   {meaning}")
        lines.append(f"  {'passes':<21} {self.n_passes:>18}   over the data")
        lines += [f"  · {finding}" for finding in self.findings]
        return "\n".join(lines)


class Certificates(dict[Hashable, Certificate]):
    """A dict from class, or pair of classes, to certificate, that prints as a summary.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], ["a", "b", "c"]
    >>> found = mm.certify(mm.SoftMarginSVC(C=1.0).fit(X, y), X, y)
    >>> print(found)  # doctest: +ELLIPSIS
    3 certificates: soft margin, C = 1, audited. The largest relative gap is ..., that of ...
    · 'a': gap ... This is the optimum of the textbook problem, ...
    · 'b': gap ... This is the optimum of the textbook problem, ...
    · 'c': gap ... This is the optimum of the textbook problem, ...
    >>> sorted(found)
    ['a', 'b', 'c']
    """

    def __str__(self) -> str:
        if not self:
            return "No certificates."
        worst = max(self, key=lambda label: self[label].relative_gap)
        lines = [
            f"{len(self)} certificates: {self[worst].problem}. "
            f"The largest relative gap is {_gap(self[worst])}, that of {worst!r}."
        ]
        for label, proof in self.items():
            said = f" {proof.findings[0]}" if proof.findings else ""
            lines.append(f"· {label!r}: gap {_gap(proof)}.{said}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        gaps = ", ".join(f"{label!r}: gap {_gap(proof)}" for label, proof in self.items())
        return f"Certificates({gaps})"


def _gap(proof: Certificate) -> str:
    return f"{proof.relative_gap:.1e}"


WORTHWHILE_GAIN = 1e-12  # of the primal value: rounding in slacks that is worth one more pass


class Point(NamedTuple):
    """What is to be judged: a plane and multipliers, with labels ±1 and the bounds C_i."""

    w: np.ndarray
    b: float
    y: np.ndarray
    alpha: np.ndarray
    C: np.ndarray  # infinite for a hard margin
    fit_intercept: bool = True
    edge: float = 1.0  # hard margin: the rows nearest to the plane have y f(x) = edge

    @property
    def hard(self) -> bool:
        """Whether there are no slacks."""
        return bool(np.isinf(self.C[0])) if len(self.C) else False


@dataclass(frozen=True)
class Twofold:
    """Sums as two doubles each, value + rest, off by ``error`` at most."""

    parts: np.ndarray  # value, rest, error

    def __add__(self, other: Twofold) -> Twofold:
        (a, b, c), (x, y, z) = self.parts, other.parts
        value, lost = _two_sum(a, x)
        doubt = 3.0 * U * (np.abs(lost) + np.abs(b) + np.abs(y))
        return Twofold(np.array([value, lost + (b + y), ERROR_ROUNDING * (c + z + doubt)]))


@dataclass(frozen=True)
class Summary:
    """What a block contributes."""

    slack: Twofold  # Σ C_i ξ_i
    sides: Twofold  # Σ α_i (x_i, 1) over rows with y_i = 1, and over the others
    shortest: float  # no margin is below the edge by more than this
    complementarity: float
    outside: float  # max(−α_i, α_i − C_i, 0) in proportion
    near: float  # Σ C_i ξ_i over slacks that may be rounding alone
    stretch: float  # by which share w has to be longer for these to vanish

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            self.slack + other.slack,
            self.sides + other.sides,
            max(self.shortest, other.shortest),
            max(self.complementarity, other.complementarity),
            max(self.outside, other.outside),
            self.near + other.near,
            max(self.stretch, other.stretch),
        )


def total(parts: Sequence[Summary]) -> Summary:
    """Add up what blocks contribute."""
    return reduce(add, parts)


def summary(rows: Rows, where: slice, point: Point, slack: np.ndarray) -> Summary:
    """What a block contributes; its slacks are filled in, unless the margin is hard."""
    y, alpha, C = [np.ascontiguousarray(a[where]) for a in (point.y, point.alpha, point.C)]
    V = np.zeros((3, 2, rows.d + 1))
    found = measure(rows.arrays, y, alpha, C, point.w, point.b, point.edge, slack[where], V)
    V[2] *= 3.0 * ((found.support + 2) * U) ** 2
    V[2] += UNDERFLOW
    return Summary(
        Twofold(np.array([found.slack, found.slack_rest, found.slack_error])),
        Twofold(V),
        found.shortest,
        found.complementarity,
        found.outside,
        found.near,
        found.stretch,
    )


class Measured(NamedTuple):
    """A certificate, the slacks that the plane needs, and how much longer w and b might better be."""

    proof: Certificate
    slack: np.ndarray
    factor: float


def certificate(rows: Rows, point: Point, problem: str, passes: int) -> Measured:
    """Judge a point in one more pass; ``passes`` were spent on it."""
    slack = np.zeros(rows.n)
    found = total(rows.map(lambda where, block: summary(block, where, point, slack)))
    proof = judge(found, point.w, point.hard, point.fit_intercept, problem, passes + 1, point.edge)
    return Measured(proof, slack, factor(found, proof))


def judge(
    found: Summary,
    w: np.ndarray,
    hard: bool,
    fit_intercept: bool,
    problem: str,
    passes: int,
    edge: float = 1.0,
) -> Certificate:
    """Judge a plane by what all blocks contribute."""
    v = np.empty(len(w))
    dual, imbalance = dual_bound(found.sides.parts, fit_intercept, v)
    square, (length, away) = square_bound(w), lengths_of(w, edge, v)
    margin = None
    if hard:
        least = edge - found.shortest - 6.0 * U * (edge + abs(found.shortest))
        inverse = UP * math.sqrt(square) / least if least > 0.0 else math.inf
        primal = UP * (UP * 0.5 * inverse * inverse)
        attained = DOWN / inverse if least > 0.0 else _share(least, length)
        margin = attained, UP / math.sqrt(2.0 * dual) if dual > 0.0 else math.inf
    else:
        primal = primal_bound(square, found.slack.parts)
    return Certificate(
        problem=problem,
        primal=primal if primal < math.inf else math.inf,
        dual=dual,
        stationarity=_share(away, length / edge),
        primal_infeasibility=max(found.shortest / edge, 0.0) if hard else 0.0,
        dual_infeasibility=max(imbalance, found.outside),
        complementarity=_share(found.complementarity / edge, primal),
        n_passes=passes,
        margin=margin,
    )


def factor(found: Summary, proof: Certificate) -> float:
    """By how much w and b might better be longer, so that slack which is rounding alone is gone.

    Where the primal value is far below C_i, such slack is dear. To be longer by a share t costs t Σ α_i
    over the free rows, and that is at most 2 t times the primal value.
    """
    gain = found.near - 2.0 * found.stretch * proof.primal
    return 1.0 / (1.0 - found.stretch) if gain > WORTHWHILE_GAIN * proof.primal else 1.0


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a + b, and what it rounds off, exactly."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def _share(part: float, whole: float) -> float:
    if part == 0.0:
        return 0.0
    return part / whole if whole > 0.0 else math.inf
