"""The witness of two classes that no plane separates: their hulls, and the point that both contain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.core.witness import Witness
from maxmargin.plots.marks import label_words
from maxmargin.plots.style import BLACK, COLOURS, ClassStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WitnessArtists", "draw_hull", "draw_witness", "hull", "through_origin"]

LEAST = 30.0  # area of a witness of weight nought
WEIGHT = 420.0  # what weight one adds
LINES = 60  # witnesses that are joined with the common point


@dataclass
class WitnessArtists:
    """What was drawn, by label where there is one for each side."""

    rows: dict[Hashable, Any] = field(default_factory=dict)
    lines: list[Any] = field(default_factory=list)
    common: Any = None


def through_origin(witness: Witness | None) -> bool:
    """Whether it is a witness about planes through the origin: sums are equal, not means."""
    if witness is None:
        return False
    return bool(sum(witness.positive_weights) != 1 or sum(witness.negative_weights) != 1)


def draw_witness(
    ax: Axes,
    witness: Witness,
    styles: Sequence[ClassStyle],
    where: tuple[np.ndarray, np.ndarray],
    common: np.ndarray,
    origin: np.ndarray,
    *,
    largest: float = WEIGHT,
) -> WitnessArtists:
    """Draw the rows (area ∝ weight), lines to where they meet, and the common point.

    ``where`` holds the places of the negative and of the positive rows. Of planes through the origin the
    lines go to the origin.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import Normal, Stroke

    drawn, sums = WitnessArtists(), through_origin(witness)
    centre = origin if sums else common
    sides = (witness.negative_weights, witness.positive_weights)
    for weights, style, places in zip(sides, styles, where, strict=True):
        if not len(places):
            continue
        drawn.rows[style.label] = ax.scatter(
            places[:, 0],
            places[:, 1],
            s=LEAST + largest * np.array([float(weight) for weight in weights]),
            c=style.colour,
            marker=style.marker,
            alpha=0.8,  # the same row may stand in both classes
            edgecolors=BLACK,
            linewidths=1.3,
            label=label_words(f"witness of {style.label}") + "\n(area ∝ weight)",
            zorder=4,
        )
        if len(places) <= LINES:
            segments = [np.array([place, centre]) for place in places]
            bundle = LineCollection(segments, colors=style.colour, linewidths=1.6, zorder=3.5)
            bundle.set_path_effects([Stroke(linewidth=3.2, foreground="white"), Normal()])
            drawn.lines.append(ax.add_collection(bundle))
    if sums:
        ax.plot(*origin, "+", color=BLACK, ms=12, mew=1.6, label="origin", zorder=6)
    drawn.common = ax.scatter(
        [common[0]],
        [common[1]],
        s=260,
        marker="*",
        c=COLOURS[4],
        edgecolors=BLACK,
        linewidths=1.0,
        label="equal weighted sums" if sums else "common point of the hulls",
        zorder=7,
    )
    return drawn


def draw_hull(ax: Axes, corners: np.ndarray, style: ClassStyle, line: str) -> Any:
    """Outline a hull and shade it."""
    closed = np.vstack([corners, corners[:1]])
    (outline,) = ax.plot(*closed.T, color=style.colour, lw=1.5, ls=line, zorder=1)
    if len(corners) > 2:
        ax.fill(*corners.T, color=style.colour, alpha=0.10, lw=0, zorder=0)
    return outline


def hull(flat: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points of the plane, in order: one, two or more."""
    from scipy.spatial import ConvexHull, QhullError

    centred = flat - flat.mean(axis=0)
    reach = float(np.abs(centred).max())
    if reach == 0.0:
        return flat[:1]
    _, sizes, directions = np.linalg.svd(centred / reach, full_matrices=False)
    if len(sizes) > 1 and sizes[1] > 1e-12 * sizes[0]:
        try:
            return np.asarray(flat[ConvexHull(flat).vertices])
        except QhullError:  # too flat for it
            pass
    along = centred @ directions[0]
    return np.asarray(flat[[int(np.argmin(along)), int(np.argmax(along))]])
