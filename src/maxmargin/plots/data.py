"""The points of a picture: read once, dense, with their labels and names."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.core.errors import InputError
from maxmargin.estimators.validation import check_finite, feature_names, names_of, read_Xy
from maxmargin.rows import Rows
from maxmargin.rows.training_data import encode, find_classes

MAX_DENSE_NUMBERS = 1 << 27  # numbers of sparse data that is made dense for a picture


@dataclass(frozen=True)
class Points:
    """Rows with label codes; ``given`` is X as the user passed it, for ``predict``."""

    X: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    names: tuple[str, ...]
    given: Any

    @property
    def labels(self) -> list[Hashable]:
        """The classes, sorted."""
        labels: list[Hashable] = self.classes.tolist()
        return labels

    @property
    def signs(self) -> np.ndarray:
        """±1 of two classes."""
        return np.where(self.codes == 1, 1.0, -1.0)

    @property
    def weight_names(self) -> tuple[str, ...]:
        """w₁ and w₂ of two features, each with the name of its feature, if that says more than x0."""
        return tuple(
            w if re.fullmatch(r"x\d+", name) else f"{w} ({name})"
            for w, name in zip(("w₁", "w₂"), self.names, strict=True)
        )


class Labelled(NamedTuple):
    """Rows with label codes, their classes, and the names of the features."""

    rows: Rows
    codes: np.ndarray
    classes: np.ndarray
    names: tuple[str, ...]


def read_labelled(X: Any, y: Any, estimator: Any = None, names: Sequence[str] | None = None) -> Labelled:
    """Check X and y; classes are those of the estimator, if it has some."""
    reader = BaseEstimator()
    rows, labels = read_Xy(reader, X, y, check=False)
    check_finite(rows)
    classes = getattr(estimator, "classes_", None)
    classes = find_classes(labels) if classes is None else np.asarray(classes)
    found = feature_names(names_of(reader) if names is None else names, rows.d)
    if len(found) != rows.d:
        raise InputError(f"names must hold {rows.d} names. Got {len(found)} instead.")
    return Labelled(rows, encode(labels, classes), classes, found)


def read_points(X: Any, y: Any, estimator: Any = None, names: Sequence[str] | None = None) -> Points:
    """Check X and y, and make the rows dense."""
    rows, codes, classes, found = read_labelled(X, y, estimator, names)
    if sparse.issparse(X) and rows.n * rows.d > MAX_DENSE_NUMBERS:
        raise InputError(
            f"a picture needs dense rows. Got {rows.n} × {rows.d} sparse ones instead, which are too "
            "many numbers. Draw fewer rows, or fewer columns."
        )
    return Points(rows.take(np.arange(rows.n)), codes, classes, found, X)


def not_linear(estimator: Any) -> InputError:
    """Return the error of an estimator without planes to draw."""
    return InputError(
        "estimator must be a fitted linear classifier with coef_ and intercept_. "
        f"Got {type(estimator).__name__} instead."
    )


# From d features to two: which plane of x-space a picture shows.
#
# Two features, with the others fixed at a point: the picture is a slice, and the boundary in it is
# where f(x) = 0 in that slice. Or the projection on (w/‖w‖, the largest remaining principal
# direction): lengths along w are true, so the margin is seen undistorted, and the boundary is a
# straight line across.

MAX_PROJECTED_ROWS = 5_000  # rows from which the principal direction is found
SLICE_LETTERS = 60  # letters of names and values that a caption gives in full
MAX_LANE_POINTS = 10  # points of one feature, up to which they lie on one line in their lane


@dataclass(frozen=True)
class View:
    """x = at + u₁ axes[0] + u₂ axes[1], and back: u = axes (x − at)."""

    axes: np.ndarray  # (2, d): two rows of length one, at right angles
    at: np.ndarray  # (d,): what the picture does not show is as here
    names: tuple[str, str]
    sliced: bool  # points of other slices are drawn over this one
    cut: str = ""  # how the plane of the picture lies among more than two features

    @property
    def projected(self) -> bool:
        """Whether the picture shows other directions than those of features."""
        return bool(self.cut) and not self.sliced

    def flat(self, X: np.ndarray) -> np.ndarray:
        """Where points are drawn."""
        return np.asarray((X - self.at) @ self.axes.T)

    def whole(self, u: np.ndarray) -> np.ndarray:
        """The points of x-space that lie at u, in the plane of the picture."""
        return np.asarray(self.at + u @ self.axes)

    def plane(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """The boundary w·x + b = 0 in the picture: v·u + c = 0."""
        return self.axes @ w, float(w @ self.at + b)


def choose_view(X: np.ndarray, w: np.ndarray, features: Any, at: Any, names: Sequence[str]) -> View:
    """Choose what to show: ``features`` is a pair, "projection", or None for what suits d."""
    d = X.shape[1]
    if features is None:
        features = "projection" if d > 2 else (0, min(1, d - 1))
    if isinstance(features, str) and features == "projection":
        return _projection(X, w, at)
    if isinstance(features, str) or not isinstance(features, Sequence) or len(features) != 2:
        raise InputError(
            f'features must be two columns (numbers or names) or "projection". Got {features!r} instead.'
        )
    i, j = (_column(f, names) for f in features)
    basis = np.zeros((2, d))
    basis[0, i] = 1.0
    if d > 1:
        basis[1, j] = 1.0
    if d > 1 and i == j:
        raise InputError(f"features must be two different columns. Got {features!r} instead.")
    centre = np.zeros(d) if d <= 2 else _point(X, at).copy()
    centre[[i, j]] = 0.0
    shown = str(names[i]), str(names[j]) if d > 1 else ""
    cut = _slice_words(names, centre, (i, j), at is None) if d > 2 else ""
    return View(basis, centre, shown, sliced=d > 2, cut=cut)


def _slice_words(names: Sequence[str], centre: np.ndarray, shown: tuple[int, int], means: bool) -> str:
    """Where the features that are not shown are held."""
    others = [k for k in range(len(centre)) if k not in shown]
    several = len(others) > 1
    where = ("their means" if several else "its mean") if means else "the given point"
    values = ", ".join(f"{names[k]} = {centre[k]:.4g}" for k in others)
    if len(values) <= SLICE_LETTERS:
        return f"Slice at {values} ({where})"
    count = f"the {len(others)} other features" if several else "the other feature"
    return f"Slice with {count} held at {where}"


def place_points(view: View, X: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """Where points are drawn; those of one feature in a lane for each of ``count`` classes."""
    flat = view.flat(X)
    if X.shape[1] == 1:
        flat[:, 1] = lanes(codes, count)
    return flat


def lanes(codes: np.ndarray, count: int) -> np.ndarray:
    """Heights between −1 and 1 for points of one feature: a lane for each class, from below."""
    centre = (2.0 * codes + 1.0) / count - 1.0
    if len(codes) < MAX_LANE_POINTS:
        return np.asarray(centre)
    return np.asarray(centre + np.random.default_rng(0).uniform(-0.5, 0.5, len(codes)) / count)


def _projection(X: np.ndarray, w: np.ndarray, at: Any) -> View:
    if X.shape[1] < 2:
        raise InputError('features must not be "projection" for one feature. Leave it out.')
    length = float(np.linalg.norm(w))
    first = w / length if length > 0 else np.eye(X.shape[1])[0]
    centre = _point(X, at)
    some = X[:: max(1, len(X) // MAX_PROJECTED_ROWS)] - centre
    rest = some - np.outer(some @ first, first)
    _, _, directions = np.linalg.svd(rest, full_matrices=False)
    second = directions[0] - (directions[0] @ first) * first
    size = float(np.linalg.norm(second))
    if size < 1e-12:  # all points lie on one line
        second = np.eye(X.shape[1])[int(np.argmin(np.abs(first)))]
        second = second - (second @ first) * first
        size = float(np.linalg.norm(second))
    second /= size
    second *= np.sign(second[np.argmax(np.abs(second))])  # the same picture every time
    through = "the mean of all rows" if at is None else "the given point"
    names = ("along w", "largest other direction")
    return View(np.array([first, second]), centre, names, sliced=False, cut=f"Cut through {through}")


def _point(X: np.ndarray, at: Any) -> np.ndarray:
    if at is None:
        return np.asarray(X.mean(axis=0))
    point = np.asarray(at, dtype=np.float64)
    if point.shape != (X.shape[1],) or not np.all(np.isfinite(point)):
        raise InputError(f"at must hold {X.shape[1]} finite numbers. Got {at!r} instead.")
    return point


def _column(feature: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if (
        isinstance(feature, int | np.integer)
        and not isinstance(feature, bool)
        and 0 <= feature < len(names)
    ):
        return int(feature)
    raise InputError(
        f"features must be column numbers from 0 to {len(names) - 1}, or names. Got {feature!r} instead."
    )
