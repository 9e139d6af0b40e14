"""The residuals of the KKT conditions as bars on a logarithmic axis, beside the machine epsilon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.keys import key_below
from maxmargin.plots.style import BLACK, COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxmargin.certificates.certificate import Certificate

__all__ = ["draw_residuals"]

EPSILON = float(np.finfo(np.float64).eps)
FLOOR = 1e-18  # where the axis begins: a residual of 0 has no bar


def draw_residuals(ax: Axes, proof: Certificate) -> tuple[Any, list[Any]]:
    """Draw the four residuals and the relative gap; return the bars and the numbers beside them."""
    table = {
        "stationarity": proof.stationarity,
        "primal\ninfeasibility": proof.primal_infeasibility,
        "dual\ninfeasibility": proof.dual_infeasibility,
        "comple-\nmentarity": proof.complementarity,
        "relative gap": proof.relative_gap,
    }
    size = np.array(list(table.values()))
    finite = size[np.isfinite(size)]
    high = 100.0 * max(1.0, float(finite.max(initial=0.0)))
    ends = np.clip(np.nan_to_num(size, posinf=high), FLOOR, high)
    places = range(len(table))
    bars = ax.barh(list(places), ends - FLOOR, left=FLOOR, height=0.6, color=COLOURS[0])
    texts = [
        _number(ax, end, place, value, inside=bool(end > 1e-3 * high))
        for place, end, value in zip(places, ends, table.values(), strict=True)
    ]
    ax.set_xscale("log")
    ax.set_xlim(FLOOR, high)
    line = ax.axvline(EPSILON, color=COLOURS[1], lw=1.4, ls="--", zorder=3)
    line.set_label("machine epsilon, 2.2e−16")
    ax.set_yticks(list(places), list(table))
    ax.invert_yaxis()
    ax.set_xlabel("residual")
    ax.set_title("KKT residuals")
    key_below(ax, [line], columns=1)
    return bars, texts


def _number(ax: Axes, end: float, place: int, value: float, *, inside: bool) -> Any:
    """The value at the end of its bar, inside where the picture ends."""
    text = "0" if value == 0 else ("∞" if math.isinf(value) else f"{value:.1e}".replace("-", "−"))
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    return ax.annotate(
        text,
        (end, place),
        xytext=(-4 if inside else 4, 0),
        textcoords="offset points",
        ha="right" if inside else "left",
        va="center",
        color="white" if inside else BLACK,
        bbox=None if inside else white,
        zorder=4,
    )
