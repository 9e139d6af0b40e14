"""The hard-margin machine: the plane with the largest margin."""

from __future__ import annotations

import numpy as np

from maxmargin.estimators.margin import MarginClassifier
from maxmargin.solvers.problem import Machine

__all__ = ["HardMarginSVC"]


class HardMarginSVC(MarginClassifier):
    """The plane with the largest margin: minimise ½‖w‖² subject to y_i (w·x_i + b) ≥ 1.

    Either the unique optimum, with its certificate, or :class:`maxmargin.NotSeparableError` with rows
    of both classes whose weighted means are the same point.

    Parameters
    ----------
    fit_intercept : bool, default True
        Learn b; otherwise the plane goes through the origin.
    multi_class : "ovr" or "ovo", default "ovr"
        One machine per class against the rest, or one per pair of classes. All must be separable.
    tol : float in (0, 1), default 1e-9
        Relative gap between ½‖w‖² and the dual value at which to stop: the margin is within half of it.
    max_passes : int, optional
        Budget of passes over the data. If it ends first, the best plane so far is returned, with its
        honest certificate and a warning.
    max_seconds : float, optional
        Budget of time, likewise.
    verbose : int, default 0
        If not 0, fits of more than half a second show how they are going.

    Attributes
    ----------
    coef_, intercept_, classes_
        As in scikit-learn; the rows nearest to the plane have y f(x) = 1.
    margin_, slab_width_ : float
        1/‖w‖ and 2/‖w‖; arrays with one entry per machine for more than two classes.
    support_ : array of int
        Training rows with α_i > 0: they lie on the edges of the slab.
    dual_ : array of shape (n,)
        α_i per training row; (machines, n) for more than two classes.
    certificate_ : Certificate
        Primal, dual, gap and KKT residuals, measured on the original data.
    n_passes_ : int
        Passes over the data.
    machines_ : dict
        All of these for every binary machine.

    Notes
    -----
    A constraint holds or does not: class weights would change nothing, and of sample weights only
    whether they are zero matters.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.HardMarginSVC().fit([[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1])
    >>> round(model.margin_, 9), model.support_.tolist()
    (1.0, [1, 2])
    >>> model.certificate_.relative_gap < 1e-12
    True
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        multi_class: str = "ovr",
        tol: float = 1e-9,
        max_passes: int | None = None,
        max_seconds: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.tol = tol
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.verbose = verbose

    def _bounds(self, machine: Machine, codes: np.ndarray, weight: np.ndarray) -> None:
        return None

    def _problem(self) -> str:
        through = "" if self.fit_intercept else " through the origin"
        return f"hard margin{through}"
