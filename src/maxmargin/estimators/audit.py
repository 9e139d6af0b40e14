"""``certify``: how far a linear model, trained anywhere, is from the optimum of the textbook problem."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import Point, certificate
from maxmargin.core.errors import InputError, NotSeparableError
from maxmargin.core.labels import class_weights, encode, find_classes
from maxmargin.core.params import check_number
from maxmargin.estimators.door import read_Xy
from maxmargin.estimators.exactly import second_opinion
from maxmargin.estimators.question import Question
from maxmargin.rows import CsrRows, PartedRows, Rows, as_rows
from maxmargin.solvers.margin import Task, solve_margins
from maxmargin.solvers.passes import Budget

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
        The training data.
    C : float > 0 or inf, optional
        The price of slack of the soft-margin problem, or inf for the hard margin. None takes
        ``model.C``, or the hard margin if the model has no C.
    tol : float, default 1e-9
        Relative gap to which the optimum itself is found.

    Returns
    -------
    Certificate
        With the model's primal value, the dual value of the optimum, and ``findings`` in words. For
        more than two classes a dict from class to certificate.

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
    rows, y = read_Xy(BaseEstimator(), X, y)
    classes = find_classes(y)
    codes = encode(y, classes)
    W, B = _planes(model, rows.d, len(classes))
    factors = class_weights(getattr(model, "class_weight", None), classes, codes)
    free = bool(getattr(model, "fit_intercept", True))
    scaling = getattr(model, "intercept_scaling", None) if free else None
    loss = getattr(model, "loss", "hinge")
    results: dict[Hashable, Certificate] = {}
    for k, label in enumerate(classes.tolist() if len(W) > 1 else [None]):
        signs = np.where(codes == (1 if label is None else k), 1.0, -1.0)
        factor = factors[codes]
        if label is not None:
            factor = np.where(codes == k, factor, 1.0)  # in one-vs-rest the rest has weight 1
        audit = _Audit(rows, signs, C, factor, tol, free, scaling)
        audit.sides = _sides(classes.tolist(), label)
        found = audit.judge(W[k], float(B[k]))
        if loss != "hinge" and isinstance(loss, str):
            other = f"The model minimises another loss, {loss}: the textbook's is the hinge."
            found = replace(found, findings=(*found.findings, other))
        results[label] = found
    return results[None] if len(W) == 1 else results


def _sides(labels: list[Hashable], label: Hashable) -> tuple[Hashable, Hashable, list[Hashable]]:
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

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        C: float,
        factor: np.ndarray,
        tol: float,
        free: bool,
        scaling: float | None,
    ) -> None:
        self.rows, self.y, self.C, self.tol = rows, y, C, tol
        self.free, self.penalised = free, scaling is not None
        self.scaling = 1.0 if scaling is None else float(scaling)
        self.hard = math.isinf(C)
        self.bounds = C * factor
        self.sides: tuple[Hashable, Hashable, list[Hashable]] = (1, -1, [-1])

    def judge(self, w: np.ndarray, b: float) -> Certificate:
        """Return the certificate of the plane, with findings."""
        best = self._optimum(self.rows, 1.0 if self.free else 0.0)
        m = self._margins(w, b)
        wrong = int(np.count_nonzero(m <= 0))
        scaled_w, scaled_b = w, b
        if self.hard and not wrong:
            scaled_w, scaled_b = w / m.min(), b / float(m.min())
            m = m / m.min()
        slack = np.zeros(self.rows.n) if self.hard else np.maximum(1.0 - m, 0.0)
        point = Point(scaled_w, scaled_b, self.y, best.alpha, slack, self.bounds, self.free)
        through = "" if self.free else " through the origin"
        kind = "hard margin" if self.hard else f"soft margin, C = {self.C:g}"
        proof = certificate(self.rows, point, f"{kind}{through}, audited", best.passes + 1)
        said = self._hard_findings(proof, wrong) if self.hard else self._soft_findings(proof, m, w, b)
        best_wrong = int(np.count_nonzero(self._margins(best.w, best.b) <= 0))
        if wrong != best_wrong:
            said.append(f"It makes {wrong} training errors; the optimum makes {best_wrong}.")
        return replace(proof, findings=tuple(said))

    def _optimum(self, rows: Rows, pad: float) -> Any:
        bounds = None if self.hard else self.bounds
        (best,) = solve_margins(rows, [Task(self.y, bounds)], pad, self.tol, Budget())
        if not best.meets:
            return best
        names = tuple(f"x{j}" for j in range(rows.d))
        question = Question(rows, self.y, None, *self.sides, names, self.free)
        verdict, other = second_opinion(question, best.passes)
        if other is not None:
            return other
        raise NotSeparableError(
            f"the hard margin has no solution: {verdict.witness}. Pass C to audit a soft margin.",
            {None: verdict},
        )

    def _margins(self, w: np.ndarray, b: float) -> np.ndarray:
        return np.asarray(self.y * (self.rows.times(w[:, None])[:, 0] + b))

    def _hard_findings(self, proof: Certificate, wrong: int) -> list[str]:
        assert proof.margin is not None
        attained, largest = proof.margin
        if wrong:
            return [
                f"It does not separate the classes: {wrong} of {self.rows.n} rows are on the wrong side "
                f"or on the plane. The largest margin is {largest:.6g}."
            ]
        short = 1.0 - attained / largest
        if short <= EXACT:
            return [
                f"This is the plane with the largest margin, {attained:.6g}, to {max(short, 0):.0e}."
            ]
        return [
            f"The margin is {attained:.6g}, {100 * short:.3g} % less than the largest, {largest:.6g}."
        ]

    def _soft_findings(self, proof: Certificate, m: np.ndarray, w: np.ndarray, b: float) -> list[str]:
        far = proof.relative_gap
        if far <= EXACT:
            return [f"This is the optimum of the textbook problem, to {max(far, 0.0):.0e}."]
        above = proof.gap / proof.dual if proof.dual > 0 else math.inf
        said = [f"The objective is {100 * above:.3g} % above the optimum of the textbook problem."]
        if not self.free:
            return said
        better_b = self._best_bias(m, b)
        gain = proof.primal - self._value(w, better_b)
        if gain > 0.01 * proof.gap:
            said.append(
                f"With the same w, b = {better_b:.6g} instead of {b:.6g} would take away "
                f"{100 * gain / proof.gap:.3g} % of that."
            )
        padded = self._regularised()
        penalty = 0.5 * (b / self.scaling) ** 2
        other = (proof.primal + penalty - padded) / (proof.primal + penalty)
        remedy = "Centre the features, or leave b free."
        if other < ANOTHER * far:
            said.append(
                f"It is within {100 * max(other, 0.0):.2g} % of the optimum of another problem, with "
                f"½b² added: its solver regularised the bias. {remedy}"
            )
        elif self.penalised:
            said.append(
                "Its solver regularised the bias (intercept_scaling), and stopped "
                f"{100 * other / (1.0 - other):.2g} % above the optimum even of that problem. {remedy}"
            )
        return said

    def _value(self, w: np.ndarray, b: float) -> float:
        slack = np.maximum(1.0 - self._margins(w, b), 0.0)
        return 0.5 * float(w @ w) + float(self.bounds @ slack)

    def _best_bias(self, m: np.ndarray, b: float) -> float:
        """The b that minimises Σ C_i ξ_i for this w.

        The slope in b is −Σ₊ C_i + (the sum of C_i over the rows with y_i − w·x_i ≤ b): it passes zero
        at one of these points.
        """
        turns = self.y * (1.0 - m) + b
        order = np.argsort(turns)
        below = np.cumsum(self.bounds[order])
        k = int(np.searchsorted(below, float(self.bounds[self.y > 0].sum()) * (1 - 1e-12)))
        return float(turns[order[min(k, len(order) - 1)]])

    def _regularised(self) -> float:
        """The optimum of the problem in which the bias is one more feature, and penalised."""
        wide = _with_column(self.rows, self.scaling)
        best = self._optimum(wide, 0.0)
        v = wide.combine((best.alpha * self.y)[None])[0]
        return float(best.alpha.sum()) - 0.5 * float(v @ v)


def _with_column(rows: Rows, value: float) -> Rows:
    """The rows with one more feature, the same for all."""
    if isinstance(rows, PartedRows):
        return rows.mapped(lambda block: _with_column(block, value), more=1)
    column = np.full((rows.n, 1), value)
    if isinstance(rows, CsrRows):
        return as_rows(sparse.hstack([rows.matrix, sparse.csr_array(column)], format="csr"))
    return as_rows(np.hstack([rows.take(np.arange(rows.n)), column]))
