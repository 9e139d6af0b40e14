"""An axis of errors that begins at 0, and shows small ones also where one of them is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["scale_errors"]

WIDE = 8.0  # times the least error but zero, at which the largest one would hide it
LEAST = 0.02  # of an axis
TICKS = (0.0, *(m * 10.0**e for e in range(-5, 0) for m in (1, 2, 5)), 1.0)
APART = 0.1  # of the axis, between two ticks


def scale_errors(ax: Axes, *curves: np.ndarray) -> None:
    """Begin the axis at 0 and end it above the curves; by square roots if they differ a lot."""
    shown = np.concatenate(curves)
    shown = shown[~np.isnan(shown)]
    top = min(1.02, 1.1 * max(float(shown.max(initial=0.0)), LEAST))
    label = "share of rows misclassified"
    some = shown[shown > 0]
    if len(some) and some.max() > WIDE * some.min():
        label = "share misclassified (√ scale)"
        ax.set_yscale("function", functions=(_root, np.square))
        ticks = _ticks(top)
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_ylim(0.0, top)
    ax.set_ylabel(label)


def _root(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.maximum(x, 0.0)))


def _ticks(top: float) -> list[float]:
    """Round numbers up to the top, each far enough from the last."""
    kept = [0.0]
    for tick in (t for t in TICKS if t <= top):
        if np.sqrt(tick) - np.sqrt(kept[-1]) >= APART * np.sqrt(top):
            kept.append(tick)
    return kept
