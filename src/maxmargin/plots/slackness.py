"""Complementary slackness: of each row α or y f(x) − 1 + ξ is zero, so all points lie on two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxmargin.plots.keys import key_below
from maxmargin.plots.style import BLACK, COLOURS, GREY, point_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SlacknessArtists", "bounds_on", "draw_slackness"]

LEVELS = 4  # different bounds C_i that are drawn as lines
PALE = "#EFB78F"  # of rows before their slack is added
ROUNDING = 1e-6  # of a margin of 1
FAR = 3.0  # times above all α at which a bound is not drawn


class SlacknessArtists(NamedTuple):
    """The rows with α = 0, free and at their bound; those with slack once more; the lines α = C_i."""

    groups: dict[str, Any]
    late: Any
    levels: list[Any]


def draw_slackness(
    ax: Axes,
    alpha: np.ndarray,
    excess: np.ndarray,
    slack: np.ndarray,
    at_bound: np.ndarray,
    levels: Sequence[float],
    *,
    hard: bool,
) -> SlacknessArtists:
    """Draw α against ``excess`` = y f(x) − 1 + ξ; ``levels`` are the bounds C_i that are known."""
    ax.axhline(0.0, color=BLACK, lw=0.8, zorder=1)
    ax.axvline(0.0, color=BLACK, lw=0.8, zorder=1)
    C = "C" if len(levels) == 1 else "its C"
    free = "α > 0: on the edge" if hard else f"0 < α < {C}: on the edge"
    parts = {
        "zero": (alpha == 0, "α = 0: not needed", GREY, "o"),
        "free": ((alpha > 0) & ~at_bound, free, COLOURS[0], "D"),
        "bound": (at_bound, f"α = {C}: in the slab or across", COLOURS[1], "s"),
    }
    groups = {
        name: _dots(ax, excess[mine], alpha[mine], label, colour, marker)
        for name, (mine, label, colour, marker) in parts.items()
        if np.any(mine)
    }
    late, rows = None, slack > 0
    if np.any(rows):
        late = _dots(ax, (excess - slack)[rows], alpha[rows], "", PALE, "s")
        late.set(label="the same at y f(x) − 1,\nbefore their slack ξ", zorder=2)
        late.set_sizes(0.6 * late.get_sizes())
    top = float(alpha.max(initial=0.0)) or 1.0
    lines = _draw_levels(ax, levels, top, reached=bool(np.any(at_bound)))
    top = max([top, *(float(line.get_ydata()[0]) for line in lines)])
    ax.set_ylim(-0.06 * top, 1.1 * top)
    right = float(excess.max(initial=0.0))
    right = right if right > ROUNDING else 1.0  # as wide as the margin, if all stand on the edge
    left = float((excess - slack).min(initial=0.0))
    ax.set_xlim(left - 0.06 * (right - left), right + 0.06 * (right - left))
    ax.set_xlabel("y f(x) − 1" if hard else "y f(x) − 1 + ξ")
    ax.set_ylabel("multiplier α")
    ax.set_title("Slackness: one of the two is zero")
    key_below(ax, columns=1)
    return SlacknessArtists(groups, late, lines)


def bounds_on(estimator: Any, alpha: np.ndarray, at_bound: np.ndarray) -> tuple[float, ...]:
    """The bounds C_i as far as they are known: those that are reached, or C if no row reaches it."""
    if np.any(at_bound):
        different = np.unique(np.round(alpha[at_bound], 12))
        return tuple(float(level) for level in different) if len(different) <= LEVELS else ()
    C = getattr(estimator, "C_", None) or getattr(estimator, "C", None)
    if C is None or estimator.class_weight is not None or np.any(alpha > float(C)):
        return ()
    return (float(C),)


def _dots(ax: Axes, x: np.ndarray, y: np.ndarray, label: str, colour: str, marker: str) -> Any:
    area, opacity = point_size(len(x))
    shown = ax.scatter(x, y, s=float(np.clip(area, 14.0, 32.0)), c=colour, marker=marker)
    shown.set(alpha=opacity, linewidths=0, zorder=3, rasterized=len(x) > 5_000)
    shown.set_label(f"{label} ({len(x):,})")
    return shown


def _draw_levels(ax: Axes, levels: Sequence[float], top: float, *, reached: bool) -> list[Any]:
    """Lines α = C_i; one that is far above all α is only named."""
    if not levels:
        return []
    named = "C = " + ", ".join(f"{level:.4g}" for level in levels) + ("" if reached else ": not reached")
    if not reached and min(levels) > FAR * top:
        ax.plot([], [], " ", label=f"{named}, above the picture")
        return []
    look: dict[str, Any] = {"color": COLOURS[1], "lw": 1.2, "ls": "--", "zorder": 1}
    lines = [ax.axhline(level, **look) for level in levels]
    lines[0].set_label(named)
    return lines
