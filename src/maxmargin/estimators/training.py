"""What a linear model of another library says of its training: its loss, and whether b was penalised."""

from __future__ import annotations

from typing import Any

__all__ = ["loss_of", "scaling_of"]

LIBLINEAR = "liblinear"
ONLY = {
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
    return ONLY.get(name, f"that of {name}") if _of_scikit_learn(model) else "hinge"


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
