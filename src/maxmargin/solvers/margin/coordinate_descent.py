"""Dual coordinate descent on all rows: for many features, dense or sparse.

Each epoch visits the rows that are still undecided, in a new random order, and moves each multiplier to
its best place; w = Σ α_i y_i x_i is kept up to date. With hundreds of features this brings the
multipliers near their places in the time of a few Newton steps. The last digits are another matter: see
:mod:`maxmargin.solvers.margin.active_set`, and the Newton steps of
:mod:`maxmargin.solvers.margin.augmented_lagrangian`.

Where C‖x_i‖² is large, the first epochs would be spent on small steps; so bounds a fourth, a sixteenth
and so on of the real ones come first, and the multipliers are stretched from one to the next as far as
the dual value grows.

Descent goes on while it is quick: as long as the gap, followed from epoch to epoch, promises to be small
enough soon. Then the active set solves for the rows on the margin. If that fails (rows that depend on
each other), descent goes on from the best multipliers, with more patience, and the next time the rows on
the margin are factorised if need be.

The multipliers of a hard margin without a solution grow for ever, those of some rows alone: as they
grow, they tell which rows cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxmargin.kernels.margin import ABOVE, BALANCE, BELOW, BIAS, CHANGED, GAP, descend, shuffle
from maxmargin.solvers.margin.active_set import settle
from maxmargin.solvers.margin.dual_problem import DualProblem
from maxmargin.solvers.margin.tasks import Budget, MarginPoint
from maxmargin.solvers.margin.witness import growing_rows, opposite_twins


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    centre_share: float = 0.1  # ρ against the mean of ‖x_i‖²
    bounds_factor: float = 4.0  # from one set of smaller bounds to the next,
    epochs_per_bounds: int = 6  # epochs with each,
    max_bounds: int = 8  # and so many sets at most
    entries_at_a_time: int = 1 << 22  # visited, to let Ctrl-C through
    empty_row: float = 1e-12  # of the longest row: what an empty one counts as
    wrong_estimate: float = 2.0  # a gap so many times the estimate: rows set aside were not done
    first_look: int = 8  # passes after which all rows are measured, in any case; then
    look_factor: int = 2  # each time there have been so many times more
    soon_passes: int = 16  # over all rows that descent may still need
    epoch_overhead: int = 1_000  # rows that could be visited in the time it takes to begin an epoch
    steady_share: float = 0.02  # of the free rows that may change in an epoch before the active set
    # Where another solver is at hand, descent gives way to it with such a gap after so many epochs, and
    # the active set is not tried. Raw pixels are at 0.9999, and hot encodings that are solved at 0.59.
    lost_gap: float = 0.9
    lost_epochs: int = 20
    worthwhile: float = 0.5  # by which a second attempt with the active set must make the gap smaller
    patience: int = 200  # epochs until it is tried in any case; each time twice as many
    progress_epochs: int = 4  # over which progress is measured, at least; and this share of them all
    resting_epochs: int = 20  # without a move
    hopeless_epochs: int = 500  # without any plane that separates


SETTINGS = Settings()


class Descent:
    """Multipliers on their way, and w = Σ α_i y_i x_i."""

    def __init__(self, dual_problem: DualProblem) -> None:
        self.dual_problem = dual_problem
        self.alpha, self.w = np.zeros(dual_problem.n), np.zeros(dual_problem.d)
        self.left = dual_problem.n  # rows that are not set aside: the first ones of the order
        self.epochs = 0
        self._order = np.arange(dual_problem.n)
        self._rho = SETTINGS.centre_share * float(dual_problem.q.mean()) * dual_problem.pad
        self._q = dual_problem.q + (SETTINGS.empty_row * float(dual_problem.q.max(initial=0.0)) + 1e-300)
        self._state = np.array([0.0, 0.0, math.inf, -math.inf, 0.0, 0.0])

    def begin(self, is_up: Callable[[int], bool]) -> None:
        """The first epochs, with smaller bounds; fewer if so many passes are enough."""
        dual_problem = self.dual_problem
        size = 1.0 if dual_problem.hard else float(np.mean(dual_problem.C * dual_problem.q))
        factor = SETTINGS.bounds_factor
        for stage in range(min(SETTINGS.max_bounds, round(math.log(max(size, 1.0), factor))), 0, -1):
            bounds = dual_problem.C / factor**stage
            for _ in range(SETTINGS.epochs_per_bounds):
                if is_up(dual_problem.passes + 1):
                    return
                self.epoch(bounds)
            self._stretch(bounds * factor)

    def start(self, alpha: np.ndarray, w: np.ndarray, b: float) -> None:
        """Go on from multipliers with their w = Σ α_i y_i x_i, and a bias."""
        self.alpha, self.w = alpha.copy(), w.copy()
        self._state[BALANCE], self._state[BIAS] = float(alpha @ self.dual_problem.y), b
        self.wake()

    def wake(self, b: float | None = None) -> None:
        """Let all rows take part again, with another bias if one is given."""
        self.left = self.dual_problem.n
        if b is not None:
            self._state[BIAS] = b
        self._state[ABOVE], self._state[BELOW] = math.inf, -math.inf

    def epoch(self, bounds: np.ndarray | None = None) -> None:
        """Visit every row that is not set aside once."""
        dual_problem, state, y = self.dual_problem, self._state, self.dual_problem.y
        C = dual_problem.C if bounds is None else bounds
        order = self._order[: self.left]
        self.epochs += 1
        shuffle(order, self.epochs)
        dual_problem.visits += self.left
        kept, aside, gap, changed = [], [], 0.0, 0.0
        above, below, highest, lowest = state[ABOVE], state[BELOW], 0.0, 0.0
        length = dual_problem.rows.block_length(SETTINGS.entries_at_a_time)
        for start in range(0, len(order), length):
            part = order[start : start + length]
            state[ABOVE], state[BELOW] = above, below
            count = descend(
                dual_problem.rows.arrays, y, part, self.alpha, C, self.w, self._q, self._rho, state
            )
            kept.append(part[:count])
            aside.append(part[count:])
            gap += state[GAP]
            changed += state[CHANGED]
            highest, lowest = max(highest, state[ABOVE]), min(lowest, state[BELOW])
        if len(kept) > 1:
            order[:] = np.concatenate(kept + aside)
        self.left = sum(map(len, kept))
        state[GAP], state[CHANGED] = gap, changed
        state[ABOVE] = highest if highest > 0.0 else math.inf
        state[BELOW] = lowest if lowest < 0.0 else -math.inf

    @property
    def restless(self) -> float:
        """How many multipliers came to a bound or left one in the last epoch, against the free ones."""
        free = int(np.count_nonzero((self.alpha > 0.0) & (self.alpha < self.dual_problem.C)))
        return max(float(self._state[CHANGED]) - 1.0, 0.0) / max(free, 1)

    @property
    def bias(self) -> float:
        """The bias as the epochs see it."""
        return float(self._state[BIAS])

    @property
    def estimate(self) -> float:
        """About the relative gap, as it was while the rows were visited."""
        gap, short = float(self._state[GAP]), float(self._state[BELOW])
        dual = float(self.alpha.sum()) - 0.5 * float(self.w @ self.w)
        if self.dual_problem.hard:
            gap += 2.0 * max(-short, 0.0) * dual if short > -math.inf else 0.0
        return gap / (dual + gap) if dual > 0.0 else math.inf

    def _stretch(self, bounds: np.ndarray) -> None:
        """α ← t α with the best t, within the new bounds."""
        length = float(self.w @ self.w)
        if length > 0.0:
            t = min(max(float(self.alpha.sum()) / length, 1.0), SETTINGS.bounds_factor)
            self.alpha = np.minimum(self.alpha * t, bounds)  # equal but for rounding
            self.w *= t
            self._state[BALANCE] *= t
        self.wake()


def large_margin(
    dual_problem: DualProblem,
    tol: float,
    budget: Budget,
    start: MarginPoint | None = None,
    exact: bool = True,
    once: bool = False,
) -> tuple[MarginPoint, bool]:
    """Return the best point of one machine, and whether that is the end (of the gap, or the budget).

    Unless ``exact``, descent ends where it becomes slow. With ``once`` the active set is tried once:
    another solver is quicker than more descent.
    """
    descent, zero = Descent(dual_problem), np.zeros(dual_problem.d)
    best, patience = MarginPoint(zero, 0.0, np.zeros(dual_problem.n), zero), 0
    if start is not None:
        dual_problem.visits += dual_problem.n * start.passes
        descent.start(start.alpha, start.v, start.b)
    look = dual_problem.passes + SETTINGS.first_look
    if start is None:
        descent.begin(budget.is_up)
    while True:
        best, done = _descend(descent, best, look, patience, tol, budget, once)
        if done:
            return best, True
        if not exact or (once and best.gap >= SETTINGS.lost_gap):
            best = best.joined(dual_problem.measure(descent.w, descent.alpha)[0])
            if not exact or best.gap >= SETTINGS.lost_gap:
                return best, False
        before, again = best.gap, patience > 0
        best, done = settle(dual_problem, descent.alpha, descent.w, best, tol, budget, again)
        if done or once or (again and not best.gap < SETTINGS.worthwhile * before):
            return best, done
        descent.start(best.alpha, best.v, descent.bias)
        look = dual_problem.passes + SETTINGS.first_look
        patience = 2 * (patience or SETTINGS.patience)


def _descend(
    descent: Descent,
    best: MarginPoint,
    look: int,
    patience: int,
    tol: float,
    budget: Budget,
    once: bool,
) -> tuple[MarginPoint, bool]:
    """Epoch after epoch until tol is reached (True), or it is time for something else.

    All rows are measured after ``look`` passes, if not before.
    """
    dual_problem, history = descent.dual_problem, list[float]()
    factor = 1.0  # gap against estimate, at the last look
    earlier: np.ndarray | None = None  # the multipliers at the last look, if no plane was found
    while True:
        budget.go_on()
        descent.epoch()
        history.append(descent.estimate)
        soon = factor * history[-1] <= tol
        if soon or dual_problem.passes >= look or budget.is_up(dual_problem.passes):
            point, _ = dual_problem.measure(descent.w, descent.alpha)
            best = best.joined(point)
            if best.gap <= tol or budget.ended(best):
                return best, True
            if dual_problem.hard and best.primal == math.inf:
                weights = _cancelling(descent, earlier)
                if weights is not None:
                    zero = np.zeros(dual_problem.d)
                    return MarginPoint(zero, 0.0, weights, zero, passes=point.passes, meets=True), True
                earlier = descent.alpha.copy()
            factor = best.gap / history[-1] if history[-1] > 0.0 else math.inf
            if factor > SETTINGS.wrong_estimate:
                # The point is far from where the epochs think it is.
                descent.wake(None if dual_problem.hard else point.b)
                factor = 1.0
            look = max(SETTINGS.look_factor * dual_problem.passes, look)
        if dual_problem.hard and best.primal == math.inf:
            if len(history) >= SETTINGS.hopeless_epochs:
                return best, False
        elif len(history) >= patience and _is_slow(descent, history, tol):
            return best, False
        if once and len(history) >= SETTINGS.lost_epochs and best.gap >= SETTINGS.lost_gap:
            return best, False


def _cancelling(descent: Descent, earlier: np.ndarray | None) -> np.ndarray | None:
    """Weights of rows that cancel, if the multipliers grow on such; at the first look of twins."""
    if earlier is None:
        return opposite_twins(descent.dual_problem)
    return growing_rows(descent.dual_problem, descent.alpha - earlier)


def _is_slow(descent: Descent, history: list[float], tol: float) -> bool:
    """Whether descent needs many more passes, and the free rows hardly change any more."""
    back = max(SETTINGS.progress_epochs, len(history) // SETTINGS.progress_epochs)
    if len(history) <= back or not math.isfinite(history[-1 - back]):
        return False
    if not (history[-1] > 0.0 and history[-1 - back] > 0.0):
        last = history[-SETTINGS.resting_epochs :]
        return not any(last)  # all rows at rest: the bias may be on its way
    rate = (history[-1] / history[-1 - back]) ** (1.0 / back)
    epochs = math.log(tol / history[-1]) / math.log(rate) if rate < 1.0 else math.inf
    visits = epochs * (descent.left + SETTINGS.epoch_overhead)
    if visits <= SETTINGS.soon_passes * descent.dual_problem.n:
        return False
    return len(history) >= SETTINGS.patience or descent.restless <= SETTINGS.steady_share
