"""Whether a plane separates the two sides of a machine: proven, with its drawing.

Verdict, widest plane and mistake bound depend on the points alone, so those of the last few sets of
points are kept: moving a slider of the algorithm does not ask for them again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import MaxMarginError
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.mistake_bound import MistakeBound, mistake_bound
from maxmargin.estimators.separability import separability
from maxmargin.laboratory.messages import finite, quantity
from maxmargin.laboratory.problem import Side
from maxmargin.plots.separation import hull

KEPT = 32  # sets of points
T = TypeVar("T")


@dataclass(frozen=True)
class Analysis:
    """A verdict with what belongs to it; rows are counted among those of the machine."""

    X: np.ndarray
    y: np.ndarray
    intercept: bool
    verdict: Verdict

    @property
    def status(self) -> str:
        """separable, touching or overlapping."""
        return self.verdict.kind

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the points and sides that the proof is about."""
        assert self.verdict.proof is not None  # the time was not limited
        return str(self.verdict.proof.to_dict()["data"])

    @cached_property
    def widest(self) -> HardMarginSVC | None:
        """The plane of largest margin, if the sides are separable."""
        model = HardMarginSVC(fit_intercept=self.intercept)
        return self._try(lambda: model.fit(self.X, self.y))

    @cached_property
    def bound(self) -> MistakeBound | None:
        """The bound on the perceptron's mistakes, if the sides are separable."""
        return self._try(lambda: mistake_bound(self.X, self.y, fit_intercept=self.intercept))

    def _try(self, find: Callable[[], T]) -> T | None:
        if not self.verdict.separable:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return find()
            except (MaxMarginError, ArithmeticError):  # beyond the range of doubles
                return None


def find_verdict(side: Side) -> Analysis:
    """The verdict on one machine."""
    return _analyse(side.X.tobytes(), side.y.tobytes(), side.state.options.intercept)


@lru_cache(maxsize=KEPT)
def _analyse(points: bytes, sides: bytes, intercept: bool) -> Analysis:
    # Copies: kernels are compiled for arrays that can be written to.
    X = np.frombuffer(points).reshape(-1, 2).copy()
    y = np.frombuffer(sides, dtype=np.int64).copy()
    verdict = separability(X, y, fit_intercept=intercept)
    assert isinstance(verdict, Verdict)
    return Analysis(X, y, intercept, verdict)


def tell_verdict(side: Side) -> dict[str, Any]:
    """The verdict as the page draws it; rows are those of the state."""
    found = find_verdict(side)
    verdict, rows = found.verdict, side.rows
    plane, margin, nearest = None, None, None
    if verdict.w is not None and verdict.b is not None:
        plane = finite([*verdict.w.tolist(), verdict.b])
    if found.status == "touching":
        margin, nearest = 0.0, rows[verdict.on_plane].tolist()
    if found.widest is not None:
        plane = finite([*found.widest.coef_[0].tolist(), float(found.widest.intercept_[0])])
        margin, nearest = quantity(found.widest.margin_), rows[found.widest.support_].tolist()
    witness = None
    if verdict.witness is not None:
        w = verdict.witness
        witness = {
            "positive": _shares(rows[w.positive], w.positive_weights),
            "negative": _shares(rows[w.negative], w.negative_weights),
            "point": finite(w.point.tolist()),
            "means": w.means,
        }
    signs = side.signs[rows]
    return {
        "status": found.status,
        "sentence": _sentence(side, found, margin),
        "proven": True,
        "fingerprint": found.fingerprint,
        "plane": plane,
        "margin": margin,
        "nearest": nearest,
        "witness": witness,
        "hulls": {"positive": _corners(side, signs > 0), "negative": _corners(side, signs < 0)},
    }


def tell_bound(side: Side) -> dict[str, Any] | None:
    """R, γ and R²/γ² of a machine; None where no plane separates it."""
    bound = find_verdict(side).bound
    if bound is None or not bound.gamma > 0 or finite([bound.R, bound.gamma, bound.bound]) is None:
        return None
    o, start = side.state.options, side.state.start
    safe = side.state.algorithm == "perceptron" and o.threshold > 0
    started = start is not None and any(start)
    return {
        "R": bound.R,
        "gamma": bound.gamma,
        "bound": bound.bound,
        "holds": not (safe or started),  # the theorem is about threshold 0 and a start at zero
    }


def _sentence(side: Side, found: Analysis, margin: float | None) -> str:
    names = side.state.labels
    up = names[side.positive[0]]
    down = names[side.negative[0]] if len(side.negative) == 1 else "the rest"
    plane = "plane" if side.state.options.intercept else "plane through the origin"
    verdict = found.verdict
    if found.status == "separable":
        wide = "" if margin is None else f" The widest margin is {margin:.6g}."
        return f"A {plane} has all points of {up} strictly on one side and {down} on the other.{wide}"
    if found.status == "touching":
        many = len(verdict.on_plane)
        points = "1 point lies" if many == 1 else f"{many} points lie"
        return (
            f"No {plane} separates {up} strictly from {down}, but one has no point on its wrong side: "
            f"{points} on it."
        )
    assert verdict.witness is not None
    because = str(verdict.witness).replace("rows", "points").replace("1 row ", "1 point ")
    return f"No {plane} separates {up} from {down}: {because}."


def _shares(rows: np.ndarray, weights: np.ndarray) -> list[list[float]]:
    return [[int(row), float(weight)] for row, weight in zip(rows, weights, strict=True)]


def _corners(side: Side, mine: np.ndarray) -> list[int]:
    """The rows at the corners of the hull of one side, in order around it."""
    X, rows = side.X[mine], side.rows[mine].tolist()
    first: dict[tuple[float, float], int] = {}
    for row, (x, y) in zip(rows, X.tolist(), strict=True):
        first.setdefault((x, y), row)
    return [first[x, y] for x, y in hull(X).tolist()]
