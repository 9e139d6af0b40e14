"""The pictures of the benchmarks page, drawn from the results file alone.

Colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart; markers differ as
well, and every line has its name at its end.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from benchmarks.page_cells import NOTHING

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
STYLE = {  # colour and marker
    "maxmargin": ("#000000", "o"),
    "LIBLINEAR": ("#0072B2", "s"),
    "LinearSVC": ("#0072B2", "s"),
    "SVC": ("#D55E00", "^"),
    "SGDClassifier": ("#009E73", "v"),
    "Snap ML": ("#CC79A7", "D"),
    "PIQP": ("#E69F00", "P"),
    "Clarabel": ("#56B4E9", "X"),
}
NAMES = {"SVC": "SVC (LIBSVM)", "SGDClassifier": "SGD", "LinearSVC": "LinearSVC (LIBLINEAR)"}
SIZE = 9  # points of the labels
ANCHOR = {"left": 0.0, "center": 0.5, "right": 1.0}  # the share of a name to the left of its place
SETTINGS = {
    "svg.hashsalt": "maxmargin",  # the same file from the same results
    "svg.fonttype": "none",  # text stays text
    "font.size": 10,
    "axes.axisbelow": True,
}


def draw(parts: dict[str, Any], folder: Path = FOLDER) -> list[Path]:
    """Draw what the results have; return the files."""
    if "curves" not in parts:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    curves, made = parts["curves"], []
    with matplotlib.rc_context(SETTINGS):
        for name, found, one in (
            ("time-against-n", curves["growth"], _growth),
            ("error-against-time", curves["descent"], _descent),
        ):
            panels = [panel for panel in found if panel["lines"]]
            figure = Figure(figsize=(7.2, 4.0 * max(1, len(panels))), layout="constrained")
            for k, panel in enumerate(panels, start=1):
                one(figure.add_subplot(len(panels), 1, k), panel)
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": None}, facecolor="white")
            made.append(path)
    return made


def _growth(axes: Axes, panel: dict[str, Any]) -> None:
    axes.set_title(f"{panel['kind'].capitalize()} margin, d = {panel['features']}", loc="left")
    axes.set_xlabel("rows n")
    axes.set_ylabel("seconds, each by its own rule")
    _lines(axes, panel["lines"], room=3.0)


def _descent(axes: Axes, panel: dict[str, Any]) -> None:
    n, d = panel["rows"], panel["features"]
    axes.set_title(f"Soft margin, {panel['data']}, {n:,} × {d}, C = {panel['C']:g}", loc="left")
    axes.set_xlabel("seconds")
    axes.set_ylabel("(value − optimum) / optimum")
    lines = {
        who: [[seconds, max(error, NOTHING)] for seconds, error in points]
        for who, points in panel["lines"].items()
    }
    _lines(axes, lines, room=3.5)


def _lines(axes: Axes, lines: dict[str, list[list[float]]], room: float) -> None:
    """Every line with its name at its end; ``room`` is the factor left free for the names."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = []
    for who in sorted(lines, key=lambda who: who == "maxmargin"):  # ours on top
        x, y = zip(*lines[who], strict=True)
        colour, marker = STYLE[who]
        ours = who == "maxmargin"
        axes.plot(
            x,
            y,
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=2.6 if ours else 1.5,
            clip_on=False,
        )
        ends.append((x[-1], y[-1], NAMES.get(who, who), colour, ours))
    axes.margins(0.06, 0.08)
    left, right = axes.get_xlim()
    axes.set_xlim(left, right * room)
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
    axes.minorticks_off()
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _names(axes, ends)


def _names(axes: Axes, ends: list[tuple[float, float, str, str, bool]]) -> None:
    """Write each name beside the end of its line, where it covers least of the lines and other names."""
    figure = axes.figure
    figure.draw_without_rendering()  # the layout has to be known
    scale = figure.dpi / 72
    taken = np.vstack([_along(axes.transData.transform(line.get_xydata())) for line in axes.lines])
    for x, y, name, colour, ours in ends:
        width, height = (0.7 if ours else 0.62) * SIZE * scale * len(name), 1.2 * SIZE * scale
        at = axes.transData.transform((x, y))
        spots = [
            (dx * scale, dy * scale, side)
            for side, dx in (("left", 8), ("left", 3), ("center", 0), ("right", -3), ("right", -8))
            for dy in ((0, 7, -7, 12, -12) if abs(dx) == 8 else (13, -13, 20, -20))
        ]
        costs = [_covered(taken, at, spot, width, height) for spot in spots]
        dx, dy, side = spots[int(np.argmin(costs))]
        left = at[0] + dx - width * ANCHOR[side]
        for up in (-height / 2, 0, height / 2):  # the name is in the way of the others
            row = np.array([[left, at[1] + dy + up], [left + width, at[1] + dy + up]])
            taken = np.vstack([taken, _along(row)])
        axes.annotate(
            name,
            (x, y),
            xytext=(dx / scale, dy / scale),
            textcoords="offset points",
            color=tuple(0.75 * part for part in to_rgb(colour)),  # thin strokes need a darker colour
            fontsize=SIZE,
            fontweight="bold" if ours else "normal",
            ha=side,
            va="center",
            annotation_clip=False,
        )


def _along(corners: np.ndarray) -> np.ndarray:
    """Return pixels along a line through some corners, close to one another."""
    parts = [np.linspace(p, q, 1 + int(np.hypot(*(q - p)))) for p, q in pairwise(corners)]
    return np.vstack([corners, *parts])


def _covered(
    taken: np.ndarray, at: np.ndarray, spot: tuple[float, float, str], width: float, height: float
) -> int:
    """Return how many of the pixels a name would cover."""
    dx, dy, side = spot
    left, low = at[0] + dx - width * ANCHOR[side], at[1] + dy - height / 2
    inside = (taken >= (left, low)) & (taken <= (left + width, low + height))
    return int(np.count_nonzero(inside.all(axis=1)))
