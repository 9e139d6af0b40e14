"""``certify``: how far a linear model, trained anywhere, is from the optimum of the textbook problem.

What an audit asks about a binary problem, answered from rows in memory or in a file.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.certificates.certificate import Certificate, Certificates
from maxmargin.certificates.measure import Point, certificate
from maxmargin.cluster.collections import is_remote
from maxmargin.core.errors import InputError, NotSeparableError, Remedy
from maxmargin.core.labels import class_weights, encode, find_classes
from maxmargin.core.parameters import check_number
from maxmargin.estimators.base import loss_of, scaling_of
from maxmargin.estimators.separability import Question, second_opinion
from maxmargin.estimators.validation import read_Xy, remote
from maxmargin.rows import CsrRows, PartedRows, Rows, as_rows
from maxmargin.rows.sparse import check_structure
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.tasks import Budget, Solved, Task

Plane = tuple[np.ndarray, float]
# The positive class, the negative one (None: all others), and all labels of the negative side.
Sides = tuple[Hashable, Hashable, list[Hashable]]


class Bench(Protocol):
    """One binary problem."""

    n: int

    def optimum(self) -> Plane:
        """The best plane there is; its multipliers are kept."""

    def mistakes(self, planes: Sequence[Plane]) -> list[tuple[int, float]]:
        """For each plane the number of rows with y f(x) ≤ 0, and the least y f(x)."""

    def certificate(self, w: np.ndarray, b: float, edge: float, problem: str) -> Certificate:
        """Judge a plane by the multipliers of the optimum; its margin is to be ``edge``."""

    def value(self, w: np.ndarray, b: float) -> float:
        """½‖w‖² + Σ C_i ξ_i."""

    def best_bias(self, w: np.ndarray) -> float:
        """The b that minimises Σ C_i ξ_i for this w."""

    def regularised(self, scaling: float) -> float:
        """The optimum of the problem in which the bias is one more feature, and penalised."""


class Ground(Protocol):
    """Labelled rows, and binary problems on them."""

    d: int
    classes: np.ndarray

    def factors(self, class_weight: Any) -> np.ndarray:
        """One weight per class."""

    def benches(self, bounds: Sequence[np.ndarray], sides: Sequence[Sides]) -> Iterator[Bench]:
        """A problem for each of the sides, with the bounds C by label code."""


class LocalGround:
    """Rows in memory, or in a file."""

    def __init__(self, X: Any, y: Any, tol: float, free: bool) -> None:
        self._rows, y = read_Xy(BaseEstimator(), X, y)
        self.d, self.classes = self._rows.d, find_classes(y)
        self._codes, self._tol, self._free = encode(y, self.classes), tol, free

    def factors(self, class_weight: Any) -> np.ndarray:
        """One weight per class."""
        return class_weights(class_weight, self.classes, self._codes)

    def benches(self, bounds: Sequence[np.ndarray], sides: Sequence[Sides]) -> Iterator[Bench]:
        """A problem for each of the sides, with the bounds C by label code."""
        labels = self.classes.tolist()
        for C, side in zip(bounds, sides, strict=True):
            y = np.where(self._codes == labels.index(side[0]), 1.0, -1.0)
            yield _LocalBench(self._rows, y, C[self._codes], side, self._tol, self._free)


class _LocalBench:
    def __init__(
        self, rows: Rows, y: np.ndarray, C: np.ndarray, sides: Sides, tol: float, free: bool
    ) -> None:
        self.n = rows.n
        self._rows, self._y, self._C, self._sides = rows, y, C, sides
        self._tol, self._free, self._hard = tol, free, math.isinf(C[0])

    def optimum(self) -> Plane:
        self._best = self._solved(self._rows, 1.0 if self._free else 0.0)
        return self._best.w, self._best.b

    def _solved(self, rows: Rows, pad: float) -> Solved:
        bounds = None if self._hard else self._C
        (best,) = solve_margins(rows, [Task(self._y, bounds)], pad, self._tol, Budget())
        if not best.meets:
            return best
        names = tuple(f"x{j}" for j in range(rows.d))
        question = Question(rows, self._y, None, *self._sides, names, self._free)
        verdict, other = second_opinion(question, best)
        if other is not None:
            return other
        raise no_solution(verdict)

    def _margins(self, w: np.ndarray, b: float) -> np.ndarray:
        return np.asarray(self._y * (self._rows.times(w[:, None])[:, 0] + b))

    def mistakes(self, planes: Sequence[Plane]) -> list[tuple[int, float]]:
        margins = (self._margins(*plane) for plane in planes)
        return [(int(np.count_nonzero(m <= 0)), float(m.min())) for m in margins]

    def certificate(self, w: np.ndarray, b: float, edge: float, problem: str) -> Certificate:
        point = Point(w, b, self._y, self._best.alpha, self._C, self._free, edge)
        return certificate(self._rows, point, problem, self._best.passes + 1).proof

    def value(self, w: np.ndarray, b: float) -> float:
        slack = np.maximum(1.0 - self._margins(w, b), 0.0)
        return 0.5 * float(w @ w) + float(self._C @ slack)

    def best_bias(self, w: np.ndarray) -> float:
        turns = self._y - self._rows.times(w[:, None])[:, 0]
        return first_to_reach(turns, self._C, float(self._C[self._y > 0].sum()))

    def regularised(self, scaling: float) -> float:
        wide = with_column(self._rows, scaling)
        best = self._solved(wide, 0.0)
        v = wide.combine((best.alpha * self._y)[None])[0]
        return float(best.alpha.sum()) - 0.5 * float(v @ v)


def no_solution(verdict: Any) -> NotSeparableError:
    """The error of a hard margin that does not exist."""
    return NotSeparableError(
        f"the hard margin has no solution: {verdict.witness}.",
        {None: verdict},
        Remedy("audit a soft margin", "C", ...),
    )


def first_to_reach(turns: np.ndarray, C: np.ndarray, target: float, below: float = 0.0) -> float:
    """The least point up to which the C_i of all points, and ``below``, add up to ``target``.

    With points y_i − w·x_i, and for target the sum of C_i over the positive class, this is the best b:
    the slope of Σ C_i ξ_i in b is −target + (the sum of C_i over the points up to b).
    """
    order = np.argsort(turns)
    sums = below + np.cumsum(C[order])
    k = int(np.searchsorted(sums, target * (1 - 1e-12)))
    return float(turns[order[min(k, len(order) - 1)]])


def with_column(rows: Rows, value: float) -> Rows:
    """The rows with one more feature, the same for all."""
    if isinstance(rows, PartedRows):
        return rows.mapped(lambda block: with_column(block, value), more=1)
    column = np.full((rows.n, 1), value)
    if isinstance(rows, CsrRows):
        return as_rows(sparse.hstack([rows.matrix, sparse.csr_array(column)], format="csr"))
    return as_rows(np.hstack([rows.take(np.arange(rows.n)), column]))


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
        C = check_number("C", C, above=0, remedy=Remedy("give inf for the hard margin"))
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
