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


# Where the key of a picture stands: beside it, or below it where the figure is narrow.
#
# A figure of the width of a telephone has no room beside its axes. So the caller asks for the narrow
# layout by the width of the figure that the axes are on, and the letters stay readable.

NARROW = 6.0  # inches: in a narrower figure the key is below
TITLE_LETTERS_PER_INCH = 9.5  # of a title in an inch
ENTRY = 2.1  # inches that an entry of a key takes, about


def is_narrow(ax: Axes) -> bool:
    """Whether the figure of these axes has no room beside them."""
    return _width(ax) < NARROW


def key(ax: Axes) -> None:
    """Explain the artists beside the picture, or below it if the figure is narrow."""
    key_below(ax) if is_narrow(ax) else legend(ax)


def key_below(
    ax: Axes, handles: list[Any] | None = None, *, columns: int | None = None, drop: float = 0.5
) -> None:
    """Explain the artists under the picture, ``drop`` inches below it, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    if handles is None:
        handles, _ = ax.get_legend_handles_labels()
    if not handles:
        return
    lines = [line for handle in handles for line in str(handle.get_label()).splitlines()]
    if columns is None:
        wide = max(ENTRY, 0.45 + 0.075 * max(map(len, lines)))
        columns = max(1, min(len(handles), int(_width(ax) / wide)))
    if ax.get_aspect() != "auto" or ax.name == "3d":
        ax.set_anchor("S")  # in the middle of its place it would push the key out of the figure
    shown = ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0.0, -drop, ax.figure.dpi_scale_trans),
        borderaxespad=0.0,
        borderpad=0.0,
        frameon=False,
        fontsize=9,
        ncols=columns,
    )
    for handle in shown.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([36.0])
        if handle is not None:
            handle.set_alpha(1.0)


def title(ax: Axes, text: str) -> None:
    """Write a title, in several lines if the figure is narrow."""
    letters = int(TITLE_LETTERS_PER_INCH * _width(ax)) if is_narrow(ax) else 1_000
    ax.set_title("\n".join(textwrap.fill(line, letters) for line in text.splitlines()))


def _width(ax: Axes) -> float:
    return float(ax.figure.bbox.width / ax.figure.dpi)


# Axes and artists in three dimensions.

SHORT = 4  # letters of a name that needs no room between it and the numbers
PLAIN = 1e-3, 1e4  # sizes of numbers that are written as they are


def solids() -> Any:
    """Matplotlib's artists in three dimensions, which have no types."""
    from mpl_toolkits.mplot3d import art3d  # type: ignore[import-untyped]

    return art3d


def solid_axes(ax: Axes | None, kind: str, figsize: tuple[float, float]) -> Any:
    """The axes given, if they are three-dimensional, or new ones."""
    ax = axes(ax, subplot_kw={"projection": "3d"}, figsize=figsize)
    if ax.name != "3d":
        raise InputError(
            f'ax must be three-dimensional for kind="{kind}". Got flat axes instead. '
            'Make them with plt.subplots(subplot_kw={"projection": "3d"}).'
        )
    return ax


def name_axes(ax: Any, names: Sequence[str]) -> None:
    """Name the three axes; powers of ten of tiny and huge numbers go into the names."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis, name in zip((ax.xaxis, ax.yaxis, ax.zaxis), names, strict=True):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        largest = float(np.abs(axis.get_view_interval()).max())
        if largest > 0 and not PLAIN[0] <= largest < PLAIN[1]:
            power = int(np.floor(np.log10(largest)))
            axis.set_major_formatter(FuncFormatter(lambda v, _, unit=10.0**power: f"{v / unit:.3g}"))
            name = f"{name}, in 1e{power}".replace("-", "−")
        axis.set_label_text(name)
        up = axis is ax.zaxis and not is_narrow(ax)
        axis.labelpad = 9.0 if len(name) > SHORT or up else 4.0
