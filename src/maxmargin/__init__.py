"""maxmargin: the linear classifier that comes with its proof.

>>> import maxmargin as mm
>>> model = mm.Perceptron().fit([[1, 1], [-1, -1]], [1, -1])
>>> model.predict([[2, 0]])
array([1])

Names are loaded when they are first used, so that ``import maxmargin`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxmargin._version import __version__

if TYPE_CHECKING:
    from maxmargin import stopping
    from maxmargin.core.errors import BudgetWarning, InputError, MaxMarginError
    from maxmargin.estimators.batch import BatchPerceptron
    from maxmargin.estimators.bound import MistakeBound, mistake_bound
    from maxmargin.estimators.perceptron import Perceptron
    from maxmargin.estimators.pocket import PocketPerceptron

_HOME = {
    "BatchPerceptron": "maxmargin.estimators.batch",
    "BudgetWarning": "maxmargin.core.errors",
    "InputError": "maxmargin.core.errors",
    "MaxMarginError": "maxmargin.core.errors",
    "MistakeBound": "maxmargin.estimators.bound",
    "Perceptron": "maxmargin.estimators.perceptron",
    "PocketPerceptron": "maxmargin.estimators.pocket",
    "mistake_bound": "maxmargin.estimators.bound",
}

__all__ = [
    "BatchPerceptron",
    "BudgetWarning",
    "InputError",
    "MaxMarginError",
    "MistakeBound",
    "Perceptron",
    "PocketPerceptron",
    "__version__",
    "mistake_bound",
    "stopping",
]


def __getattr__(name: str) -> Any:
    if name == "stopping":
        return import_module("maxmargin.stopping")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
