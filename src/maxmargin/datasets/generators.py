"""Made data whose largest margin, or whose verdict, is known before any solver has run.

Rows on a grid of binary fractions: sums of them are exact, so a construction is what it says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.core.parameters import check_bool, check_count, check_number, random_generator

MAX_SIZE = 2.0**100  # sizes up to this, and from one over it
GRID_DIGITS = 16  # binary digits of the grid below the spread of the data
MAX_COORDINATE = 2.0**50  # coordinates in grid units stay below: there is room for sums
# u of the mirror by the number of features; (1, −1, −1, −1) for four and more
MIRRORS: dict[int, tuple[int, ...]] = {1: (0,), 2: (1, -2), 3: (1, -1, -1)}


class Sizes:
    """The parameters all generators share, checked."""

    def __init__(self, n: int, d: int, balance: float, spread: float, seed: Any, least: int = 2) -> None:
        self.n = check_count("n", n, least=least) or least
        self.d = check_count("d", d) or 1
        self.spread = check_size("spread", spread)
        share = check_number("balance", balance, above=0, below=1)
        self.positive = min(max(round(share * self.n), 1), self.n - 1)
        self.rng = random_generator("random_state", seed)

    @property
    def signs(self) -> np.ndarray:
        """+1 for the first rows, −1 for the others."""
        return np.where(np.arange(self.n) < self.positive, 1, -1)

    def along_axis(self, margin: float) -> np.ndarray:
        """Rows about a plane through the origin across an axis, where any double is exact."""
        X = self.rng.normal(scale=self.spread, size=(self.n, self.d))
        X[:, 0] = self.signs * (margin + np.abs(X[:, 0]))
        _place_edge(X[: self.positive], margin)
        _place_edge(X[self.positive :], -margin)
        return np.asarray(X[:, self.rng.permutation(self.d)])

    def shuffled(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X and its labels in a random order of rows."""
        order = self.rng.permutation(self.n)
        return X[order], self.signs[order]


class Grid:
    """Rows of whole numbers, the first coordinate along the normal; turned by a mirror at the end.

    The mirror I − 2uuᵀ/u·u takes the first axis to v. It keeps lengths and angles, and takes multiples
    of ``whole`` to whole numbers.
    """

    def __init__(self, made: Sizes, edge: int, unit: float) -> None:
        self.made, self.edge, self.unit = made, edge, unit
        self.u = np.zeros(made.d, dtype=np.int64)
        mirror = MIRRORS.get(made.d, (1, -1, -1, -1))
        self.u[: len(mirror)] = mirror
        self.square = max(1, int(self.u @ self.u))
        self.whole = {4: 2}.get(self.square, self.square)

    def scatter(self, shape: tuple[int, ...]) -> np.ndarray:
        """Multiples of ``whole``, normally distributed as the spread says."""
        z = np.clip(self.made.rng.normal(size=shape), -6.0, 6.0)
        return self.whole * np.rint(z * (self.made.spread / (self.whole * self.unit))).astype(np.int64)

    def between_edges(self) -> np.ndarray:
        """Return rows beyond their edges, at ±edge from the plane, but for those that decide on them."""
        made, touching = self.made, self.edge == 0
        Y = self.scatter((made.n, made.d))
        Y[:, 0] = made.signs * (self.edge + self.whole + np.abs(Y[:, 0]))
        plus, minus = Y[: made.positive], Y[made.positive :]
        _place_edge(plus, self.edge, pair_from=2 if touching else 4)
        _place_edge(minus, -self.edge, pair_from=made.n if touching else 4)
        return Y

    def crossing(self, distance: float) -> np.ndarray:
        """Two clouds, and in each a simplex: they cross in the origin and span complementary axes."""
        made = self.made
        Y = self.scatter((made.n, made.d))
        apart = distance * made.spread / (2 * self.whole * self.unit)
        Y[:, 0] += made.signs * self.whole * round(apart)
        corners = min(max((made.d + 2) // 2, made.d + 2 - (made.n - made.positive)), made.positive)
        corners = min(max(corners, 1), made.d + 1)
        axes = np.arange(made.d)
        self._simplex(Y[:corners], axes[: corners - 1])
        self._simplex(Y[made.positive :][: made.d + 2 - corners], axes[corners - 1 :])
        return Y

    def _simplex(self, corners: np.ndarray, axes: np.ndarray) -> None:
        """Write the corners rᵢeᵢ and −Σrᵢeᵢ, whose sum is zero."""
        corners[:] = 0
        reach = self.whole + np.abs(self.scatter((len(axes),)))
        corners[np.arange(len(axes)), axes] = reach
        corners[len(axes), axes] = -reach

    def turned(self, Y: np.ndarray, *, shifted: bool, tilted: bool) -> np.ndarray:
        """Return the rows as doubles: tilted by the mirror, moved, with columns and signs exchanged."""
        rng, d = self.made.rng, self.made.d
        if shifted:
            Y = Y + self.scatter((d,))
        if tilted:
            Y = Y - np.outer(2 * (Y @ self.u) // self.square, self.u)
        flips = rng.choice(np.array([-1, 1]), d)
        return np.asarray((Y * flips)[:, rng.permutation(d)] * self.unit)


def _place_edge(Y: np.ndarray, edge: float, *, pair_from: int = 4) -> None:
    """Put the first row at (edge, 0, …), or the first two around it if there are enough rows."""
    if len(Y) < pair_from:
        Y[0, 1:] = 0
    else:
        Y[1] = -Y[0]
    Y[: 1 + (len(Y) >= pair_from), 0] = edge


def check_size(name: str, value: Any) -> float:
    """A length that leaves room for sums and products."""
    return check_number(name, value, above=0, least=1 / MAX_SIZE, below=MAX_SIZE)


def grid_below(spread: float) -> int:
    """The exponent of the grid for data of this spread: its unit is 2 to this."""
    return math.frexp(spread)[1] - GRID_DIGITS


def last_digit(x: float) -> int:
    """The largest k such that x is a whole multiple of 2^k."""
    numerator, denominator = x.as_integer_ratio()
    return (numerator & -numerator).bit_length() - denominator.bit_length()


def make_separable(
    n: int,
    d: int,
    margin: float,
    *,
    balance: float = 0.5,
    spread: float = 1.0,
    fit_intercept: bool = True,
    random_state: Any = 0,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Make two classes whose largest margin is known exactly.

    Parameters
    ----------
    n, d : int
        Points (at least 2) and features.
    margin : float > 0
        The largest margin the data is to have: half the width of the slab between the classes.
    balance : float in (0, 1), default 0.5
        Share of the class +1; each class has at least one point.
    spread : float > 0, default 1
        How far the points scatter beyond the edges and along them.
    fit_intercept : bool, default True
        If False, the plane goes through the origin and ``margin`` is the largest margin of planes
        through the origin too.
    random_state : int, RandomState or None, default 0
        Seeds the points.

    Returns
    -------
    X : array of shape (n, d)
    y : array of shape (n,)
        Labels −1 and +1.
    margin : float
        The largest margin: exactly this double.

    Notes
    -----
    *Why it is the largest.* Let v be a unit vector, c a point, p = c + margin·v and q = c − margin·v.
    Each class has one point at p (or q), or two whose midpoint that is; all others are at least
    ``margin`` from the plane through c with normal v, on their own sides. So this plane attains
    ``margin``. No other has more: where all points of a class are at least m from a plane, so is any
    mean of them; p and q would be at least m from it on different sides, hence
    2m ≤ ‖p − q‖ = 2·margin. (With ``fit_intercept=False``, c = 0: a plane through the origin is no
    further from p than ‖p‖ = margin.) Both steps hold exactly for the numbers in X, since all of them
    are whole multiples of one power of two, and sums of them are not rounded.

    In four or more features, v has four entries ±1/2. In fewer, only the axes are directions of binary
    fractions, so that v is an axis, unless the margin divides by 5 (two features: v = (3, 4)/5) or by 3
    (three: v = (1, 2, 2)/3). A margin of many binary digits, such as 0.1, which leaves no room for
    sums, is put along an axis with c = 0.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin import datasets
    >>> X, y, margin = datasets.make_separable(100, 2, 1.25)
    >>> mm.HardMarginSVC().prove(X, y).squared_margin == margin**2
    True
    """
    made = Sizes(n, d, balance, spread, random_state)
    gap = check_size("margin", margin)
    through = not check_bool("fit_intercept", fit_intercept)
    unit = 2.0 ** min(last_digit(gap) - 1, grid_below(made.spread))
    if 8 * max(gap, 16 * made.spread) / unit < MAX_COORDINATE:
        rows = Grid(made, round(gap / unit), unit)
        tilted = round(gap / unit) % rows.whole == 0
        X = rows.turned(rows.between_edges(), shifted=not through, tilted=tilted)
    else:
        X = made.along_axis(gap)
    return *made.shuffled(X), gap


def make_touching(
    n: int, d: int, *, balance: float = 0.5, spread: float = 1.0, random_state: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Make two classes that touch: a plane has no point on its wrong side, but none separates strictly.

    A point of class −1 is the midpoint of two points of class +1 (or the same as one, if there is only
    one feature or one point of that class) on a plane; all others are strictly on their own sides of it.
    Any plane with no point on its wrong side therefore contains these points.

    Parameters
    ----------
    n, d : int
        Points (at least 4) and features.
    balance, spread, random_state
        As for :func:`make_separable`.

    Returns
    -------
    X, y : arrays
        Points, and labels −1 and +1.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin import datasets
    >>> mm.separability(*datasets.make_touching(50, 3)).kind
    'touching'
    """
    made = Sizes(n, d, balance, spread, random_state, least=4)
    rows = Grid(made, 0, 2.0 ** grid_below(made.spread))
    X = rows.turned(rows.between_edges(), shifted=True, tilted=True)
    return made.shuffled(X)


def make_overlapping(
    n: int,
    d: int,
    *,
    distance: float = 1.0,
    balance: float = 0.5,
    spread: float = 1.0,
    random_state: Any = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Make two clouds that no plane separates, not even with points on it.

    d + 2 of the points form a simplex of each class; the two cross in one point, the weighted mean of
    each, and together they span the space. A plane with no point on its wrong side would contain the
    common point, hence both simplices, hence everything (Radon's partition).

    Parameters
    ----------
    n, d : int
        Points (at least d + 2) and features.
    distance : float ≥ 0, default 1
        Between the centres of the two clouds, in units of ``spread``: the larger, the fewer overlap.
    balance, spread, random_state
        As for :func:`make_separable`.

    Returns
    -------
    X, y : arrays
        Points, and labels −1 and +1.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin import datasets
    >>> mm.separability(*datasets.make_overlapping(50, 3, distance=6.0)).kind
    'overlapping'
    """
    count = check_count("d", d) or 1
    made = Sizes(n, d, balance, spread, random_state, least=count + 2)
    far = check_number("distance", distance, least=0, below=1024)
    rows = Grid(made, 0, 2.0 ** grid_below(made.spread))
    X = rows.turned(rows.crossing(far), shifted=True, tilted=True)
    return made.shuffled(X)
