"""The two sides of a verdict, ready to be drawn: which rows they are, and where they are seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError
from maxmargin.plots.data import read_points
from maxmargin.plots.view import View, choose_view, lanes

__all__ = ["Sides", "read_sides"]


class Sides(NamedTuple):
    """Rows of both sides, as :class:`maxmargin.plots.SeparabilityDisplay` keeps them."""

    flat: np.ndarray
    rows: np.ndarray
    signs: np.ndarray
    view: View
    near: np.ndarray
    common: np.ndarray | None
    largest: np.ndarray
    line: bool


def read_sides(verdict: Verdict, X: Any, y: Any, features: Any, at: Any) -> Sides:
    """Read the data of a verdict and choose the view.

    Without a plane the projection is on the line between the means of the sides.
    """
    points = read_points(X, y)
    if points.X.shape[1] != len(verdict.features):
        raise InputError(
            f"X must hold the data of the verdict, with {len(verdict.features)} features. "
            f"Got {points.X.shape[1]} instead."
        )
    rows, signs = _find_sides(verdict, points.classes[points.codes])
    part = points.X[rows]
    w = verdict.w
    if w is None:
        w = part[signs > 0].mean(axis=0) - part[signs < 0].mean(axis=0)
    view = choose_view(part, w, features, at, verdict.features)
    flat, line = view.flat(part), part.shape[1] == 1
    if line:
        flat[:, 1] = lanes((signs > 0).astype(np.intp), 2)
    common = None
    if verdict.witness is not None:
        common = view.flat(np.asarray(verdict.witness.point, dtype=np.float64)[None])[0]
    near = np.empty(0, dtype=np.intp)
    if verdict.margin is not None and verdict.b is not None:
        f = signs * (part @ w + verdict.b)
        near = rows[[int(np.argmin(np.where(signs == side, f, np.inf))) for side in (-1, 1)]]
    return Sides(flat, rows, signs, view, near, common, np.abs(part).max(axis=0), line)


def _find_sides(verdict: Verdict, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that the verdict is about, and their signs."""
    positive = labels == verdict.positive
    negative = ~positive if verdict.negative is None else labels == verdict.negative
    if not (np.any(positive) and np.any(negative)):
        other = "all others" if verdict.negative is None else repr(verdict.negative)
        raise InputError(
            f"y must hold the labels of the verdict, {verdict.positive!r} and {other}. "
            f"Got {sorted(set(labels.tolist()), key=str)[:8]} instead."
        )
    rows = np.flatnonzero(positive | negative)
    return rows, np.where(positive[rows], 1.0, -1.0)
