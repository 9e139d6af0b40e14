"""Which estimator with which parameters a state asks for: one recipe for the page and for its script.

On data that no plane separates a perceptron never ends. Unless the user asks for a number of updates,
its budget is then such that the page can follow a drag; on separable data it is the largest allowed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.core.errors import BudgetWarning, InputError
from maxmargin.estimators.batch_perceptron import BatchPerceptron
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.laboratory.problem import Task
from maxmargin.laboratory.protocol import in_lab
from maxmargin.laboratory.state import LIMITS
from maxmargin.laboratory.verdicts import analyse
from maxmargin.stopping import MaxEpochs, MaxUpdates

MARGIN_ALGORITHMS = ("hard", "soft")
ESTIMATORS: dict[str, Any] = {
    "perceptron": Perceptron,
    "batch": BatchPerceptron,
    "pocket": PocketPerceptron,
    "hard": HardMarginSVC,
    "soft": SoftMarginSVC,
}


@dataclass(frozen=True)
class Budgets:
    """Updates on data that is not separable, for all machines together: some 20 milliseconds of work."""

    perceptron: int = 1_000
    pocket: int = 700
    batch: int = 300
    exact_steps: int = 50  # of the batch perceptron: a line search takes longer
    per_machine: int = 10  # at least, of one machine among several
    quick_share: int = 4  # while a point is moved, one part in so many


BUDGETS = Budgets()


@dataclass(frozen=True)
class Recipe:
    """An estimator, its parameters, and what fit is given beside the data."""

    kind: Any
    params: dict[str, Any]
    start: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fitted:
    """A fitted estimator with the warnings it gave, or the machines for which there is none."""

    model: Any | None
    notes: tuple[str, ...] = ()
    refused: tuple[int, ...] = ()


def write_recipe(task: Task, *, quick: bool = False) -> Recipe:
    """The estimator that a state asks for; ``quick`` means less work, while a point is moved."""
    state, o = task.state, task.state.options
    shared: dict[str, Any] = {"fit_intercept": o.intercept}
    if len(task.sides) > 1:
        shared["multi_class"] = o.scheme
    kind = ESTIMATORS[state.algorithm]
    if state.algorithm == "hard":
        return Recipe(kind, shared)
    if state.algorithm == "soft":
        return Recipe(kind, {"C": o.C, **shared})
    updates = _updates(task, quick)
    ends: dict[str, Any] = {"stop": MaxUpdates(updates), "max_iter": o.epochs}
    if state.algorithm == "perceptron":
        own = {"threshold": o.threshold, "eta0": o.rate, "order": o.order, "average": o.averaged}
    elif state.algorithm == "batch":
        own = {"step": o.step}
    else:
        own = {"order": o.order, "polish": o.polish and not quick, "max_witnesses": 0}
        ends = {"max_updates": updates, "stop": MaxEpochs(o.epochs)}
    start: dict[str, Any] = {}
    if state.start is not None:
        start["coef_init"] = [list(state.start[:2])] * len(task.sides)
        if o.intercept:
            start["intercept_init"] = [state.start[2]] * len(task.sides)
    return Recipe(kind, {**own, **shared, **ends, "random_state": o.seed, "record": True}, start)


def _updates(task: Task, quick: bool) -> int:
    """The budget of updates of each machine."""
    o, machines = task.state.options, len(task.sides)
    if o.updates is not None:
        return o.updates
    if machines == 1 and analyse(task.watched).status == "separable":
        return LIMITS["updates"]
    if task.state.algorithm == "batch" and o.step == "exact":
        together = BUDGETS.exact_steps
    else:
        together = getattr(BUDGETS, task.state.algorithm) // (BUDGETS.quick_share if quick else 1)
    return max(BUDGETS.per_machine, math.ceil(together / machines)) if machines > 1 else together


def fit(task: Task, *, quick: bool = False) -> Fitted:
    """Fit the estimator, and keep what it has to say.

    The hard margin refuses machines that are not separable, and the verdicts on them are known; of two
    classes, so is its solution.
    """
    if task.state.algorithm == "hard":
        found = [analyse(side) for side in task.sides]
        bad = tuple(k for k, analysis in enumerate(found) if analysis.status != "separable")
        if bad:
            return Fitted(None, refused=bad)
        widest = found[0].widest if len(found) == 1 else None
        if widest is not None and widest.certificate_.relative_gap <= widest.tol:
            return Fitted(widest)
    recipe = write_recipe(task, quick=quick)
    model = recipe.kind(**recipe.params)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(task.X, task.y, **recipe.start)
    if not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
        raise InputError(
            "the points must be of similar sizes. Got some so large or so small instead that weights "
            "leave the range of doubles. Bring all coordinates to a similar size."
        )
    budgets = [w.message for w in said if isinstance(w.message, BudgetWarning)]
    return Fitted(model, tuple(in_lab(warning.args[0]) for warning in budgets))
