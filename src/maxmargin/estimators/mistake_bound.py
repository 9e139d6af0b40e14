"""How many mistakes the perceptron can make at most: R²/γ² (Novikoff 1962).

Proof in two lines. From z = 0, each mistake on a_i adds η a_i with a_i·z ≤ 0. After M mistakes
z·z* ≥ ηMγ for the unit vector z* that attains γ, and ‖z‖² ≤ η²MR². So ηMγ ≤ ‖z‖ ≤ ηR√M, i.e.
M ≤ R²/γ².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.core.errors import InputError
from maxmargin.core.labels import encode, find_classes
from maxmargin.core.parameters import check_number
from maxmargin.estimators.validation import read_Xy
from maxmargin.kernels.perceptron import inverse_lengths
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.nearest_point import nearest_point
from maxmargin.solvers.problem import Machine


@dataclass(frozen=True)
class MistakeBound:
    """R, γ and the bound R²/γ² on the perceptron's mistakes.

    Attributes
    ----------
    R : float
        Length of the longest row, padded with 1 if the bias is learned: max‖a_i‖.
    gamma : float
        γ = max over ‖z‖ = 1 of min_i a_i·z on the padded rows, rounded down; 0 if no separating plane
        was found.
    bound : float
        R²/γ²: mistakes from a zero start with threshold 0, in any order; inf if γ = 0.
    gamma_upper : float
        An upper bound on γ (the length of a convex combination of the a_i).

    Examples
    --------
    >>> import maxmargin as mm
    >>> bound = mm.mistake_bound([[1, 1], [-1, -1]], [1, -1])
    >>> round(bound.R**2, 6), round(bound.gamma, 6), round(bound.bound, 6)
    (3.0, 1.414214, 1.5)
    """

    R: float
    gamma: float
    bound: float
    gamma_upper: float

    def __str__(self) -> str:
        if self.gamma == 0:
            return "No separating plane was found: the number of mistakes has no bound."
        whole = self.bound < 1e15  # mistakes are counted in whole numbers
        most = f"{math.floor(self.bound):,}" if whole else f"{self.bound:.6g}"
        ratio = f"R²/γ² = {self.bound:.6g}, R = {self.R:.6g}, γ = {self.gamma:.6g}"
        return f"At most {most} {'mistake' if most == '1' else 'mistakes'}: {ratio}."


def mistake_bound(
    X: Any,
    y: Any = None,
    *,
    gamma: float | None = None,
    fit_intercept: bool = True,
    normalize: bool = False,
) -> MistakeBound:
    """Bound the mistakes of ``Perceptron(threshold=0)`` started at zero on two classes.

    Class weights are factors on the steps: with them the bound is larger, by the largest factor over the
    smallest.

    Parameters
    ----------
    X, y : array-like
        Training rows and labels of two classes.
    gamma : float > 0, optional
        The maximum margin of the padded rows, if it is known; otherwise it is computed.
    fit_intercept : bool, default True
        Whether b is learned, by padding every row with a 1.
    normalize : bool, default False
        Whether every (padded) row is scaled to unit length; then R = 1.

    Returns
    -------
    MistakeBound

    Examples
    --------
    >>> import maxmargin as mm
    >>> print(mm.mistake_bound([[1, 1], [-1, -1]], [1, -1]))
    At most 1 mistake: R²/γ² = 1.5, R = 1.73205, γ = 1.41421.
    """
    rows, y = read_Xy(BaseEstimator(), X, y)
    classes = find_classes(y)
    if len(classes) > 2:
        raise InputError(
            f"y must hold two classes. Got {len(classes)} instead. Bound each machine by itself: "
            "mistake_bound(X, y == label)."
        )
    pad = 1.0 if fit_intercept else 0.0
    inverse = np.empty(rows.n)
    for where, block in rows.blocks():
        inverse_lengths(block.arrays, pad, inverse[where])
    scale = inverse if normalize else np.empty(0)
    longest = 1.0 if normalize else float(np.max(1.0 / inverse)) * (1 + 4e-16 * (rows.d + 8))
    if gamma is not None:
        lower = upper = check_number("gamma", gamma, above=0)
    else:
        machine = Machine("+1", 1, 0, np.arange(rows.n), np.ones(2))
        point = nearest_point(Examples(rows, encode(y, classes), pad, scale), machine)
        rounding = 4e-16 * (rows.d + 8) * longest  # of a_i·z and of ‖a_i‖
        lower, upper = max(0.0, point.lower - rounding), point.upper + rounding
    bound = (longest / lower) ** 2 if lower > 0 else math.inf
    return MistakeBound(longest, lower, bound, upper)
