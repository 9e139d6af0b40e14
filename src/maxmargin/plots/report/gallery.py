"""Which pictures apply to a fitted model, and what is seen in each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import BudgetWarning
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.plots.certificate import CertificateDisplay
from maxmargin.plots.learning import ErrorDisplay
from maxmargin.plots.mistakes import MistakesDisplay
from maxmargin.plots.path import PathDisplay
from maxmargin.plots.report.page import picture
from maxmargin.plots.risk import RiskDisplay
from maxmargin.plots.separation import SeparabilityDisplay
from maxmargin.plots.weights import WeightSpaceDisplay
from maxmargin.plots.wspace import both_spaces
from maxmargin.plots.xspace import XSpaceDisplay

MAX_PATH_NUMBERS = 200_000  # numbers of X up to which a path of C is followed for its picture
C_FACTORS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # of C along it
MAX_SECONDS = 2.0  # for each of them
PROOFS = {
    "separable": "The proven plane and its certified margin, with the nearest row of each class.",
    "touching": "The weak plane, which has no row on the wrong side, and the rows on it.",
    "overlapping": "The two hulls, and the witness: rows whose weighted means are the same point.",
}
PANELS = {
    "gap": ("The gap", "The dual value bounds the optimum from below, the model attains the primal."),
    "slackness": (
        "Complementary slackness",
        "Every row has α = 0 or stands on its edge, or both.",
    ),
    "residuals": ("The conditions of Karush, Kuhn and Tucker", "How far each is from holding."),
}


def verdict_picture(verdict: Verdict, X: Any, y: Any) -> str:
    """Return the proof of a verdict about two classes, over its data."""
    seen = PROOFS[verdict.kind] + _projected(X)
    return picture("The proof", seen, SeparabilityDisplay.from_verdict, verdict, X, y)


def regions_pictures(estimator: Any, X: Any, y: Any, names: Sequence[str]) -> list[str]:
    """Return the regions of more than two classes."""
    seen = "The predicted class at every place of the plane shown, and the training rows."
    draw = XSpaceDisplay.from_estimator
    return [picture("The regions", seen + _projected(X), draw, estimator, X, y, names=names)]


def model_pictures(model: Any, X: Any, y: Any, names: Sequence[str]) -> list[str]:
    """Return what applies to a model of two classes: the plane, its certificate or how it learned."""
    margin = hasattr(model, "certificate_")
    seen = "The plane and its normal w; crosses are misclassified rows."
    if margin:
        hard = model.certificate_.problem.startswith("hard")
        rest = "and support vectors in rings" if hard else "support vectors in rings, slack as segments"
        seen = f"The plane, its slab 2/‖w‖ wide, {rest}."
    draw = XSpaceDisplay.from_estimator
    pictures = [picture("The model", seen + _projected(X), draw, model, X, y, names=names)]
    pictures += certificate_pictures(model, X, y) if margin else learning_pictures(model, X, y)
    return pictures + (_weight_pictures(model, X, y) if np.shape(X)[1] == 2 else [])


def path_pictures(estimator: Any, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> list[str]:
    """Return the error along a path of C around that of a soft-margin machine, if that is cheap."""
    pictures = []
    if hasattr(estimator, "scores_"):
        seen = "The error in the folds of the cross-validation, and the C that was chosen."
        pictures.append(picture("The choice of C", seen, PathDisplay.from_estimator, estimator))
    if not isinstance(estimator, SoftMarginSVC) or np.prod(np.shape(X)) > MAX_PATH_NUMBERS:
        return pictures
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # a picture may be a little off
        machine = clone(estimator).set_params(max_seconds=MAX_SECONDS, warm_start=False)
        path = machine.path(X, y, [factor * estimator.C for factor in C_FACTORS])
    known = "" if X_val is None else " The dashed line marks the fewest validation errors."
    seen = f"The error for smaller and larger C; the model of this page has C = {estimator.C:g}.{known}"
    draw = PathDisplay.from_path
    return [*pictures, picture("Other values of C", seen, draw, path, X, y, X_val, y_val)]


def certificate_pictures(model: Any, X: Any, y: Any) -> list[str]:
    """Return the panels of a certificate: gap, slackness and residuals."""
    draw = CertificateDisplay.from_estimator
    return [picture(*words, draw, model, X, y, panel=panel) for panel, words in PANELS.items()]


def learning_pictures(model: Any, X: Any, y: Any) -> list[str]:
    """Return how a perceptron learned: its error after each epoch, and its mistakes."""
    history, pictures = getattr(model, "history_", None), []
    if history is None or not len(history):  # another package's model, or learned from a stream
        return []
    if not np.all(np.isnan(history["training_error"])):
        seen = "After each epoch, with the moment and the reason of stopping."
        pictures.append(picture("The error", seen, ErrorDisplay.from_estimator, model))
    if hasattr(model, "order"):
        seen = "All mistakes so far, and the bound that they stay below if the classes are separable."
        pictures.append(picture("The mistakes", seen, MistakesDisplay.from_estimator, model, X, y))
    return pictures


def _weight_pictures(model: Any, X: Any, y: Any) -> list[str]:
    """Two features: the spaces that weights live in."""
    data = model, X, y
    if not getattr(model, "fit_intercept", True):
        line = "Points, and the line w·x = 0 of the model."
        cone = "Each point is a line, and the model a point; where all are right is yellow."
        risk = "Contours over the space of weights, creased along the lines of the points."
        return [
            picture("x-space", line, _one_space, *data, place=0),
            picture("w-space", cone, _one_space, *data, place=1),
            picture("The perceptron risk", risk, RiskDisplay.from_estimator, *data),
        ]
    if not isinstance(model, HardMarginSVC):
        return []
    solid = "Each row is a plane, feasible is what lies beyond all; the optimum has the least ‖w‖."
    section = "At the w₁ of the optimum, where constraints are lines."
    draw = WeightSpaceDisplay.from_estimator
    return [
        picture("Weight space", solid, draw, *data, projection="3d", height=4.0),
        picture("A section of weight space", section, draw, *data, kind="section"),
    ]


def _one_space(model: Any, X: Any, y: Any, *, place: int, ax: Any) -> None:
    """One of the two spaces; the other is drawn elsewhere and left."""
    from matplotlib.figure import Figure

    other = Figure().add_subplot()
    both_spaces(model, X, y, ax=(ax, other) if place == 0 else (other, ax))


def _projected(X: Any) -> str:
    if np.shape(X)[1] <= 2:
        return ""
    return f" The {np.shape(X)[1]} features are projected so that lengths along the first axis are true."
