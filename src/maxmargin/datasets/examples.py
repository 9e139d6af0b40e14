"""What the lectures draw on the board, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxmargin.core.errors import count
from maxmargin.core.parameters import check_choice


@dataclass(frozen=True)
class Dataset:
    """A small example with its answer.

    Attributes
    ----------
    X : array of shape (n, d)
        The points.
    y : array of shape (n,)
        Labels: −1 and +1, or 0, 1, 2 for three classes.
    name, description : str
        What it is called, and what it is there to show.
    kind : str
        "separable", "touching" or "overlapping", as :func:`maxmargin.separability` says.
    squared_margin : Fraction or None
        The exact square of the largest margin, if the data is separable and has two classes.
    feature_names : tuple of str
        What the columns are called.

    Examples
    --------
    >>> from maxmargin import datasets
    >>> marks = datasets.load("exam-marks")
    >>> marks.feature_names, marks.y.tolist(), round(marks.margin, 3)
    (('homework', 'exam'), [1, -1, -1], 28.284)
    """

    X: np.ndarray
    y: np.ndarray
    name: str
    description: str
    kind: str
    squared_margin: Fraction | None
    feature_names: tuple[str, ...]

    @property
    def margin(self) -> float | None:
        """The largest margin, with any plane allowed; None if there is none."""
        return None if self.squared_margin is None else math.sqrt(self.squared_margin)

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name!r}, {n} points, {count(d, 'feature')}, {self.kind})"


# name: points, labels, kind, squared margin, description
Entry = tuple[list[list[float]], list[int], str, Fraction | None, str]
MARKS = ("homework", "exam")
FAILED: list[list[float]] = [[40, 30], [50, 40], [20, 50], [60, 35], [10, 20], [35, 55]]
CORNERS: list[list[float]] = [[0, 0], [0, 1], [1, 0], [1, 1]]
EXAMPLES: dict[str, Entry] = {
    "exam-marks": (
        [[90, 80], [40, 30], [50, 40]],
        [1, -1, -1],
        "separable",
        Fraction(800),
        "Homework and exam marks of three students: who passed? The next one has (50, 60).",
    ),
    "more-marks": (
        [[90, 80], [50, 60], [30, 80], [70, 60], [80, 40], [85, 95], *FAILED],
        [1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1],
        "separable",
        Fraction(7225, 164),
        "Twelve students; whoever has more than 50 on average has passed.",
    ),
    "opposite": (
        [[1, 1], [-1, -1]],
        [1, -1],
        "separable",
        Fraction(2),
        "Two points on either side of the origin: the perceptron makes one mistake.",
    ),
    "quarter": (
        [[1, 1], [-0.25, -0.25]],
        [1, -1],
        "separable",
        Fraction(25, 32),
        "As 'opposite', with the second point four times nearer to the origin: more mistakes.",
    ),
    "three-points": (
        [[2, 5], [-4, -2], [4, -4]],
        [1, -1, -1],
        "separable",
        Fraction(17),
        "One point against two: a cone in w-space, and three planes that meet in the optimum "
        "(w₁, w₂, b) = (1, 4, −5)/17 of weight space.",
    ),
    "off-origin": (
        [[1, 1], [2, 1], [1, 2], [3, 3], [4, 3], [3, 4]],
        [-1, -1, -1, 1, 1, 1],
        "separable",
        Fraction(9, 8),
        "Separable, but by no plane through the origin: here the dummy coordinate is needed.",
    ),
    "thin": (
        [[k, 0.25] for k in range(-5, 6)] + [[k, -0.25] for k in range(-5, 6)],
        [1] * 11 + [-1] * 11,
        "separable",
        Fraction(1, 16),
        "Two long rows close together: a small margin, and many mistakes before the end.",
    ),
    "one-outlier": (
        [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1.5, 1.25], [4, 3], [5, 3], [4, 4], [5, 4], [3, 5]],
        [-1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1],
        "separable",
        Fraction(5, 64),
        "Two groups far apart but for one point, which alone makes the hard margin narrow.",
    ),
    "one-feature": (
        [[1], [2], [5], [7]],
        [-1, -1, 1, 1],
        "separable",
        Fraction(9, 4),
        "One feature: the plane is a threshold.",
    ),
    "collinear": (
        [[k, 2 * k + 1] for k in range(-3, 4)],
        [-1, -1, -1, -1, 1, 1, 1],
        "separable",
        Fraction(5, 4),
        "All points on one line, which the boundary cuts at a right angle.",
    ),
    "alternating": (
        [[k, 2 * k + 1] for k in range(6)],
        [1, -1, 1, -1, 1, -1],
        "overlapping",
        None,
        "Points on one line with labels in turn: no plane does better than a third of errors.",
    ),
    "touching": (
        [[0, 0], [2, 2], [1, 1], [1, 3]],
        [-1, -1, 1, 1],
        "touching",
        None,
        "A point of one class on the edge of the other's hull: separable but for points on the plane.",
    ),
    "xor": (
        CORNERS,
        [-1, 1, 1, -1],
        "overlapping",
        None,
        "Exclusive or: the two diagonals cross, and the perceptron goes round in a cycle.",
    ),
    "slack": (
        [[0, 0], [1, 0], [0, 1], [1, 2], [2, 0], [3, 3], [1, 1], [3, 2], [2, 3], [4, 2], [3, 4], [2, 1]],
        [-1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1],
        "overlapping",
        None,
        "Two groups, one point of each among the others: two errors at best, and a need for slack.",
    ),
    "three-classes": (
        [[0, 4], [1, 5], [-1, 5], [-4, -2], [-5, -3], [-3, -3], [4, -2], [5, -3], [3, -3]],
        [0, 0, 0, 1, 1, 1, 2, 2, 2],
        "separable",
        None,
        "Three groups around the origin, each separable from the rest.",
    ),
}


def names() -> list[str]:
    """Return the names that :func:`load` knows.

    Examples
    --------
    >>> from maxmargin import datasets
    >>> "xor" in datasets.names()
    True
    """
    return list(EXAMPLES)


def load(name: str) -> Dataset:
    """Return a small example by its name.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Examples
    --------
    >>> from maxmargin import datasets
    >>> marks = datasets.load("exam-marks")
    >>> marks.X[0].tolist(), marks.kind, marks.squared_margin
    ([90.0, 80.0], 'separable', Fraction(800, 1))
    """
    check_choice("name", name, names())
    points, labels, kind, squared, description = EXAMPLES[name]
    X = np.array(points, dtype=np.float64)
    features = MARKS if "marks" in name else tuple(f"x{j + 1}" for j in range(X.shape[1]))
    return Dataset(X, np.array(labels), name, description, kind, squared, features)
