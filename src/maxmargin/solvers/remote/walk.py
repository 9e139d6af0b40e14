"""How the soft margin walks from plane to plane: how far to trust a model, and how wide to look next."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from maxmargin.solvers.remote.beginning import NEWTON
from maxmargin.solvers.remote.gauge import Gauge, gauge_of
from maxmargin.solvers.remote.looks import Look
from maxmargin.solvers.remote.model import Model
from maxmargin.solvers.remote.rule import Plane
from maxmargin.solvers.remote.sorting import TIMES, Wish

__all__ = ["Walk", "shorter"]

SHRINK, GROW = 0.1, 4.0  # of the width, at most, from round to round
AMPLE = 1.6  # and so many times what seems enough, if there is room for the rows
VALID = 1.0  # widths against the length of the last step
SPARE = 2  # a partition may send so many times its share of the rows that are expected
FILL = 0.7  # of the rows that may come, so many are planned with
ENOUGH = 3  # rows per feature that a width has to hold
TRUST = 5.0  # a step on the rows that came may be so long against the width
SHORTER = 0.25  # a part of a step that is tried too
DOUBT = 1.25  # scales come from a few directions: steps may be longer than they seem


@dataclass
class Walk:
    """Where a machine is: what it wants to know next, and how it came there."""

    plane: Plane
    gauge: Gauge
    width: float
    base: Plane | None = None  # where the last step began
    length: float = 0.0  # of that step, by the gauge
    tried: float = math.inf  # the width of the model that it came from
    exact: bool = False  # whether that model was exact
    doubtful: bool = False  # whether the last step was too long

    def wish(self, parts: int, most: int) -> Wish:
        """What partitions are asked."""
        step = None
        if self.base is not None:
            step = Plane(self.plane.w - self.base.w, self.plane.b - self.base.b)
        share = sys.maxsize if self.width == math.inf else -(-SPARE * most // parts)
        return Wish(self.plane, step, self.width, self.gauge, share, len(self.plane.w) <= NEWTON)

    def planes(self) -> list[Plane]:
        """The planes whose values partitions tell."""
        return [self.plane] if self.base is None else [self.between(t) for t in TIMES]

    def between(self, t: float) -> Plane:
        """The plane at t on the way from the last one to this one."""
        assert self.base is not None
        if t == 1.0:
            return self.plane
        (w, b), (v, c) = self.base, self.plane
        return Plane(w + t * (v - w), b + t * (c - b))

    def retreat(self, t: float) -> None:
        """Go only a part of the way.

        A step beyond the width of its model met rows that the model took for far: look wider. A short
        one was led astray by the smoothing: look closer.
        """
        self.plane, self.base, self.doubtful = self.between(t), None, True
        if self.exact or self.length > self.tried:
            self.width = min(max(self.length, 2.0 * self.tried), 8.0 * self.tried)
        else:
            self.width = 0.3 * self.tried

    def spare(self) -> Walk | None:
        """Where to go on if the step is too long, after one that was: asked about in the same round."""
        if self.base is None or not self.doubtful:
            return None
        spare = replace(self)
        spare.retreat(SHORTER)
        return spare

    def widen(self, seen: Look) -> None:
        """Look again, and wider."""
        self.width = max(GROW * self.width, seen.holding(self._enough()))
        self.base = None

    def is_too_long(self, point: Plane, M: np.ndarray) -> bool:
        """Whether a step leaves the region in which its model is trusted."""
        return bool(len(M)) and self._length(point, M) > TRUST * self.gauge.change(M) * self.width

    def expected_loss(self, model: Model, point: Plane, M: np.ndarray) -> float:
        """About how wrong a model is at its minimum, since rows beyond its width cross the margin.

        If all rows within the width are here, that is all there is. The margin of a row moves by s_i
        times the length ℓ of the step, like a normal variable N. With a density ρ of rows at a distance
        of δ s_i from the margin the model is wrong by ρ C s ℓ² g(δ/ℓ), where

            g(k) = ∫ E max(0, N − x) dx, from k to ∞, = ½ ((1 + k²) Φ(−k) − k φ(k)).
        """
        if not model.is_exact:
            return math.inf
        if not len(M):  # nothing is beyond an infinite width; of another nothing is known
            return 0.0 if self.width == math.inf else math.inf
        length = DOUBT * self._length(point, M) / self.gauge.change(M)
        if length == 0.0:
            return 0.0
        k = self.width / length
        normal = math.exp(-0.5 * k * k) / math.sqrt(2.0 * math.pi)
        tail = max(0.0, 0.5 * ((1.0 + k * k) * float(ndtr(-k)) - k * normal))
        density = model.seen.within(self.width) / self.width
        return density * model.pull_of_a_row() * length**2 * tail

    def go(self, model: Model, point: Plane, M: np.ndarray, most: int, held: bool) -> None:
        """Go to the next plane; the width follows from the length of the step."""
        seen = model.seen
        self.exact, factor = model.is_exact, 1.0
        if len(M):
            self.length, factor = self._length(point, M), self.gauge.change(M)
            self.gauge = gauge_of(M, model.side.pad)
        self.base, self.plane = self.plane, point
        self.tried = factor * self.width
        if self.width == math.inf:
            return
        shrink = 1.0 if held else SHRINK  # a step that was held back does not tell what is left
        width = min(max(VALID * self.length, shrink * self.tried), GROW * self.tried)
        width = max(width, min(self.tried, factor * seen.holding(self._enough())))
        full = factor * seen.holding(FILL * most * max(seen.inside, 1) / max(seen.distinct, 1)) / 2.0
        self.width = max(width, min(full, AMPLE * width))

    def _length(self, point: Plane, M: np.ndarray) -> float:
        step = np.append(point.w - self.plane.w, point.b - self.plane.b)
        return math.sqrt(max(float(step @ M @ step), 0.0) / len(M))

    def _enough(self) -> float:
        return float(ENOUGH * (len(self.plane.w) + 1))


def shorter(values: np.ndarray) -> float:
    """How far to go on the way: 1 if that is about as good as any."""
    k = int(np.argmin(values))
    enough = values[-1] - values[0] >= 0.5 * (values[-1] - values[k])
    return 1.0 if enough or values[0] <= values[k] * (1.0 + 1e-12) else TIMES[k]
