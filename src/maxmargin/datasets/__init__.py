"""Small examples by name, and made data whose answer is known before any solver has run.

``load`` returns what the lectures draw on the board; the points are in ``examples.json``. The
generators place the points that decide the answer on a grid of binary fractions, so that the doubles in
X are the construction itself, not a rounded copy of it: the largest margin of :func:`make_separable` is
a number one can compare with ``==``.

>>> from maxmargin import datasets
>>> X, y, margin = datasets.make_separable(200, 4, 0.25)
>>> X.shape, margin
((200, 4), 0.25)
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.errors import plural
from maxmargin.core.parameters import check_choice
from maxmargin.datasets.generators import make_overlapping, make_separable, make_touching

__all__ = ["Dataset", "load", "make_overlapping", "make_separable", "make_touching", "names"]


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
        return f"Dataset({self.name!r}, {n} points, {plural(d, 'feature')}, {self.kind})"


@cache
def _examples() -> dict[str, dict[str, Any]]:
    """The examples by name, as they stand in the file."""
    text = Path(__file__).with_name("examples.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def names() -> list[str]:
    """Return the names that :func:`load` knows.

    Examples
    --------
    >>> from maxmargin import datasets
    >>> "xor" in datasets.names()
    True
    """
    return list(_examples())


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
    found = _examples()[name]
    X, margin = np.array(found["points"], dtype=np.float64), found["squared_margin"]
    return Dataset(
        X=X,
        y=np.array(found["labels"]),
        name=name,
        description=found["description"],
        kind=found["kind"],
        squared_margin=None if margin is None else Fraction(margin),
        feature_names=tuple(found.get("features", (f"x{j + 1}" for j in range(X.shape[1])))),
    )
