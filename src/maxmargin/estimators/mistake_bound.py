"""How many mistakes the perceptron can make at most: R²/γ² (Novikoff 1962).

Proof in two lines. From z = 0, each mistake on a_i adds η a_i with a_i·z ≤ 0. After M mistakes
z·z* ≥ ηMγ for the unit vector z* that attains γ, and ‖z‖² ≤ η²MR². So ηMγ ≤ ‖z‖ ≤ ηR√M, i.e.
M ≤ R²/γ².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.core.parameters import NEVER, Deadline, check_number
from maxmargin.estimators.hard_margin import exact_optimum
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.question import Question
from maxmargin.estimators.separability import judge
from maxmargin.estimators.validation import check_two_classes, read_Xy
from maxmargin.kernels.perceptron import inverse_lengths
from maxmargin.rows import CsrRows, PartedRows, Rows, as_rows, with_column
from maxmargin.rows.training_data import Machine, encode, find_classes
from maxmargin.solvers.exact.hard_margin import within_reach
from maxmargin.solvers.perceptron.nearest_point import nearest_point
from maxmargin.solvers.problem import Examples

MIN_GAMMA_SHARE = 0.999  # of the upper bound that γ has to reach; else exact arithmetic is asked


@dataclass(frozen=True)
class MistakeBound:
    """R, γ and the bound R²/γ² on the perceptron's mistakes.

    Attributes
    ----------
    R : float
        Length of the longest row, padded with 1 if the bias is learned: max‖a_i‖.
    gamma : float
        γ = max over ‖z‖ = 1 of min_i a_i·z on the padded rows, rounded down; 0 if there is no separating
        plane, or none was found.
    bound : float
        R²/γ²: mistakes from a zero start with threshold 0, in any order; inf if γ = 0.
    gamma_upper : float
        An upper bound on γ (the length of a convex combination of the a_i).
    kind : str
        "separable"; "touching" or "overlapping" if it is proven that no plane separates, so that no
        bound exists; "undecided" if neither was found.

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
    kind: str = "separable"

    def __str__(self) -> str:
        if self.kind == "undecided":
            return "No separating plane was found, nor a proof that there is none: no bound is known."
        if self.kind != "separable":
            return f"No plane separates the classes ({self.kind}): the number of mistakes has no bound."
        if self.gamma == 0:
            return "The classes are separable (proven), but γ is too small for doubles to tell R²/γ²."
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
    max_seconds: float | None = None,
    verbose: int = 0,
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
    max_seconds : float, optional
        Budget of time. If it ends first, the bound is that of the best plane found.
    verbose : int, default 0
        1 shows how it is going after half a second.

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
    check_two_classes(classes, "mistake_bound")
    pad = 1.0 if fit_intercept else 0.0
    inverse = np.empty(rows.n)
    for where, block in rows.blocks():
        inverse_lengths(block.arrays, pad, inverse[where])
    scale = inverse if normalize else np.empty(0)
    longest = 1.0 if normalize else float(np.max(1.0 / inverse)) * (1 + 4e-16 * (rows.d + 8))
    if gamma is not None:
        lower = check_number("gamma", gamma, above=0)
        return MistakeBound(longest, lower, (longest / lower) ** 2, lower)
    with time_limit("mistake_bound", max_seconds, verbose) as deadline:
        machine = Machine("+1", 1, 0, np.arange(rows.n), np.ones(2))
        codes = encode(y, classes)
        point = nearest_point(Examples(rows, codes, pad, scale), machine, deadline)
        rounding = 4e-16 * (rows.d + 8) * longest  # of a_i·z and of ‖a_i‖
        lower, upper = max(0.0, point.lower - rounding), point.upper + rounding
        kind = "separable" if lower > 0 else "undecided"
        if lower < MIN_GAMMA_SHARE * upper and not isinstance(rows, PartedRows):
            padded, signs = with_column(rows, pad) if pad else rows, machine.signs(codes)
            kind, least, most = _exactly(_scaled(padded, scale), signs, deadline)
            if normalize:  # the rows that were asked about are rounded
                least, most = max(0.0, least - rounding), most + rounding
            if normalize and kind == "separable" and not max(lower, least) > 0:
                _, least, _ = _exactly(padded, signs, deadline)
                least /= float(np.max(1.0 / inverse)) * (1 + 1e-12)  # no row is shortened by more
            lower, upper = max(lower, least), min(upper, most)
            kind = "separable" if lower > 0 else kind
    return MistakeBound(longest, lower, _square(longest, lower), upper, kind)


def _square(longest: float, lower: float) -> float:
    """R²/γ², or inf where that is beyond the range of doubles."""
    with np.errstate(all="ignore"):
        return float(np.square(np.divide(longest, lower)))


def _scaled(rows: Rows, scale: np.ndarray) -> Rows:
    """The rows times these factors, if there are any."""
    if not len(scale):
        return rows
    if isinstance(rows, CsrRows):
        return CsrRows.from_matrix(sparse.csr_array(sparse.diags_array(scale) @ rows.matrix))
    return as_rows(scale[:, None] * rows.take(np.arange(rows.n)))


def _exactly(rows: Rows, y: np.ndarray, deadline: Deadline) -> tuple[str, float, float]:
    """The verdict on planes through the origin of the padded space, and bounds on γ."""
    names = tuple(f"x{j}" for j in range(rows.d))
    question = Question(rows, y, None, 1, -1, [-1], names, fit_intercept=False, deadline=deadline)
    if within_reach(replace(question, deadline=NEVER).exact_rows()):
        verdict, best = exact_optimum(question)
        if best is not None:
            return verdict.kind, best.margin * (1 - 4e-16), best.margin * (1 + 4e-16)
    else:
        verdict, _ = judge(question, 1.0 - MIN_GAMMA_SHARE)
    return verdict.kind, *(verdict.margin or (0.0, math.inf))
