"""``certify``: how far a linear model, trained anywhere, is from the optimum of the textbook problem."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.several import Certificates
from maxmargin.cluster.collections import is_remote
from maxmargin.core.errors import InputError
from maxmargin.core.params import check_number
from maxmargin.estimators.auditing import Bench, Ground, LocalGround, Sides
from maxmargin.estimators.door import remote
from maxmargin.estimators.training import loss_of, scaling_of
from maxmargin.rows.structure import check_structure

__all__ = ["certify"]

EXACT = 1e-6  # a relative gap up to this is called the optimum
ANOTHER = 0.1  # a model is called the optimum of another problem if this much nearer to that one


def certify(
    model: Any, X: Any, y: Any = None, C: float | None = None, *, tol: float = 1e-9
) -> Certificate | dict[Hashable, Certificate]:
    """Audit a linear model: its distance from the optimum of the textbook problem, and why.

    Parameters
    ----------
    model : object with ``coef_`` and ``intercept_``, or a tuple (w, b)
        The plane w·x + b = 0, positive on the larger of the two sorted classes, as in scikit-learn; for
        more than two classes one row of ``coef_`` per class.
    X, y : array-like
        The training data; also rows of a file, or Dask collections, whose partitions stay where they
        are.
    C : float > 0 or inf, optional
        The price of slack of the soft-margin problem, or inf for the hard margin. None takes
        ``model.C``, or the hard margin if the model has no C.
    tol : float, default 1e-9
        Relative gap to which the optimum itself is found.

    Returns
    -------
    Certificate
        With the model's primal value, the dual value of the optimum, and ``findings`` in words. For
        more than two classes a dict from class to certificate, which prints as a summary.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    >>> print(mm.certify(([0.5], -0.9), X, y, C=math.inf).findings[0])
    The margin is 0.8, 20 % less than the largest, 1.
    """
    if C is None:
        C = getattr(model, "C", None)
        C = math.inf if C is None else C
    if math.inf != C:
        C = check_number("C", C, above=0, remedy="inf means the hard margin.")
    check_number("tol", tol, above=0, below=1)
    free = bool(getattr(model, "fit_intercept", True))
    if is_remote(X):
        return audit(cast(Ground, remote("audit").ground_of(X, y, tol, free)), model, C, free)
    return audit(LocalGround(X, y, tol, free), model, C, free)


def audit(ground: Ground, model: Any, C: float, free: bool) -> Certificate | dict[Hashable, Certificate]:
    """Audit a model on labelled rows, wherever they are."""
    classes = ground.classes
    W, B = _planes(model, ground.d, len(classes))
    factors = ground.factors(getattr(model, "class_weight", None))
    loss, scaling = loss_of(model), scaling_of(model)
    labels = classes.tolist() if len(W) > 1 else [None]
    bounds = [_bounds(C, factors, None if label is None else k) for k, label in enumerate(labels)]
    sides = [_sides(classes.tolist(), label) for label in labels]
    results = Certificates()
    for k, bench in enumerate(ground.benches(bounds, sides)):
        results[labels[k]] = _Audit(bench, C, free, scaling, loss).judge(W[k], float(B[k]))
    return results[None] if len(W) == 1 else results


def _bounds(C: float, factors: np.ndarray, positive: int | None) -> np.ndarray:
    """C_i by label code; in one-vs-rest the rest has weight 1."""
    mine = np.arange(len(factors)) == positive
    return C * (factors if positive is None else np.where(mine, factors, 1.0))


def _sides(labels: list[Hashable], label: Hashable) -> Sides:
    """The positive class, the negative one (None: all others), and all labels of the negative side."""
    if label is None:
        return labels[1], labels[0], labels[:1]
    return label, None, [other for other in labels if other != label]


def _planes(model: Any, d: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(model, tuple) and len(model) == 2:
        W, B = model
    elif hasattr(model, "coef_") and hasattr(model, "intercept_"):
        W, B = model.coef_, model.intercept_
    else:
        raise InputError(
            "model must be a tuple (w, b) or a fitted linear model with coef_ and intercept_. "
            f"Got {type(model).__name__} instead. Of a pipeline pass the last step, with X transformed."
        )
    check_structure(W, "coef_")
    try:
        W = W.toarray() if sparse.issparse(W) else W
        W = np.atleast_2d(np.asarray(W, dtype=np.float64))
        B = np.asarray(B, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise InputError(f"w and b must hold numbers. Got {W!r} and {B!r} instead.") from None
    wanted = 1 if classes == 2 else classes
    pairs = getattr(model, "multi_class", "") == "ovo" or hasattr(model, "dual_coef_")
    if W.shape != (wanted, d) or (pairs and classes > 2):
        raise InputError(
            f"coef_ must have shape {(wanted, d)} for these data: one row for two classes, else one per "
            f"class. Got {W.shape} instead. Audit the machines of one-vs-one pair by pair."
        )
    if B.shape not in ((1,), (wanted,)):
        raise InputError(f"intercept_ must hold {wanted} numbers, or one. Got {len(B)} instead.")
    B = np.broadcast_to(B, (wanted,))
    if not (np.all(np.isfinite(W)) and np.all(np.isfinite(B))):
        raise InputError("coef_ and intercept_ must hold finite numbers. Got nan or infinity instead.")
    return W, B


class _Audit:
    """One plane against one binary problem."""

    def __init__(self, bench: Bench, C: float, free: bool, scaling: float | None, loss: str) -> None:
        self.bench, self.C, self.loss = bench, C, loss
        self.free, self.penalised = free, scaling is not None
        self.scaling = 1.0 if scaling is None else float(scaling)
        self.hard = math.isinf(C)

    def judge(self, w: np.ndarray, b: float) -> Certificate:
        """Return the certificate of the plane, with findings."""
        best_w, best_b = self.bench.optimum()
        (wrong, least), (best_wrong, _) = self.bench.mistakes([(w, b), (best_w, best_b)])
        edge = least if self.hard and not wrong else 1.0
        through = "" if self.free else " through the origin"
        kind = "hard margin" if self.hard else f"soft margin, C = {self.C:g}"
        proof = self.bench.certificate(w, b, edge, f"{kind}{through}, audited")
        said = self._hard_findings(proof, wrong) if self.hard else self._soft_findings(proof, w, b)
        if self.loss != "hinge":
            other = f"The model minimises another loss, {self.loss}: the textbook's is the hinge."
            said.insert(1, other)
        if wrong != best_wrong:
            said.append(f"It makes {wrong} training errors; the optimum makes {best_wrong}.")
        return replace(proof, findings=tuple(said))

    def _hard_findings(self, proof: Certificate, wrong: int) -> list[str]:
        assert proof.margin is not None
        attained, largest = proof.margin
        if wrong:
            return [
                f"It does not separate the classes: {wrong} of {self.bench.n} rows are on the wrong "
                f"side or on the plane. The largest margin is {largest:.6g}."
            ]
        short = 1.0 - attained / largest
        if short <= EXACT:
            return [f"This is the plane with the largest margin, {attained:.6g}, to {short:.0e}."]
        return [
            f"The margin is {attained:.6g}, {100 * short:.3g} % less than the largest, {largest:.6g}."
        ]

    def _soft_findings(self, proof: Certificate, w: np.ndarray, b: float) -> list[str]:
        far = proof.relative_gap
        if far <= EXACT:
            return [f"This is the optimum of the textbook problem, to {far:.0e}."]
        above = proof.gap / proof.dual if proof.dual > 0 else math.inf
        said = [f"The objective is {100 * above:.3g} % above the optimum of the textbook problem."]
        if not self.free:
            return said
        better_b = self.bench.best_bias(w)
        gain = proof.primal - self.bench.value(w, better_b)
        if gain > 0.01 * proof.gap:
            said.append(
                f"With the same w, b = {better_b:.6g} instead of {b:.6g} would take away "
                f"{100 * gain / proof.gap:.3g} % of that."
            )
        padded = self.bench.regularised(self.scaling)
        penalty = 0.5 * (b / self.scaling) ** 2
        other = (proof.primal + penalty - padded) / (proof.primal + penalty)
        remedy = "Centre the features, or leave b free."
        if other < ANOTHER * far:
            said.append(
                f"It is within {100 * max(other, 0.0):.2g} % of the optimum of another problem, with "
                f"½b² added: its solver regularised the bias. {remedy}"
            )
        elif self.penalised and self.loss == "hinge":
            matters = gain > 0.01 * proof.gap
            said.append(
                "Its solver regularised the bias (intercept_scaling), and stopped "
                f"{100 * other / (1.0 - other):.2g} % above the optimum even of that problem. "
                f"{remedy if matters else 'Lower its tolerance, or allow more iterations.'}"
            )
        elif self.penalised:
            said.append(f"Its solver regularised the bias (intercept_scaling). {remedy}")
        return said
