"""Axes and artists in three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.plots.keys import is_narrow
from maxmargin.plots.style import axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["name_axes", "solid_axes", "solids"]

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
