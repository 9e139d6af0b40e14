"""What a machine on partitions has reached, and when it has to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from maxmargin.solvers.margin.gaps import as_good_a_bound, as_good_a_plane, relative_gap
from maxmargin.solvers.remote.pool import Pool
from maxmargin.solvers.remote.rounds import Query, Side
from maxmargin.solvers.remote.rule import Multipliers, Plane

__all__ = ["Closing", "Limits", "RemotePoint"]


@dataclass(frozen=True)
class RemotePoint:
    """A plane and multipliers in the coordinates of the solver, and what they are worth on all rows."""

    plane: Plane
    multipliers: Multipliers
    primal: float = math.inf
    dual: float = -math.inf
    meets: Pool | None = None  # rows that no plane separates
    proof: list[Any] | None = None  # what partitions contribute to its certificate, if they were asked

    @property
    def gap(self) -> float:
        """The relative gap."""
        return relative_gap(self.primal, self.dual)

    def with_plane(self, plane: Plane, primal: float) -> RemotePoint:
        """The point with a plane, if that is as good."""
        better = as_good_a_plane(primal, self.primal)
        return replace(self, plane=plane, primal=primal) if better else self

    def with_multipliers(self, multipliers: Multipliers, dual: float) -> RemotePoint:
        """The point with multipliers, if those are as good."""
        better = as_good_a_bound(dual, self.dual)
        return replace(self, multipliers=multipliers, dual=dual) if better else self


class Closing(NamedTuple):
    """The round of the certificate, for a point that is likely the last one."""

    question: Callable[[Side, RemotePoint], Query]
    values: Callable[[Side, RemotePoint, list[Any]], tuple[float, float]]  # primal and dual


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    tol: float
    deadline: float = math.inf  # on time.perf_counter
    # Told after each round of the point; True asks to stop.
    report: Callable[[RemotePoint], bool] = field(default=lambda point: False)
    closing: Closing | None = None

    def ended(self, point: RemotePoint) -> bool:
        """Whether the work is done, the time is over, or a stop is asked for."""
        stop = self.report(point)
        return stop or point.gap <= self.tol or time.perf_counter() > self.deadline
