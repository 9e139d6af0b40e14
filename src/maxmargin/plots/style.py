"""How all pictures look: colours that colour-blind eyes tell apart, shapes that survive a copier.

Classes differ in colour *and* marker. The colours are those of Okabe and Ito (2008).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.core.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLACK",
    "COLOURS",
    "GREY",
    "MARKERS",
    "ClassStyle",
    "axes",
    "class_styles",
    "legend",
    "point_size",
    "pyplot",
]

# Blue and vermilion first: the largest difference for every kind of eye, and in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00", "#5B4FA2")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
BLACK, GREY = "#1A1A1A", "#7F7F7F"
MANY = 2_000  # points beyond which they are small and see-through


class ClassStyle:
    """Colour and marker of one class."""

    def __init__(self, label: Hashable, place: int) -> None:
        self.label = label
        self.colour = COLOURS[place % len(COLOURS)]
        self.marker = MARKERS[place % len(MARKERS)]


def class_styles(labels: Sequence[Hashable]) -> list[ClassStyle]:
    """One style per class, in the order of the sorted labels."""
    return [ClassStyle(label, place) for place, label in enumerate(labels)]


def pyplot() -> Any:
    """matplotlib.pyplot, or a sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise InputError(
            "pictures need matplotlib, which is not installed. Install it with "
            "pip install 'maxmargin[plots]'."
        ) from error
    return plt


def axes(ax: Axes | None = None, **options: Any) -> Axes:
    """The axes given, or new ones in a new figure."""
    if ax is not None:
        return ax
    options.setdefault("figsize", (8.0, 5.0))
    options.setdefault("layout", "constrained")
    _, made = pyplot().subplots(**options)
    return made  # type: ignore[no-any-return]


def point_size(n: int) -> tuple[float, float]:
    """Area and opacity of n points: large and solid when few, fine and see-through when many."""
    if n <= 50:
        return 48.0, 1.0
    if n <= MANY:
        return float(48.0 * (50.0 / n) ** 0.35), 0.9
    return float(max(1.5, 13.0 * (MANY / n) ** 0.5)), float(np.clip(0.9 * (MANY / n) ** 0.4, 0.15, 0.9))


def legend(ax: Axes) -> None:
    """A legend beside the picture, where it covers nothing; points in it are large enough to see."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    shown = ax.legend(
        handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False
    )
    for handle in shown.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([36.0])
        if handle is not None:
            handle.set_alpha(1.0)
