"""Verdicts asked for and checked in every word; and shapes whose verdict is known."""

import sys
from itertools import product

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from maxmargin.solvers.exact import separability as ladder
from separation import check_verdict

__all__ = ["HUGE", "SHAPES", "TINY", "UP", "both", "judge", "path"]

TINY = 5e-324
HUGE = sys.float_info.max
UP = np.nextafter(1.0, 2.0)


def judge(X, y, kind=None, intercept=True, **options):
    """The verdict, after all that can be said of it has been checked."""
    X = X if sparse.issparse(X) else np.asarray(X)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert kind is None or verdict.kind == kind
    check_verdict(verdict, X, y, intercept, **options)
    return verdict


@pytest.fixture(params=["usual", "floating"])
def path(request, monkeypatch):
    """Once as it comes, and once with small data sent to the hard-margin machine first."""
    if request.param == "floating":
        monkeypatch.setattr(ladder, "SMALL_ENTRIES", 0)


both = pytest.mark.usefixtures("path")

SHAPES = {
    "two points": ([[0, 0], [3, 4]], [0, 1], "separable"),
    "all points equal": ([[2, 3]] * 4, [0, 1, 0, 1], "overlapping"),
    "all points zero": ([[0, 0]] * 3, [0, 1, 1], "overlapping"),
    "contradictory copies": ([[0, 0], [0, 0], [1, 1], [1, 1]], [0, 1, 0, 1], "overlapping"),
    "one contradictory copy": ([[0, 0], [1, 1], [1, 1], [2, 2]], [0, 0, 1, 1], "touching"),
    "exclusive or": ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], "overlapping"),
    "collinear apart": ([[0, 0], [1, 2], [2, 4], [3, 6]], [0, 0, 1, 1], "separable"),
    "collinear between": ([[0, 0], [1, 2], [2, 4], [3, 6]], [0, 1, 1, 0], "overlapping"),
    "collinear touching": ([[0, 0], [1, 2], [1, 2], [3, 6]], [0, 0, 1, 1], "touching"),
    "a shared corner": ([[0, 0], [1, 0], [0, 1], [1, 1], [1, 2], [1, 0]], [0, 0, 0, 1, 1, 1], None),
    "a point on an edge": ([[0, 0], [2, 0], [1, 0], [1, 1]], [0, 0, 1, 1], "touching"),
    "edges on one line": (
        [[0, 0], [2, 0], [1, -1], [1, 0], [3, 0], [2, 1]],
        [0, 0, 0, 1, 1, 1],
        "touching",
    ),
    "edges end to end": (
        [[0, 0], [1, 0], [1, 0], [2, 0], [0, -1], [2, 1]],
        [0, 0, 1, 1, 0, 1],
        "touching",
    ),
    "squares with a shared corner": (
        [[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [1, 2], [2, 1], [2, 2]],
        [0, 0, 0, 0, 1, 1, 1, 1],
        "touching",
    ),
    "squares with a shared edge": (
        [[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [1, 1], [2, 0], [2, 1]],
        [0, 0, 0, 0, 1, 1, 1, 1],
        "touching",
    ),
    "a cube's face": (
        [*product((0, 1), repeat=3), *product((1, 2), (0, 1), (0, 1))],
        [0] * 8 + [1] * 8,
        "touching",
    ),
    "a point inside": ([[0, 0], [3, 0], [0, 3], [1, 1]], [0, 0, 0, 1], "overlapping"),
    "a constant column": ([[7, 0], [7, 1], [7, 2]], [0, 0, 1], "separable"),
    "a constant column, touching": ([[7, 0], [7, 1], [7, 1]], [0, 0, 1], "touching"),
    "a zero column": ([[0, 0], [0, 1], [0, 0.5]], [0, 0, 1], "overlapping"),
    "only constant columns": ([[7, 0], [7, 0], [7, 0]], [0, 0, 1], "overlapping"),
    "copied columns": ([[1, 1, 1], [2, 2, 2], [3, 3, 3]], [0, 1, 1], "separable"),
    "copied columns, between": ([[1, 1, 1], [2, 2, 2], [3, 3, 3]], [0, 1, 0], "overlapping"),
    "more features than rows": (np.eye(9)[:4] + 0.25, [0, 1, 0, 1], "separable"),
    "more features, dependent": (
        np.outer([1, 2, 3, 4], np.arange(9)),
        [0, 1, 0, 1],
        "overlapping",
    ),
}
