"""Made data whose largest margin, or whose verdict, is known before any solver has run."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.params import check_bool, check_count, check_number
from maxmargin.datasets.grid import LONG, Grid, Sizes, check_size, grid_below, last_digit

__all__ = ["make_overlapping", "make_separable", "make_touching"]


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
    if 8 * max(gap, 16 * made.spread) / unit < LONG:
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
