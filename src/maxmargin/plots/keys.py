"""Where the key of a picture stands: beside it, or below it where the figure is narrow.

A figure of the width of a telephone has no room beside its axes. So the caller asks for the narrow
layout by the width of the figure that the axes are on, and the letters stay readable.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from maxmargin.plots.style import legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NARROW", "is_narrow", "key", "key_below", "title"]

NARROW = 6.0  # inches: in a narrower figure the key is below
LETTERS = 9.5  # of a title in an inch
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
    letters = int(LETTERS * _width(ax)) if is_narrow(ax) else 1_000
    ax.set_title("\n".join(textwrap.fill(line, letters) for line in text.splitlines()))


def _width(ax: Axes) -> float:
    return float(ax.figure.bbox.width / ax.figure.dpi)
