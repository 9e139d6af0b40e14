"""What an audit asks about a binary problem, answered by rows in partitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import judge
from maxmargin.cluster.collections import labelled
from maxmargin.core.labels import class_weights
from maxmargin.estimators.certify import Bench, Plane, Sides, first_to_reach, no_solution, with_column
from maxmargin.estimators.remote.margin import exactly, summaries
from maxmargin.estimators.validation import check_survey
from maxmargin.rows.survey import Surveyed, survey
from maxmargin.solvers.problem import Machine
from maxmargin.solvers.remote.machines import RemoteSolved, RemoteTask, solve_remote
from maxmargin.solvers.remote.rounds import Limits, Query, View, ask_all

BINS = 1_024  # in which points are counted to find the one that is looked for
FEW = 10_000  # of them that come here
DEEPEST = 12  # rounds until points differ by their last digits


def ground_of(X: Any, y: Any, tol: float, free: bool) -> RemoteGround:
    """The ground of a Dask collection, or of files in partitions."""
    return RemoteGround(survey(labelled(X, y)), tol, free)


class RemoteGround:
    """Labelled rows in partitions."""

    def __init__(self, data: Surveyed, tol: float, free: bool) -> None:
        classes = check_survey(data).rows.classes
        assert classes is not None
        self.d, self.classes = data.rows.d, classes
        self._data, self._tol, self._free = data, tol, free

    def factors(self, class_weight: Any) -> np.ndarray:
        """One weight per class."""
        counts = self._data.counts.sum(axis=0)
        return class_weights(class_weight, self.classes, np.arange(len(self.classes)), counts)

    def benches(self, bounds: Sequence[np.ndarray], sides: Sequence[Sides]) -> Iterator[Bench]:
        """A problem for each of the sides, with the bounds C by label code; they share their rounds."""
        labels = self.classes.tolist()
        tasks = [
            RemoteTask(labels.index(side[0]), None, None if math.isinf(C[0]) else C)
            for C, side in zip(bounds, sides, strict=True)
        ]
        solved = _solved(self._data, tasks, float(self._free), self._tol)
        for task, best, side in zip(tasks, solved, sides, strict=True):
            yield _RemoteBench(self._data, task, best, side, self._tol, self._free)


def _solved(data: Surveyed, tasks: Sequence[RemoteTask], pad: float, tol: float) -> list[RemoteSolved]:
    return solve_remote(data, tasks, pad, [Limits(tol)] * len(tasks))


class _RemoteBench:
    def __init__(
        self,
        data: Surveyed,
        task: RemoteTask,
        best: RemoteSolved,
        sides: Sides,
        tol: float,
        free: bool,
    ) -> None:
        self.n = data.n
        self._data, self._task, self._best, self._sides = data, task, best, sides
        self._tol, self._free, self._hard = tol, free, task.C is None

    def optimum(self) -> Plane:
        data, found = self._data, self._best
        if found.point.meets is not None:
            assert data.rows.classes is not None
            labels, ones = data.rows.classes.tolist(), np.ones(len(data.rows.classes))
            negative = None if self._sides[1] is None else labels.index(self._sides[1])
            machine = Machine(None, self._task.positive, negative, np.empty(0, np.int64), ones)
            names = tuple(f"x{j}" for j in range(data.rows.d))
            verdict, self._best = exactly(data, machine, labels, names, self._free, found)
            if not verdict.separable:
                raise no_solution(verdict)
        return self._best.w, self._best.b

    def _ask(self, function: Callable[..., Any], *small: Any) -> list[Any]:
        (answers,) = ask_all(self._data.rows, [(self._best.side, Query(function, small))])
        return [answer for answer in answers if answer is not None]

    @property
    def _unit(self) -> float:
        """How much larger C is in the coordinates of the solver."""
        return float(self._best.side.scene.scale**2)

    def mistakes(self, planes: Sequence[Plane]) -> list[tuple[int, float]]:
        parts = self._ask(_mistakes, list(planes))
        each = zip(*parts, strict=True)
        return [(sum(w for w, _ in one), min(least for _, least in one)) for one in each]

    def certificate(self, w: np.ndarray, b: float, edge: float, problem: str) -> Certificate:
        (found,) = summaries(self._data.rows, [self._best._replace(w=w, b=b)], edge)
        return judge(found, w, self._hard, self._free, problem, self._data.rows.rounds, edge)

    def value(self, w: np.ndarray, b: float) -> float:
        return 0.5 * float(w @ w) + math.fsum(self._ask(_slack, w, b)) / self._unit

    def best_bias(self, w: np.ndarray) -> float:
        """Count the points in bins, then in bins of the bin that matters, until few are left in one."""
        lows, highs, sums = zip(*self._ask(_range, w), strict=True)
        low, high, target, below = math.nextafter(min(lows), -math.inf), max(highs), math.fsum(sums), 0.0
        for _ in range(DEEPEST):
            edges = np.unique(np.linspace(low, high, BINS + 1))[1:]
            parts = self._ask(_bins, w, low, edges)
            weights, counts = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
            up_to = below + np.cumsum(weights)
            some = np.flatnonzero(counts)
            k = int(np.searchsorted(some, np.searchsorted(up_to, target * (1 - 1e-12))))
            k = int(some[min(k, len(some) - 1)])  # sums of another round may differ by rounding
            below = float(up_to[k - 1]) if k else below
            low, high = float(edges[k - 1]) if k else low, float(edges[k])
            if counts[k] <= FEW or len(edges) == 1:
                break
        if counts[k] > FEW:
            return float(high)
        turns, C = (np.concatenate(c) for c in zip(*self._ask(_within, w, low, high), strict=True))
        return first_to_reach(turns, C, target, below)

    def regularised(self, scaling: float) -> float:
        data = self._data
        rows = data.rows.changed(partial(with_column, value=scaling), data.rows.d + 1)
        wide = data.over(rows, np.append(data.reach, abs(scaling)))
        (best,) = _solved(wide, [self._task], 0.0, self._tol)
        (found,) = summaries(rows, [best])
        return judge(found, best.w, self._hard, False, "", 0).dual


def _margins(view: View, w: np.ndarray, b: float) -> np.ndarray:
    return np.asarray(view.frame.y * (view.frame.rows.times(w[:, None])[:, 0] + b))


def _turns(view: View, w: np.ndarray) -> np.ndarray:
    """The b at which the margin of each row is one."""
    return np.asarray(view.frame.y - view.frame.rows.times(w[:, None])[:, 0])


def _mistakes(view: View, planes: Sequence[Plane]) -> list[tuple[int, float]]:
    margins = (_margins(view, *plane) for plane in planes)
    return [(int(np.count_nonzero(m <= 0)), float(m.min())) for m in margins]


def _slack(view: View, w: np.ndarray, b: float) -> float:
    return float(view.C @ np.maximum(1.0 - _margins(view, w, b), 0.0))


def _range(view: View, w: np.ndarray) -> tuple[float, float, float]:
    turns = _turns(view, w)
    return float(turns.min()), float(turns.max()), float(view.C[view.frame.y > 0].sum())


def _bins(view: View, w: np.ndarray, low: float, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of C_i, and the number of points, up to each edge from the one before it."""
    turns = _turns(view, w)
    mine = np.flatnonzero((turns > low) & (turns <= edges[-1]))
    home = np.searchsorted(edges, turns[mine])
    k = len(edges)
    return np.bincount(home, view.C[mine], k), np.bincount(home, minlength=k)


def _within(view: View, w: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    turns = _turns(view, w)
    mine = np.flatnonzero((turns > low) & (turns <= high))
    return turns[mine], view.C[mine]
