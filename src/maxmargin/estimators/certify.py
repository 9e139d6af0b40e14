"""``certify``: how far a linear model, trained anywhere, is from the optimum of the textbook problem.

The problem is solved, and the model measured beside its optimum: the value of its plane, its mistakes,
the best bias for its w, and the optimum of the problem in which the bias is penalised. All of these are
sums over the rows, in memory, in a file or in partitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.certificates.certificate import Certificate, Certificates, judge
from maxmargin.core.errors import InputError, NotSeparableError, Remedy
from maxmargin.core.parameters import check_number
from maxmargin.estimators.margin_partitions import exactly, summaries
from maxmargin.estimators.validation import read_training
from maxmargin.rows import with_column
from maxmargin.rows.sparse import check_structure
from maxmargin.rows.training_data import Machine, TrainingData, class_weights, machines_of
from maxmargin.solvers.margin.partitions import SolvedOnPartitions, solve_on_partitions
from maxmargin.solvers.margin.questions import BinaryTask, Question, View, ask_all
from maxmargin.solvers.margin.tasks import Budget

Plane = tuple[np.ndarray, float]
BINS = 1_024  # in which points are counted to find the one that is looked for
MAX_POINTS = 10_000  # of them that come here
MAX_ROUNDS = 12  # until points differ by their last digits


class Reference:
    """A binary problem with its optimum, which planes are compared with.

    All that is asked of the rows are sums over partitions, so they may be anywhere.
    """

    def __init__(
        self,
        data: TrainingData,
        machine: Machine,
        task: BinaryTask,
        best: SolvedOnPartitions,
        tol: float,
        free: bool,
    ) -> None:
        self.n = data.n
        self._data, self._machine, self._task, self._best = data, machine, task, best
        self._tol, self.free, self.hard = tol, free, task.C is None

    def optimum(self) -> Plane:
        """The best plane there is; its multipliers are kept."""
        data, found = self._data, self._best
        if found.point.meets:
            labels, names = data.classes.tolist(), tuple(f"x{j}" for j in range(data.rows.d))
            verdict, self._best = exactly(data, self._machine, labels, names, self.free, found)
            if not verdict.separable:
                raise NotSeparableError(
                    f"the hard margin has no solution: {verdict.witness}.",
                    {None: verdict},
                    Remedy("audit a soft margin", "C", ...),
                )
        return self._best.w, self._best.b

    def _ask(self, function: Callable[..., Any], *small: Any) -> list[Any]:
        (answers,) = ask_all(self._data.rows, [(self._best.task, Question(function, small))])
        return [answer for answer in answers if answer is not None]

    @property
    def _unit(self) -> float:
        """How much larger C is in the coordinates of the solver."""
        return float(self._best.task.scaling.scale**2)

    def mistakes(self, planes: Sequence[Plane]) -> list[tuple[int, float]]:
        """For each plane the number of rows with y f(x) ≤ 0, and the least y f(x)."""
        parts = self._ask(_mistakes, list(planes))
        each = zip(*parts, strict=True)
        return [(sum(w for w, _ in one), min(least for _, least in one)) for one in each]

    def certificate(self, w: np.ndarray, b: float, edge: float, problem: str) -> Certificate:
        """Judge a plane by the multipliers of the optimum; its margin is to be ``edge``."""
        (found,) = summaries(self._data.rows, [self._best._replace(w=w, b=b)], edge)
        return judge(found, w, self.hard, self.free, problem, self._data.rows.rounds, edge)

    def value(self, w: np.ndarray, b: float) -> float:
        """½‖w‖² + Σ C_i ξ_i."""
        return 0.5 * float(w @ w) + math.fsum(self._ask(_slack, w, b)) / self._unit

    def best_bias(self, w: np.ndarray) -> float:
        """The b that minimises Σ C_i ξ_i for this w.

        Points are counted in bins, then in bins of the bin that matters, until few are left in one.
        """
        lows, highs, sums = zip(*self._ask(_range, w), strict=True)
        low, high, target, below = math.nextafter(min(lows), -math.inf), max(highs), math.fsum(sums), 0.0
        for _ in range(MAX_ROUNDS):
            edges = np.unique(np.linspace(low, high, BINS + 1))[1:]
            parts = self._ask(_bins, w, low, edges)
            weights, counts = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
            up_to = below + np.cumsum(weights)
            some = np.flatnonzero(counts)
            k = int(np.searchsorted(some, np.searchsorted(up_to, target * (1 - 1e-12))))
            k = int(some[min(k, len(some) - 1)])  # sums of another round may differ by rounding
            below = float(up_to[k - 1]) if k else below
            low, high = float(edges[k - 1]) if k else low, float(edges[k])
            if counts[k] <= MAX_POINTS or len(edges) == 1:
                break
        if counts[k] > MAX_POINTS:
            return float(high)
        turns, C = (np.concatenate(c) for c in zip(*self._ask(_within, w, low, high), strict=True))
        return first_to_reach(turns, C, target, below)

    def regularised(self, scaling: float) -> float:
        """The optimum of the problem in which the bias is one more feature, and penalised."""
        data = self._data
        rows = data.rows.changed(partial(with_column, value=scaling), data.rows.d + 1)
        wide = data.over(rows, np.append(data.reach, abs(scaling)))
        (best,) = _solved(wide, [self._task._replace(pad=0.0)], self._tol)
        (found,) = summaries(rows, [best])
        return judge(found, best.w, self.hard, False, "", 0).dual


def _margins(view: View, w: np.ndarray, b: float) -> np.ndarray:
    return np.asarray(view.frame.y * (view.frame.rows.times(w[:, None])[:, 0] + b))


def _turns(view: View, w: np.ndarray) -> np.ndarray:
    """The b at which the margin of each row is one."""
    return np.asarray(view.frame.y - view.frame.rows.times(w[:, None])[:, 0])


def _mistakes(view: View, planes: Sequence[Plane]) -> list[tuple[int, float]]:
    margins = (_margins(view, *plane) for plane in planes)
    return [(int(np.count_nonzero(m <= 0)), float(m.min())) for m in margins]


def _slack(view: View, w: np.ndarray, b: float) -> float:
    return float(view.C @ np.maximum(1.0 - _margins(view, w, b), 0.0))


def _range(view: View, w: np.ndarray) -> tuple[float, float, float]:
    turns = _turns(view, w)
    return float(turns.min()), float(turns.max()), float(view.C[view.frame.y > 0].sum())


def _bins(view: View, w: np.ndarray, low: float, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of C_i, and the number of points, up to each edge from the one before it."""
    turns = _turns(view, w)
    mine = np.flatnonzero((turns > low) & (turns <= edges[-1]))
    home = np.searchsorted(edges, turns[mine])
    k = len(edges)
    return np.bincount(home, view.C[mine], k), np.bincount(home, minlength=k)


def _within(view: View, w: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    turns = _turns(view, w)
    mine = np.flatnonzero((turns > low) & (turns <= high))
    return turns[mine], view.C[mine]


def first_to_reach(turns: np.ndarray, C: np.ndarray, target: float, below: float = 0.0) -> float:
    """The least point up to which the C_i of all points, and ``below``, add up to ``target``.

    With points y_i − w·x_i, and for target the sum of C_i over the positive class, this is the best b:
    the slope of Σ C_i ξ_i in b is −target + (the sum of C_i over the points up to b).
    """
    order = np.argsort(turns)
    sums = below + np.cumsum(C[order])
    k = int(np.searchsorted(sums, target * (1 - 1e-12)))
    return float(turns[order[min(k, len(order) - 1)]])


OPTIMUM_GAP = 1e-6  # a relative gap up to this is called the optimum
SWAPPED_ERROR_RATIO = 2  # times fewer errors with the other signs: the sides are swapped
OTHER_GAP_RATIO = 0.1  # so much nearer to the optimum of another problem: it was solved instead


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
    return audit(read_training(BaseEstimator(), X, y), model, C, free, tol)


def audit(
    data: TrainingData, model: Any, C: float, free: bool, tol: float
) -> Certificate | dict[Hashable, Certificate]:
    """Audit a model on labelled rows, wherever they are; its machines share their passes."""
    classes = data.classes
    W, B = _planes(model, data.rows.d, len(classes))
    counts, codes = data.counts.sum(axis=0), np.arange(len(classes))
    factors = class_weights(getattr(model, "class_weight", None), classes, codes, counts)
    loss, scaling = loss_of(model), scaling_of(model)
    machines = machines_of(data, "ovr", factors)
    tasks = [
        BinaryTask(m.positive, None, None if math.isinf(C) else C * m.class_weight, float(free))
        for m in machines
    ]
    results = Certificates()
    found = zip(machines, tasks, _solved(data, tasks, tol), W, B, strict=True)
    for machine, task, best, w, b in found:
        reference = Reference(data, machine, task, best, tol, free)
        results[machine.label] = _audited(reference, w, float(b), C, scaling, loss)
    return results if len(machines) > 1 else results[machines[0].label]


def _solved(data: TrainingData, tasks: Sequence[BinaryTask], tol: float) -> list[SolvedOnPartitions]:
    return solve_on_partitions(data, tasks, tol, [Budget()] * len(tasks))


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


def _audited(
    reference: Reference, w: np.ndarray, b: float, C: float, scaling: float | None, loss: str
) -> Certificate:
    """The certificate of a plane, with findings."""
    hard, free = reference.hard, reference.free
    best_w, best_b = reference.optimum()
    planes = [(w, b), (best_w, best_b), (-w, -b)]
    (wrong, least), (best_wrong, _), (turned, _) = reference.mistakes(planes)
    edge = least if hard and not wrong else 1.0
    kind = "hard margin" if hard else f"soft margin, C = {C:g}"
    through = "" if free else " through the origin"
    proof = reference.certificate(w, b, edge, f"{kind}{through}, audited")
    if hard:
        said = [_hard_finding(proof, wrong, reference.n)]
    else:
        said = _soft_findings(reference, proof, w, b, scaling, loss)
    if loss != "hinge":
        said.insert(1, f"The model minimises another loss, {loss}: the textbook's is the hinge.")
    if SWAPPED_ERROR_RATIO * turned < wrong > reference.n / 2:
        said.insert(
            0,
            f"Its sides are swapped: −w and −b make {turned} training errors instead of {wrong}. "
            "The larger of the sorted labels is to be on the positive side.",
        )
    if wrong != best_wrong:
        said.append(f"It makes {wrong} training errors; the optimum makes {best_wrong}.")
    return replace(proof, findings=tuple(said))


def _hard_finding(proof: Certificate, wrong: int, n: int) -> str:
    assert proof.margin is not None
    attained, largest = proof.margin
    if wrong:
        return (
            f"It does not separate the classes: {wrong} of {n} rows are on the wrong side or on the "
            f"plane. The largest margin is {largest:.6g}."
        )
    short = 1.0 - attained / largest
    if short <= OPTIMUM_GAP:
        return f"This is the plane with the largest margin, {attained:.6g}, to {short:.0e}."
    return f"The margin is {attained:.6g}, {100 * short:.3g} % less than the largest, {largest:.6g}."


def _soft_findings(
    reference: Reference,
    proof: Certificate,
    w: np.ndarray,
    b: float,
    scaling: float | None,
    loss: str,
) -> list[str]:
    """How far a plane is from the optimum, and whether its bias is what makes the difference."""
    far = proof.relative_gap
    if far <= OPTIMUM_GAP:
        return [f"This is the optimum of the textbook problem, to {far:.0e}."]
    above = proof.gap / proof.dual if proof.dual > 0 else math.inf
    said = [f"The objective is {100 * above:.3g} % above the optimum of the textbook problem."]
    if not reference.free:
        return said
    better_b = reference.best_bias(w)
    gain = proof.primal - reference.value(w, better_b)
    if gain > 0.01 * proof.gap:
        said.append(
            f"With the same w, b = {better_b:.6g} instead of {b:.6g} would take away "
            f"{100 * gain / proof.gap:.3g} % of that."
        )
    constant = 1.0 if scaling is None else scaling
    padded = reference.regularised(constant)
    penalised = proof.primal + 0.5 * (b / constant) ** 2
    other = (penalised - padded) / penalised
    remedy = "Centre the features, or leave b free."
    if other < OTHER_GAP_RATIO * far:
        said.append(
            f"It is within {100 * max(other, 0.0):.2g} % of the optimum of another problem, with "
            f"½b² added: its solver regularised the bias. {remedy}"
        )
    elif scaling is not None and loss == "hinge":
        matters = gain > 0.01 * proof.gap
        said.append(
            "Its solver regularised the bias (intercept_scaling), and stopped "
            f"{100 * other / (1.0 - other):.2g} % above the optimum even of that problem. "
            f"{remedy if matters else 'Lower its tolerance, or allow more iterations.'}"
        )
    elif scaling is not None:
        said.append(f"Its solver regularised the bias (intercept_scaling). {remedy}")
    return said


LIBLINEAR = "liblinear"
ONLY_LOSS = {
    "LogisticRegression": "log_loss",
    "LogisticRegressionCV": "log_loss",
    "Perceptron": "perceptron",
    "SVC": "hinge",
    "NuSVC": "hinge",
    "LinearSVC": "squared_hinge",
}  # losses of estimators that have only one


def loss_of(model: Any) -> str:
    """The loss that a model minimised; the hinge if nothing else is known."""
    if getattr(model, "multi_class", None) == "crammer_singer":
        return "crammer_singer"
    loss = getattr(model, "loss", None)
    if isinstance(loss, str):
        return loss
    name = type(model).__name__
    return ONLY_LOSS.get(name, f"that of {name}") if _of_scikit_learn(model) else "hinge"


def scaling_of(model: Any) -> float | None:
    """The constant feature whose weight is b, if b was penalised with w; else None."""
    if not getattr(model, "fit_intercept", True):
        return None
    # LogisticRegression has the parameter, which only one of its solvers uses.
    used = type(model).__name__ == "LinearSVC" or getattr(model, "solver", None) == LIBLINEAR
    scaling = getattr(model, "intercept_scaling", None)
    return None if scaling is None or (_of_scikit_learn(model) and not used) else float(scaling)


def _of_scikit_learn(model: Any) -> bool:
    return type(model).__module__.startswith("sklearn.")
