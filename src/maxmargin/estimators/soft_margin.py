"""The soft-margin machine: slack at a price."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.parameters import check_bool, check_number
from maxmargin.estimators.margin_classifier import MarginClassifier
from maxmargin.estimators.validation import read_training, refuse_partitions


@dataclass(eq=False, repr=False)
class SoftMarginSVC(MarginClassifier):
    """Minimise ½‖w‖² + C Σ ξ_i subject to y_i (w·x_i + b) ≥ 1 − ξ_i and ξ_i ≥ 0, with b free.

    Parameters
    ----------
    C : float > 0, default 1.0
        The price of slack; it multiplies the sum, as in scikit-learn.
    fit_intercept : bool, default True
        Learn b, which is never penalised; otherwise the plane goes through the origin.
    multi_class : "ovr" or "ovo", default "ovr"
        One machine per class against the rest, or one per pair of classes.
    class_weight : None, "balanced" or dict, default None
        Factors on C by class. In one-vs-rest the rest has factor 1.
    tol : float in (0, 1), default 1e-6
        Relative gap between primal and dual value at which to stop; 1e-9 is within reach.
    max_passes : int, optional
        Budget of passes over the data, looked at between the steps of the solver: a first step (up to
        three passes) and the certificate (one or two) are always made. If it ends first, the best plane
        so far is returned, with its honest certificate and a warning.
    max_seconds : float, optional
        Budget of time, likewise.
    solver : "auto", "newton", "mixed" or "descent", default "auto"
        How to get there; the answer is the same to the gap. *newton*: Newton steps on a pool of rows,
        for few features and any number of rows. *descent*: dual coordinate descent on all rows, then an
        active set, for sparse rows with thousands of features, where it needs a few vectors of memory
        and no matrix, and for dense rows with more features than rows. *mixed*: descent first, then
        Newton steps. "auto" chooses by the shape of X and the size of C. If descent stalls, Newton
        steps follow; ``solver_`` tells what was done.
    n_jobs : int, optional
        Machines that run side by side in threads, where there are more than two classes; None means 1,
        −1 all cores. The result does not depend on it.
    warm_start : bool, default False
        Begin at the last solution, if the number of rows and the classes are the same. It saves time and
        changes the result by no more than the gap.
    verbose : int, default 0
        If not 0, fits of more than half a second show how they are going.

    Attributes
    ----------
    coef_, intercept_, classes_
        As in scikit-learn: weights and biases, one row per machine, and the sorted labels; of two
        classes the larger label is +1.
    dual_ : array of shape (n,)
        α_i in [0, C_i] per training row; (machines, n) for more than two classes.
    slack_ : array of shape (n,)
        ξ_i per training row, likewise.
    support_ : array of int
        Training rows with α_i > 0.
    support_vectors_ : array or sparse matrix of shape (support vectors, d)
        The rows ``X[support_]``.
    n_support_ : array of shape (classes,)
        How many of them each class has. Both are looked up when they are first asked for; until then
        the model refers to the training rows, which should not be changed. A model that is copied or
        pickled keeps what has been asked for; one that :func:`maxmargin.load` reads has neither.
    free_support_, bound_support_ : array of int
        Those with α_i < C_i, on the edges of the slab, and those with α_i = C_i, in it or on the
        wrong side.
    margin_, slab_width_ : float
        1/‖w‖ and 2/‖w‖; arrays with one entry per machine for more than two classes.
    certificate_ : Certificate
        Primal, dual, gap and KKT residuals, measured on the original data.
    n_passes_, n_iter_ : int
        Passes over the data; on Dask collections the rounds. Both names say the same.
    bytes_moved_ : int
        On Dask collections: what went to the partitions and came back.
    solver_ : str
        "newton", "descent" or "mixed".
    machines_ : dict, or a mapping like it
        All of these for every binary machine, by its label or pair of labels. Of many small machines
        each is made when it is first asked for.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [1.5]], [-1, -1, 1, 1, -1]
    >>> model = mm.SoftMarginSVC(C=1.0).fit(X, y)
    >>> model.predict([[0.5], [2.5]])
    array([-1,  1])
    >>> model.certificate_.relative_gap < 1e-6
    True
    """

    C: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    multi_class: str = "ovr"
    class_weight: Any = None
    tol: float = 1e-6
    max_passes: int | None = None
    max_seconds: float | None = None
    solver: str = "auto"
    n_jobs: int | None = None
    warm_start: bool = False
    verbose: int = 0

    def _check_params(self) -> None:
        super()._check_params()
        infinite = Remedy("for C → ∞ use {}", "model", "HardMarginSVC")
        check_number("C", self.C, above=0, remedy=infinite)
        check_bool("warm_start", self.warm_start)

    def path(self, X: Any, y: Any, Cs: Any = 10, sample_weight: Any = None) -> list[SoftMarginSVC]:
        """Follow a list of C, each solution starting from the one before it.

        Parameters
        ----------
        X, y : array-like
            Training rows, dense or sparse, and their labels.
        Cs : int or sequence of float > 0, default 10
            The values of C, in any order, or how many, on a logarithmic scale from 1e-4 to 1e4. They
            are solved from the smallest to the largest.
        sample_weight : array-like of shape (n,), optional
            Factors on C by row.

        Returns
        -------
        list of SoftMarginSVC
            A fitted machine for each C, in the order given, each with its own certificate.

        Examples
        --------
        >>> import maxmargin as mm
        >>> X, y = [[0.0], [1.0], [2.0], [3.0], [1.5]], [-1, -1, 1, 1, -1]
        >>> path = mm.SoftMarginSVC().path(X, y, [0.1, 1.0, 10.0])
        >>> [bool(m.certificate_.relative_gap < 1e-6) for m in path]
        [True, True, True]
        """
        values = read_Cs(Cs)
        model = clone(self)
        model._check_params()
        refuse_partitions(X)
        data = read_training(model, X, y, sample_weight, check=False)
        found: dict[float, SoftMarginSVC] = {}
        for C in sorted(set(values)):
            model = _next(model, C)
            model._fit_data(data, X, y)
            model.warm_start = self.warm_start
            found[C] = model
        return [found[C] for C in values]


def _next(model: SoftMarginSVC, C: float) -> SoftMarginSVC:
    """A model that goes on where this one is, with another C."""
    following: SoftMarginSVC = clone(model).set_params(C=C, warm_start=True)
    fitted = {k: v for k, v in vars(model).items() if k not in model.get_params()}
    following.__dict__.update(fitted)
    return following


def read_Cs(Cs: Any) -> list[float]:
    """Check a list of C; a number of them means a logarithmic scale from 1e-4 to 1e4."""
    if isinstance(Cs, (int, np.integer)) and not isinstance(Cs, bool) and Cs >= 1:
        return [float(C) for C in np.logspace(-4, 4, int(Cs))]
    try:
        values = [check_number("each of Cs", C, above=0) for C in Cs]
    except TypeError:
        message = f"Cs must be an integer ≥ 1 or a list of numbers > 0. Got {Cs!r} instead."
        raise InputError(message) from None
    if not values:
        raise InputError("Cs must hold at least one number > 0. Got none instead.")
    return values
