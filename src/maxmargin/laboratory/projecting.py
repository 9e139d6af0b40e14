"""Rows as points of the page: no more than it takes, in two coordinates.

More than two features are shown along w of a soft margin, and across it; one alone, on a line.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from maxmargin.estimators.softmargin import SoftMarginSVC
from maxmargin.laboratory.limits import LIMITS
from maxmargin.plots.view import choose_view

__all__ = ["draw_rows", "pad", "project"]


def draw_rows(codes: np.ndarray) -> tuple[np.ndarray, str]:
    """All rows, or as many as the page takes, every class among them; the same ones every time."""
    n, most = len(codes), LIMITS["points"]
    if n <= most:
        return np.arange(n), ""
    firsts = np.unique(codes, return_index=True)[1]
    others = np.setdiff1d(np.arange(n), firsts)
    drawn = np.random.default_rng(0).choice(others, most - len(firsts), replace=False)
    note = f"Of {n:,} rows, {most:,} were drawn at random: as many as the page takes."
    return np.sort(np.append(firsts, drawn)), note


def pad(X: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str], str]:
    """One feature and a second that is 0, their names, and a note."""
    flat = np.column_stack([X, np.zeros(len(X))])
    return flat, [*names, "(nothing)"], "There is one feature: the second coordinate is 0."


def project(X: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str], str]:
    """Points along w and along the largest other direction, their names, and a note.

    w is that of a soft margin with C = 1 on features of mean 0 and spread 1 each: of the first class
    against the others, if there are several. The lengths shown are those of the scaled features.
    """
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftMarginSVC(C=1.0).fit(scaled, codes)
    view = choose_view(scaled, model.coef_[0], "projection", None, list(names))
    flat = np.round(view.flat(scaled), 9) + 0.0
    note = (
        f"{len(names)} features, each scaled to mean 0 and spread 1, are shown along the normal w of a "
        "soft margin (C = 1) and along the largest other direction."
    )
    return flat, list(view.names), note
