"""How all pictures look: colours that colour-blind eyes tell apart, shapes that survive a copier.

Classes differ in colour *and* marker. The colours are those of Okabe and Ito (2008).
"""

from __future__ import annotations

import textwrap
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
    "TRAINING",
    "VALIDATION",
    "ClassStyle",
    "axes",
    "caption",
    "class_styles",
    "legend",
    "plain",
    "point_size",
    "pyplot",
    "settle",
    "wrapped",
]

# Blue and vermilion first: the largest difference for every kind of eye, and in grey.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"),
    *("#56B4E9", "#8C6D00", "#5B4FA2", "#882255", "#949494"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "<", "*", ">", "d")  # no cross: it marks mistakes
BLACK, GREY = "#1A1A1A", "#7F7F7F"
# The curves of errors: on the rows trained on, and on others.
TRAINING: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "lw": 1.8}
VALIDATION: dict[str, Any] = {"color": COLOURS[1], "marker": "s", "lw": 1.8}
MANY = 2_000  # points beyond which they are small and see-through
LETTERS = 34  # in a line of a legend
LINES = 4  # of one entry
PASSES = 5  # of the layout
CAPTION = 62  # letters in a line of a caption


class ClassStyle:
    """Colour and marker of one class; beyond ten classes the colours meet other markers."""

    def __init__(self, label: Hashable, place: int) -> None:
        self.label = label
        self.colour = COLOURS[place % len(COLOURS)]
        self.marker = MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]


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


def wrapped(text: object, letters: int = LETTERS) -> str:
    """A text in lines of so many letters; of one that needs more than four lines, its beginning."""
    lines = [part for line in str(text).splitlines() for part in textwrap.wrap(line, letters)]
    return "\n".join(lines[:LINES]) + (" …" if len(lines) > LINES else "")


def caption(ax: Axes, text: str) -> Any:
    """A sentence between the picture and its title, which is set already; returns the text artist."""
    lines = wrapped(text, CAPTION)
    formatter = ax.yaxis.get_major_formatter()
    formatter.set_locs(list(ax.yaxis.get_majorticklocs()))
    above = 15.0 if formatter.get_offset() else 4.0  # "1e9" stands above the axis
    ax.set_title(ax.get_title(), pad=above + 5.0 + 11.5 * (lines.count("\n") + 1))
    return ax.annotate(
        lines,
        xy=(0.5, 1.0),
        xycoords="axes fraction",
        xytext=(0.0, above),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=9,
        color="#4D4D4D",
    )


def legend(ax: Axes) -> None:
    """A legend beside the picture, where it covers nothing; points in it are large enough to see."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    labels = [wrapped(label) for label in labels]
    if ax.get_aspect() != "auto":
        ax.set_anchor("NW")  # in the middle of its place it would push the legend out of the figure
    shown = ax.legend(
        handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False
    )
    for handle in shown.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([36.0])
        if handle is not None:
            handle.set_alpha(1.0)


def settle(ax: Axes) -> None:
    """Lay out a figure until it rests: of a picture with equal units one pass cuts words at the rim."""
    from matplotlib.figure import Figure

    figure = ax.figure
    if not isinstance(figure, Figure) or ax.get_aspect() == "auto":
        return
    engine = figure.get_layout_engine()
    if engine is None:
        return
    for _ in range(PASSES):
        before = ax.get_position(original=True).bounds
        engine.execute(figure)
        if np.allclose(before, ax.get_position(original=True).bounds, atol=2e-3):
            return


def plain(text: str) -> str:
    """Text in which a dollar is a dollar."""
    return text.replace("$", r"\$")
