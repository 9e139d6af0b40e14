"""How all pictures look: colours that colour-blind eyes tell apart, shapes that survive a copier.

Classes differ in colour *and* marker. The colours are those of Okabe and Ito (2008).
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
LINE_STYLES = ("-", "--")  # of the class +1, and of the other
# The curves of errors: on the rows trained on, and on others.
TRAINING: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "lw": 1.8}
VALIDATION: dict[str, Any] = {"color": COLOURS[1], "marker": "s", "lw": 1.8}
MANY_POINTS = 2_000  # beyond which they are small and see-through
KEY_LETTERS = 34  # in a line of a key
ENTRY_LINES = 4  # of one entry of a key
LONG_KEY = 12  # entries, beyond which a key below stands in three columns of short lines
LONG_KEY_LETTERS = 18
LAYOUT_PASSES = 5
CAPTION_LETTERS = 62  # in a line of a caption
MAX_MARKED_EPOCHS = 50  # of a curve, up to which each has a marker
CURVE_SIZE = 7.0, 4.2  # inches, of a picture of curves
CURVE_KEY_LETTERS = 28  # in a line of its key


class ClassStyle(NamedTuple):
    """How the points of one class look."""

    label: Hashable
    colour: str
    marker: str


def class_styles(labels: Sequence[Hashable]) -> list[ClassStyle]:
    """One style per class, in the order given; beyond ten classes the colours meet other markers."""
    return [
        ClassStyle(label, COLOURS[k % len(COLOURS)], MARKERS[(k + k // len(COLOURS)) % len(MARKERS)])
        for k, label in enumerate(labels)
    ]


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


def finish_curves(ax: Axes, heading: str, across: str) -> None:
    """Write the title and the name of the first axis, and explain the curves."""
    ax.set_xlabel(across)
    title(ax, heading)
    ax.grid(alpha=0.25)
    key(ax)


def count_axis(axis: Any, ticks: int = 6) -> None:
    """Set at most so many intervals between ticks, at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(ticks, integer=True, min_n_ticks=1))


def point_size(n: int) -> tuple[float, float]:
    """Area and opacity of n points: large and solid when few, fine and see-through when many."""
    if n <= 50:
        return 48.0, 1.0
    if n <= MANY_POINTS:
        return float(48.0 * (50.0 / n) ** 0.35), 0.9
    share = MANY_POINTS / n
    return float(max(1.5, 13.0 * share**0.5)), float(np.clip(0.9 * share**0.4, 0.15, 0.9))


def scatter(ax: Axes, places: np.ndarray, **look: Any) -> Any:
    """Draw a marker at each place, the rows of ``places``."""
    x, y = places.T
    return ax.scatter(x, y, **look)


def wrapped(text: object, letters: int = KEY_LETTERS) -> str:
    """A text in lines of so many letters; of one that needs more than four lines, its beginning."""
    lines = [part for line in str(text).splitlines() for part in textwrap.wrap(line, letters)]
    return "\n".join(lines[:ENTRY_LINES]) + (" …" if len(lines) > ENTRY_LINES else "")


def caption(ax: Axes, text: str) -> Any:
    """A sentence between the picture and its title, which is set already; returns the text artist."""
    lines = wrapped(text, CAPTION_LETTERS)
    formatter = ax.yaxis.get_major_formatter()
    formatter.set_locs(list(ax.yaxis.get_majorticklocs()))
    above = 15.0 if formatter.get_offset() else 4.0  # "1e9" stands above the axis
    ax.set_title(ax.get_title(), pad=above + 5.0 + 11.5 * (lines.count("\n") + 1))
    place: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "center"}
    return ax.annotate(
        lines, (0.5, 1.0), (0.0, above), va="bottom", fontsize=9, color="#4D4D4D", **place
    )


def settle(ax: Axes) -> None:
    """Lay out a figure until it rests: of a picture with equal units one pass cuts words at the rim."""
    from matplotlib.figure import Figure

    figure = ax.figure
    if not isinstance(figure, Figure) or ax.get_aspect() == "auto":
        return
    engine = figure.get_layout_engine()
    if engine is None:
        return
    for _ in range(LAYOUT_PASSES):
        before = ax.get_position(original=True).bounds
        engine.execute(figure)
        if np.allclose(before, ax.get_position(original=True).bounds, atol=2e-3):
            return


def plain(text: str) -> str:
    """Text in which a dollar is a dollar."""
    return text.replace("$", r"\$")


# The key of a picture stands beside it, or below it in a figure of the width of a telephone, which has
# no room beside its axes.

NARROW_WIDTH = 6.0  # inches: in a narrower figure the key is below
TITLE_LETTERS_PER_INCH = 9.5
ENTRY_WIDTH = 2.1  # inches that an entry of a key takes, about


def is_narrow(ax: Axes) -> bool:
    """Whether the figure of these axes has no room beside them."""
    return _width(ax) < NARROW_WIDTH


def key(ax: Axes) -> None:
    """Explain the artists to the right of the picture, or below it if the figure is narrow."""
    if is_narrow(ax):
        key_below(ax)
        return
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    if ax.get_aspect() != "auto":
        ax.set_anchor("NW")  # in the middle of its place it would push the key out of the figure
    labels = [wrapped(label) for label in labels]
    _draw_key(ax, handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def key_below(
    ax: Axes, handles: list[Any] | None = None, *, columns: int | None = None, drop: float = 0.5
) -> None:
    """Explain the artists under the picture, ``drop`` inches below it, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    if handles is None:
        handles, _ = ax.get_legend_handles_labels()
    if not handles:
        return
    labels = [str(handle.get_label()) for handle in handles]
    if len(labels) > LONG_KEY:
        columns, labels = 3, [textwrap.fill(label, LONG_KEY_LETTERS) for label in labels]
    if columns is None:
        longest = max(len(line) for label in labels for line in label.splitlines())
        columns = int(_width(ax) / max(ENTRY_WIDTH, 0.45 + 0.075 * longest))
        columns = max(1, min(len(handles), columns))
    if ax.get_aspect() != "auto" or ax.name == "3d":
        ax.set_anchor("S")
    below = ax.transAxes + ScaledTranslation(0.0, -drop, ax.figure.dpi_scale_trans)
    place: dict[str, Any] = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "bbox_transform": below,
    }
    _draw_key(ax, handles, labels, **place, borderpad=0.0, fontsize=9, ncols=columns)


def _draw_key(ax: Axes, handles: list[Any], labels: list[str], **options: Any) -> None:
    """Draw a key in which points are solid, and large enough to see."""
    shown = ax.legend(handles, labels, borderaxespad=0.0, frameon=False, **options)
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

SHORT_NAME = 4  # letters of a name that needs no room between it and the numbers
PLAIN_NUMBERS = 1e-3, 1e4  # sizes of numbers that are written as they are


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
        if largest > 0 and not PLAIN_NUMBERS[0] <= largest < PLAIN_NUMBERS[1]:
            power = int(np.floor(np.log10(largest)))
            axis.set_major_formatter(FuncFormatter(lambda v, _, unit=10.0**power: f"{v / unit:.3g}"))
            name = f"{name}, in 1e{power}".replace("-", "−")
        axis.set_label_text(plain(name))
        up = axis is ax.zaxis and not is_narrow(ax)
        axis.labelpad = 9.0 if len(name) > SHORT_NAME or up else 4.0
