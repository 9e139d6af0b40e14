"""What the library says about the points on the lab's page: fitted here, without the lab's engine."""

import math
import warnings

import numpy as np

import maxmargin as mm
from maxmargin.laboratory.engine import answer
from maxmargin.laboratory.recipe import BUDGETS
from maxmargin.laboratory.state import LIMITS
from maxmargin.stopping import MaxEpochs, MaxUpdates

__all__ = ["fitted", "held_out", "machines", "preset", "rows_of", "signs_of", "trained"]


def preset(name, **sliders):
    """The data of a preset."""
    made = answer({"ask": "preset", "name": name, **sliders})
    return {key: made[key] for key in ("points", "labels", "names")}


def held_out(state, share=4):
    """The same points, every fourth for validation."""
    points = [[*p[:3], int(i % share == share - 1)] for i, p in enumerate(state["points"])]
    return {**state, "points": points}


def rows_of(state, role=0):
    """The rows of training points (role 0) or validation points (role 1)."""
    return [i for i, p in enumerate(state["points"]) if p[3] == role]


def trained(state, role=0):
    """Points and classes of a role."""
    points = [p for p in state["points"] if p[3] == role]
    X = np.array([p[:2] for p in points], dtype=float).reshape(-1, 2)
    return X, np.array([p[2] for p in points], dtype=int)


def signs_of(state):
    """±1 of the training points, of two classes."""
    return np.where(trained(state)[1] == 1, 1.0, -1.0)


def fitted(state):
    """The estimator that the controls of the page describe, fitted to its training points."""
    X, y = trained(state)
    o, several = state["options"], len(np.unique(y)) > 2
    shared = {"fit_intercept": o["intercept"], **({"multi_class": o["scheme"]} if several else {})}
    start = {}
    if state["start"] is not None:
        start = {"coef_init": [state["start"][:2]], "intercept_init": [state["start"][2]]}
    kind = state["algorithm"]
    if kind in ("hard", "soft"):
        model = mm.HardMarginSVC(**shared) if kind == "hard" else mm.SoftMarginSVC(o["C"], **shared)
        return model.fit(X, y)
    budget = _budget(state, X, y)
    if kind == "perceptron":
        model = mm.Perceptron(
            *(o["threshold"], o["rate"], o["order"]),
            average=o["averaged"],
            stop=MaxUpdates(budget),
            max_iter=o["epochs"],
            random_state=o["seed"],
            record=True,
            **shared,
        )
    elif kind == "batch":
        model = mm.BatchPerceptron(
            o["step"],
            stop=MaxUpdates(budget),
            max_iter=o["epochs"],
            random_state=o["seed"],
            record=True,
            **shared,
        )
    else:
        model = mm.PocketPerceptron(
            *(budget, o["order"]),
            polish=o["polish"],
            max_witnesses=0,
            stop=MaxEpochs(o["epochs"]),
            random_state=o["seed"],
            record=True,
            **shared,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        return model.fit(X, y, **start)


def _budget(state, X, y):
    """How many updates the page allows itself."""
    o, classes = state["options"], len(np.unique(y))
    if o.get("updates"):
        return o["updates"]
    count = 1 if classes == 2 else classes if o["scheme"] == "ovr" else classes * (classes - 1) // 2
    if count == 1 and mm.separability(X, y, fit_intercept=o["intercept"]).kind == "separable":
        return LIMITS["updates"]
    kind = state["algorithm"]
    exact = kind == "batch" and o["step"] == "exact"
    together = BUDGETS.exact_steps if exact else getattr(BUDGETS, kind)
    return together if count == 1 else max(BUDGETS.per_machine, math.ceil(together / count))


def machines(model):
    """The machines of an estimator in the order of the page."""
    return list(model.machines_.values())
