"""Whether a plane separates the two sides of a machine: proven, with its drawing.

Verdict, widest plane and mistake bound depend on the points alone, so those of the last few sets of
points are kept: moving a slider of the algorithm does not compute them again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import MaxMarginError, plural
from maxmargin.core.parameters import NEVER
from maxmargin.estimators.error_bounds import errors_of
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.mistake_bound import MistakeBound, mistake_bound
from maxmargin.estimators.separability import Options, separability
from maxmargin.laboratory.problem import Side
from maxmargin.plots.geometry import hull
from maxmargin.solvers.errors.sweep import sweep
from maxmargin.solvers.errors.witnesses import Points

CACHED_VERDICTS = 32  # sets of points
MAX_SWEPT_POINTS = 150  # 25 ms, also while a point is dragged
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

    @cached_property
    def widest(self) -> HardMarginSVC | None:
        """The plane of largest margin, if the sides are separable."""
        model = HardMarginSVC(fit_intercept=self.intercept)
        return self._if_separable(lambda: model.fit(self.X, self.y))

    @property
    def widest_weights(self) -> list[float] | None:
        """(w₁, w₂, b) of the plane of largest margin, if there is one."""
        model = self.widest
        return None if model is None else _finite([*model.coef_[0], model.intercept_[0]])

    @cached_property
    def bound(self) -> MistakeBound | None:
        """The bound on the perceptron's mistakes, if the sides are separable."""
        return self._if_separable(lambda: mistake_bound(self.X, self.y, fit_intercept=self.intercept))

    @cached_property
    def fewest_errors(self) -> int | None:
        """The fewest errors of any line, by a sweep through all lines; unknown for many points."""
        if self.verdict.separable:
            return 0
        if len(self.y) > MAX_SWEPT_POINTS:
            return None
        errors = errors_of(self.X, self.y, None, Options(self.intercept), "min_errors")
        points = Points(errors.rows, errors.costs)
        cost, _ = sweep(points, errors.unit, NEVER)
        return int(cost + points.unavoidable)

    def _if_separable(self, find: Callable[[], T]) -> T | None:
        if not self.verdict.separable:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return find()
            except (MaxMarginError, ArithmeticError):  # beyond the range of doubles
                return None


def analyse(side: Side) -> Analysis:
    """The verdict on one machine."""
    return _cached_analysis(side.X.tobytes(), side.y.tobytes(), side.state.options.intercept)


@lru_cache(maxsize=CACHED_VERDICTS)
def _cached_analysis(points: bytes, sides: bytes, intercept: bool) -> Analysis:
    # Copies: kernels are compiled for arrays that can be written to.
    X = np.frombuffer(points).reshape(-1, 2).copy()
    y = np.frombuffer(sides, dtype=np.int64).copy()
    verdict = separability(X, y, fit_intercept=intercept)
    assert isinstance(verdict, Verdict)
    return Analysis(X, y, intercept, verdict)


def _finite(values: Sequence[float]) -> list[float] | None:
    """A list of floats, or None if one is not finite."""
    numbers = [float(v) for v in values]
    return numbers if np.isfinite(numbers).all() else None


def describe_verdict(side: Side) -> dict[str, Any]:
    """The verdict as the page draws it; rows are those of the state."""
    found = analyse(side)
    verdict, rows = found.verdict, side.rows
    assert verdict.proof is not None  # the time was not limited
    plane, margin, nearest = None, None, None
    if verdict.w is not None and verdict.b is not None:
        plane = _finite([*verdict.w, verdict.b])
    if found.status == "touching":
        margin, nearest = 0.0, rows[verdict.on_plane]
    if found.widest is not None:
        plane, nearest = found.widest_weights, rows[found.widest.support_]
        margin = found.widest.margin_ if np.isfinite(found.widest.margin_) else None
    witness = None
    if verdict.witness is not None:
        w = verdict.witness
        witness = {
            "positive": list(zip(rows[w.positive], map(float, w.positive_weights), strict=True)),
            "negative": list(zip(rows[w.negative], map(float, w.negative_weights), strict=True)),
            "point": _finite(w.point.tolist()),
            "means": w.means,
        }
    signs = side.signs[rows]
    return {
        "status": found.status,
        "sentence": _sentence(side, found, margin),
        "proven": True,
        "fingerprint": str(verdict.proof.to_dict()["data"]),
        "plane": plane,
        "margin": margin,
        "fewest_errors": found.fewest_errors,
        "nearest": nearest,
        "witness": witness,
        "hulls": {"positive": _corners(side, signs > 0), "negative": _corners(side, signs < 0)},
    }


def describe_bound(side: Side) -> dict[str, Any] | None:
    """R, γ and R²/γ² of a machine; None where no plane separates it."""
    bound = analyse(side).bound
    if bound is None or not bound.gamma > 0 or _finite([bound.R, bound.gamma, bound.bound]) is None:
        return None
    o, start = side.state.options, side.state.start
    thresholded = side.state.algorithm == "perceptron" and o.threshold > 0
    started = start is not None and any(start)
    return {
        "R": bound.R,
        "gamma": bound.gamma,
        "bound": bound.bound,
        "holds": not (thresholded or started),  # the theorem is about threshold 0 and a start at zero
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
            f"{points} on it.{_least(found, plane)}"
        )
    assert verdict.witness is not None
    because = str(verdict.witness).replace("rows", "points").replace("1 row ", "1 point ")
    return f"No {plane} separates {up} from {down}: {because}.{_least(found, plane)}"


def _least(found: Analysis, plane: str) -> str:
    fewest = found.fewest_errors
    return "" if fewest is None else f" No {plane} makes fewer than {plural(fewest, 'error')}."


def _corners(side: Side, mine: np.ndarray) -> list[int]:
    """The rows at the corners of the hull of one side, in order around it."""
    X, rows = side.X[mine].tolist(), side.rows[mine].tolist()
    # Of equal points the first: a later entry of a dict replaces an earlier one.
    first = {(x, y): row for row, (x, y) in zip(reversed(rows), reversed(X), strict=True)}
    return [first[x, y] for x, y in hull(side.X[mine]).tolist()]
