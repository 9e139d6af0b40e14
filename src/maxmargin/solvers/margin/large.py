"""Margin machines on many features: coordinate descent, then the last digits by an active set.

Coordinate descent goes on while it is quick: as long as the gap, followed from epoch to epoch, promises
to be small enough soon. Then the rows on the margin are solved for. If that fails (rows that depend on
each other), descent goes on from the best multipliers, with more patience, and the next time the rows on
the margin are factorised if need be.

The multipliers of a hard margin without a solution grow for ever, those of some rows alone: as they
grow, they tell which rows cancel.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maxmargin.core.state_forms import (
    StateError,
    count,
    each,
    entries,
    instance,
    maybe,
    number,
    numbers,
    whole,
)
from maxmargin.solvers.margin.activeset import settle
from maxmargin.solvers.margin.descent import Descent
from maxmargin.solvers.margin.duel import Duel
from maxmargin.solvers.margin.passes import Budget, MarginPoint, State, point_form
from maxmargin.solvers.margin.witness import growing_rows, opposite_twins

__all__ = ["Approach", "large_margin"]

WRONG = 2.0  # a gap larger than the estimate by this factor: rows set aside were not done
FIRST = 8  # passes after which to look at all rows, in any case; then
OFTEN = 2  # each time there have been so many times more
SOON = 16  # passes over all rows that descent may still need
TURN = 1_000  # rows that could be visited in the time it takes to begin an epoch
STEADY = 0.02  # share of the free rows that may change in an epoch, for the active set to begin
WORTH = 0.5  # by which a second attempt with the active set must make the gap smaller
PATIENCE = 200  # epochs until it is tried in any case; each time twice as many,
MAX_PATIENCE = PATIENCE << 20  # at most
MEMORY = 4  # epochs over which progress is measured, at least; and this share of them all
RESTING = 20  # epochs without a move
HOPELESS = 500  # epochs without any plane that separates


class Approach(NamedTuple):
    """The best point, and whether there is nothing more to do (or no time)."""

    point: MarginPoint
    done: bool


@dataclass
class Search:
    """Where the descent is."""

    best: MarginPoint
    epochs: int = 0  # since it last began
    look: int = FIRST  # passes at which to look again
    factor: float = 1.0  # gap against estimate, at the last look
    patience: int = 0
    history: list[float] = field(default_factory=list)
    earlier: np.ndarray | None = None  # the multipliers at the last look, if no plane was found


def large_margin(
    duel: Duel,
    tol: float,
    budget: Budget,
    start: MarginPoint | None = None,
    saved: State | None = None,
    exact: bool = True,
    once: bool = False,
) -> Generator[State, None, Approach]:
    """Solve one machine on rows in memory; unless ``exact``, end where descent becomes slow.

    With ``once`` the active set is tried once: another solver is quicker than more descent.
    Yields states from which it can go on.
    """
    walk = Descent(duel)
    zero = np.zeros(duel.d)
    search = Search(MarginPoint(zero, 0.0, np.zeros(duel.n), zero))
    if saved is not None:
        _check(saved, duel)
        walk.restore(saved["walk"])
        search = Search(**saved["search"])
        if search.look > OFTEN * duel.passes + FIRST:
            raise StateError("search.look must be soon. Got a pass far away instead.")
    elif start is not None:
        walk.start(start.alpha, start.v, start.b)
    else:
        walk.begin(budget.is_up)
    while True:
        done = yield from _descend(walk, search, tol, budget)
        if not (done or exact):
            point, _ = duel.measure(walk.w, walk.alpha)
            return Approach(search.best.joined(point), False)
        if done:
            return Approach(search.best, True)
        before = search.best.gap
        again = search.patience > 0
        search.best, done = settle(duel, walk.alpha, walk.w, search.best, tol, budget, again)
        if done:
            return Approach(search.best, True)
        if once or (again and not search.best.gap < WORTH * before):
            return Approach(search.best, False)
        walk.start(search.best.alpha, search.best.v, walk.bias)
        search.epochs, search.factor, search.history = 0, 1.0, []
        search.look = duel.passes + FIRST
        search.patience = 2 * (search.patience or PATIENCE)


def _check(saved: State, duel: Duel) -> None:
    """Refuse what is no state of :func:`large_margin`; what the walk holds, the walk looks at."""
    search = entries(
        best=point_form(duel.n, duel.d),
        epochs=count,
        look=count,
        factor=number,
        patience=whole(0, MAX_PATIENCE),
        history=each(number),
        earlier=maybe(numbers(duel.n)),
    )
    entries(walk=instance(dict), search=search)(saved, "the state")


def _descend(walk: Descent, search: Search, tol: float, budget: Budget) -> Generator[State, None, bool]:
    """Epoch after epoch until tol is reached (True), or it is time for something else."""
    duel, history = walk.duel, search.history
    while True:
        budget.go_on()
        walk.epoch()
        search.epochs += 1
        history.append(walk.estimate)
        soon = search.factor * history[-1] <= tol
        if soon or duel.passes >= search.look or budget.is_up(duel.passes):
            point, _ = duel.measure(walk.w, walk.alpha)
            search.best = search.best.joined(point)
            if search.best.gap <= tol or budget.ended(search.best):
                return True
            if duel.hard and search.best.primal == math.inf and _grows(walk, search):
                return True
            search.factor = search.best.gap / history[-1] if history[-1] > 0.0 else math.inf
            if search.factor > WRONG:
                walk.wake(None if duel.hard else point.b)  # far from where the epochs think it is
                search.factor = 1.0
            search.look = max(OFTEN * duel.passes, search.look)
            yield {"walk": walk.state(), "search": {**vars(search), "history": list(history)}}
        if duel.hard and search.best.primal == math.inf:
            if search.epochs >= HOPELESS:
                return False
        elif search.epochs >= search.patience and _is_slow(walk, history, tol):
            return False


def _grows(walk: Descent, search: Search) -> bool:
    """Whether the multipliers grow on rows that cancel; if so, their weights are the result."""
    if search.earlier is None:
        weights = opposite_twins(walk.duel)
    else:
        weights = growing_rows(walk.duel, walk.alpha - search.earlier)
    if weights is not None:
        zero = np.zeros(walk.duel.d)
        search.best = MarginPoint(zero, 0.0, weights, zero, passes=walk.duel.passes, meets=True)
        return True
    search.earlier = walk.alpha.copy()
    return False


def _is_slow(walk: Descent, history: list[float], tol: float) -> bool:
    """Whether descent needs many more passes, and the free rows hardly change any more."""
    back = max(MEMORY, len(history) // MEMORY)
    if len(history) <= back or not math.isfinite(history[-1 - back]):
        return False
    if not (history[-1] > 0.0 and history[-1 - back] > 0.0):
        return not any(history[-RESTING:])  # all rows at rest: the bias may be on its way
    rate = (history[-1] / history[-1 - back]) ** (1.0 / back)
    epochs = math.log(tol / history[-1]) / math.log(rate) if rate < 1.0 else math.inf
    if epochs * (walk.left + TURN) <= SOON * walk.duel.n:
        return False
    return len(history) >= PATIENCE or walk.restless <= STEADY
