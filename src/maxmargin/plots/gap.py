"""The gap of a margin machine, pass by pass: the dual value comes from below, the primal from above.

The optimum lies between them. On a logarithmic axis the relative gap is a straight way down, until it
is rounding; a gap of 0, or below 0 by rounding, has no logarithm and is marked at the lower edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxmargin.plots.keys import key_below
from maxmargin.plots.style import BLACK, COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GapArtists", "draw_gap"]

FLOOR = 0.1 * float(np.finfo(np.float64).eps)  # where a gap is drawn that has no logarithm
STEPS = 60  # passes that have a marker each


class GapArtists(NamedTuple):
    """The lines of the two values, and on a logarithmic axis of their own those of the gap."""

    primal: Any
    dual: Any
    ax: Any
    gap: Any
    closed: Any  # markers of gaps ≤ 0, or None


def draw_gap(ax: Axes, progress: np.ndarray) -> GapArtists:
    """Draw passes, primal and dual values (columns of ``progress``), and the relative gap."""
    from matplotlib.ticker import MaxNLocator

    passes, primal, dual = progress.T
    finite = np.isfinite(primal)
    (above,) = ax.plot(passes[finite], primal[finite], color=COLOURS[0], lw=1.8)
    above.set(marker=_marker("o", finite), ms=9, mfc="none", label="primal: attained")
    (below,) = ax.plot(passes, dual, color=COLOURS[1], lw=1.8)
    below.set(marker=_marker("s", dual), ms=4, label="dual: no plane has less")
    ax.set_ylim(*_window(primal[finite], dual))
    other = ax.twinx()
    line, closed = _draw_relative(other, passes[finite], primal[finite], dual[finite])
    if len(passes) == 1:
        ax.set_xlim(passes[0] - 1, passes[0] + 1)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    ax.set_xlabel("passes over the data")
    ax.set_ylabel("value")
    ax.set_title("Primal and dual value")
    key_below(ax, [above, below, line, *([] if closed is None else [closed])], columns=1)
    return GapArtists(above, below, other, line, closed)


def _draw_relative(ax: Axes, passes: np.ndarray, primal: np.ndarray, dual: np.ndarray) -> Any:
    """The relative gap, and markers where it has no logarithm."""
    size = np.where(primal == 0.0, 1.0, np.abs(primal))
    gap = (primal - dual) / size
    zero = gap <= 0.0
    shown = np.where(zero, FLOOR, gap)
    (line,) = ax.plot(passes, shown, color=BLACK, ls=":", lw=1.4, label="relative gap (right)")
    if _marker("D", gap):
        line.set(marker="D", ms=4, markevery=np.flatnonzero(~zero).tolist())
    closed = None
    if np.any(zero):
        why = "exactly 0" if np.all(gap[zero] == 0.0) else "0 to rounding"
        closed = ax.scatter(passes[zero], shown[zero], s=40, c=BLACK, marker="v", zorder=3)
        closed.set_label(f"relative gap {why}:\nno logarithm, drawn at the lower edge")
    ax.set_yscale("log")
    low = float(shown.min(initial=FLOOR))
    ax.set_ylim(0.1 * low, 10.0 * max(1.0, float(shown.max(initial=1.0))))
    ax.set_ylabel("relative gap")
    return line, closed


def _marker(shape: str, values: np.ndarray) -> str:
    """A marker for each pass if they are few; a single one is no line."""
    count = np.count_nonzero(values) if values.dtype == bool else len(values)
    return shape if len(values) <= STEPS or count == 1 else ""


def _window(primal: np.ndarray, dual: np.ndarray) -> tuple[float, float]:
    """What to show of the values: all, but a start that was far away only in part."""
    end = float(primal[-1]) if len(primal) else float(dual[-1])
    far = 2.0 * abs(end)
    low = max(float(dual.min()), end - far)
    high = max(float(dual.max()), min(float(primal.max(initial=end)), end + far))
    if high - low <= 1e-6 * abs(end):  # no way to be seen: where the values stand
        low, high = min(0.0, low), max(0.0, high)
    size = (high - low) or 1.0
    return low - 0.08 * size, high + 0.08 * size
