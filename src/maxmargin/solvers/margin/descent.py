"""Dual coordinate descent on all rows: for many features, dense or sparse.

Each epoch visits the rows that are still undecided, in a new random order, and moves each multiplier to
its best place; w = Σ α_i y_i x_i is kept up to date. With hundreds of features this brings the
multipliers near their places in the time of a few Newton steps. The last digits are another matter: see
:mod:`maxmargin.solvers.margin.activeset`, and the Newton steps of
:mod:`maxmargin.solvers.margin.multipliers`.

Where C‖x_i‖² is large, the first epochs would be spent on small steps; so bounds a fourth, a sixteenth
and so on of the real ones come first, and the multipliers are stretched from one to the next as far as
the dual value grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from maxmargin.core.state_forms import StateError, count, entries, numbers, places, whole
from maxmargin.kernels.descent import ABOVE, BALANCE, BELOW, BIAS, CHANGED, GAP, descend, shuffle
from maxmargin.solvers.margin.duel import Duel
from maxmargin.solvers.margin.passes import State

__all__ = ["Descent"]

CENTRE = 0.1  # ρ against the mean of ‖x_i‖²
FACTOR, EACH = 4.0, 6  # from one set of bounds to the next, and epochs with each
STAGES = 8
PIECE = 1 << 22  # entries visited at a time, to let Ctrl-C through
DRIFT = 1e-6  # of the rows' lengths: what rounding may have added to w in many epochs
TINY = 1e-12  # of the longest row: what an empty one counts as


class Descent:
    """Multipliers on their way, and w = Σ α_i y_i x_i."""

    def __init__(self, duel: Duel) -> None:
        self.duel = duel
        self.alpha, self.w = np.zeros(duel.n), np.zeros(duel.d)
        self.left = duel.n  # rows that are not set aside: the first ones of the order
        self.epochs = 0
        self._order = np.arange(duel.n)
        self._rho = CENTRE * float(duel.q.mean()) * duel.pad
        self._q = duel.q + (TINY * float(duel.q.max(initial=0.0)) + 1e-300)
        self._state = np.array([0.0, 0.0, math.inf, -math.inf, 0.0, 0.0])

    def begin(self, is_up: Callable[[int], bool]) -> None:
        """The first epochs, with smaller bounds; fewer if so many passes are enough."""
        duel = self.duel
        size = 1.0 if duel.hard else float(np.mean(duel.C * duel.q))
        for stage in range(min(STAGES, round(math.log(max(size, 1.0), FACTOR))), 0, -1):
            bounds = duel.C / FACTOR**stage
            for _ in range(EACH):
                if is_up(duel.passes + 1):
                    return
                self.epoch(bounds)
            self._stretch(bounds * FACTOR)

    def start(self, alpha: np.ndarray, w: np.ndarray, b: float) -> None:
        """Go on from multipliers with their w = Σ α_i y_i x_i, and a bias."""
        self.alpha, self.w = alpha.copy(), w.copy()
        self._state[BALANCE], self._state[BIAS] = float(alpha @ self.duel.y), b
        self.wake()

    def state(self) -> State:
        """What :meth:`restore` needs."""
        arrays = {"alpha": self.alpha, "w": self.w, "order": self._order, "places": self._state}
        numbers = {"left": self.left, "epochs": self.epochs, "visits": self.duel.visits}
        return {**{name: array.copy() for name, array in arrays.items()}, **numbers}

    def restore(self, saved: State) -> None:
        """Be where another one was."""
        self._check(saved)
        self.alpha, self.w = saved["alpha"].copy(), saved["w"].copy()
        self._order, self._state = saved["order"].copy(), saved["places"].copy()
        self.left, self.epochs, self.duel.visits = saved["left"], saved["epochs"], saved["visits"]

    def _check(self, saved: State) -> None:
        """Refuse what :meth:`state` does not return, and a w from which no epoch would find home."""
        duel = self.duel
        entries(
            alpha=numbers(duel.n),
            w=numbers(duel.d),
            order=places(duel.n, below=duel.n),
            places=numbers(len(self._state), finite=False),
            left=whole(0, duel.n),
            epochs=count,
            visits=count,
        )(saved, "walk")
        alpha, state = saved["alpha"], saved["places"]
        near = DRIFT * float(alpha @ np.sqrt(duel.q))
        within = float(alpha.min()) >= 0.0 and not np.any(alpha > duel.C)
        balance = abs(state[BALANCE] - float(alpha @ duel.y)) <= DRIFT * float(alpha.sum())
        w = float(np.abs(saved["w"] - duel.pull(alpha)).max()) <= near
        if not (within and balance and w and np.isfinite(state[BIAS])):
            raise StateError("walk must be w = Σ α_i y_i x_i with multipliers in bounds. Got another.")

    def wake(self, b: float | None = None) -> None:
        """Let all rows take part again, with another bias if one is given."""
        self.left = self.duel.n
        if b is not None:
            self._state[BIAS] = b
        self._state[ABOVE], self._state[BELOW] = math.inf, -math.inf

    def epoch(self, bounds: np.ndarray | None = None) -> None:
        """Visit every row that is not set aside once."""
        duel, state, y = self.duel, self._state, self.duel.y
        C = duel.C if bounds is None else bounds
        order = self._order[: self.left]
        self.epochs += 1
        shuffle(order, self.epochs)
        duel.visits += self.left
        kept, aside, gap, changed = [], [], 0.0, 0.0
        above, below, highest, lowest = state[ABOVE], state[BELOW], 0.0, 0.0
        for part in self._pieces(order):
            state[ABOVE], state[BELOW] = above, below
            count = descend(duel.rows.arrays, y, part, self.alpha, C, self.w, self._q, self._rho, state)
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
        free = int(np.count_nonzero((self.alpha > 0.0) & (self.alpha < self.duel.C)))
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
        if self.duel.hard:
            gap += 2.0 * max(-short, 0.0) * dual if short > -math.inf else 0.0
        return gap / (dual + gap) if dual > 0.0 else math.inf

    def _stretch(self, bounds: np.ndarray) -> None:
        """α ← t α with the best t, within the new bounds."""
        length = float(self.w @ self.w)
        if length > 0.0:
            t = min(max(float(self.alpha.sum()) / length, 1.0), FACTOR)
            self.alpha = np.minimum(self.alpha * t, bounds)  # equal but for rounding
            self.w *= t
            self._state[BALANCE] *= t
        self.wake()

    def _pieces(self, order: np.ndarray) -> Iterator[np.ndarray]:
        length = self.duel.rows.block_length(PIECE)
        for start in range(0, len(order), length):
            yield order[start : start + length]
