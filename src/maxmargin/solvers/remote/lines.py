"""The perceptron risk along a line, when its breakpoints are in partitions.

R along a line is convex and piecewise linear, so its minimum is where the slope, which rises at every
breakpoint, changes its sign. A partition returns its breakpoints with the jumps of the slope there. If
there are many, it returns groups of them: where a group begins and ends, and by how much the slope rises
in it. Groups bracket the minimum, and the next round asks for the breakpoints within the bracket alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.solvers.perceptron.linesearch import Breaks

__all__ = ["Line", "together", "within"]

GROUPS = 1024  # of breakpoints, by number and by weight


class Line(NamedTuple):
    """The slope of R along a line within a bracket: its rise from group to group of breakpoints."""

    slope: float  # at the left end of the bracket, just after it
    first: np.ndarray  # breakpoint of each group
    last: np.ndarray
    jumps: np.ndarray  # rise of the slope in the group
    total: float
    nonzero: bool

    @property
    def exact(self) -> bool:
        """Whether every group is a single breakpoint, or the slope never falls."""
        return bool(np.all(self.first == self.last)) or self.slope >= -self.breaks().flat

    def breaks(self) -> Breaks:
        """The same as single breakpoints, in order."""
        order = np.argsort(self.first, kind="stable")
        return Breaks(self.slope, self.first[order], self.jumps[order], self.total, self.nonzero)

    def bracket(self, low: float, high: float) -> tuple[float, float]:
        """Where the minimum must be: after ``low``, at most at ``high``.

        Left of the minimum the slope is negative even if all groups that have begun are over; right of
        it, it is positive even if those that are not over have not begun.
        """
        sure = 2.0 * self.breaks().flat
        begun, over = np.argsort(self.first, kind="stable"), np.argsort(self.last, kind="stable")
        ends = np.unique(self.last)
        rises = np.concatenate([[0.0], np.cumsum(self.jumps[begun])])
        most = self.slope + rises[np.searchsorted(self.first[begun], ends, side="right")]
        rises = np.concatenate([[0.0], np.cumsum(self.jumps[over])])
        least = self.slope + rises[np.searchsorted(self.last[over], ends, side="right")]
        before, after = ends[most < -sure], ends[least > sure]
        return float(before[-1]) if len(before) else low, float(after[0]) if len(after) else high


def together(lines: Sequence[Line]) -> Line:
    """The line of all partitions."""
    return Line(
        sum(line.slope for line in lines),
        np.concatenate([line.first for line in lines]),
        np.concatenate([line.last for line in lines]),
        np.concatenate([line.jumps for line in lines]),
        sum(line.total for line in lines),
        any(line.nonzero for line in lines),
    )


def within(found: Breaks, low: float, high: float, most: int | None) -> Line:
    """The breakpoints of a partition within a bracket, or groups of them if they are too many."""
    start, stop = np.searchsorted(found.t, [low, high], side="right")
    slope = found.slope + float(np.sum(found.jumps[:start]))
    t, jumps = found.t[start:stop], found.jumps[start:stop]
    if len(t):
        places = np.flatnonzero(np.append(True, np.diff(t) > 0))  # equal breakpoints are one
        t, jumps = t[places], np.add.reduceat(jumps, places)
    if most is None or len(t) <= most:
        return Line(slope, t, t, jumps, found.total, found.nonzero)
    share = np.cumsum(jumps) / np.sum(jumps)
    group = np.floor(share * GROUPS) + np.arange(len(t)) * GROUPS // len(t)  # both ways to cut
    begin = np.flatnonzero(np.append(True, np.diff(group) > 0))
    end = np.append(begin[1:], len(t)) - 1
    return Line(slope, t[begin], t[end], np.add.reduceat(jumps, begin), found.total, found.nonzero)
