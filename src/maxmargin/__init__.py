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
    from maxmargin import datasets, plots, saving, stopping, stream
    from maxmargin.certificates.certificate import Certificate
    from maxmargin.certificates.proof import Proof
    from maxmargin.certificates.verdict import ExactOptimum, MulticlassVerdict, Verdict
    from maxmargin.core.errors import (
        BudgetError,
        BudgetWarning,
        ClusterError,
        InputError,
        MaxMarginError,
        NotSeparableError,
    )
    from maxmargin.core.history import Epoch, History, Trace, Update
    from maxmargin.core.witness import Witness
    from maxmargin.estimators.batch_perceptron import BatchPerceptron
    from maxmargin.estimators.certify import certify
    from maxmargin.estimators.error_bounds import ErrorBounds, error_bounds
    from maxmargin.estimators.hard_margin import HardMarginSVC
    from maxmargin.estimators.mistake_bound import MistakeBound, mistake_bound
    from maxmargin.estimators.perceptron import Perceptron
    from maxmargin.estimators.pocket_perceptron import PocketPerceptron
    from maxmargin.estimators.separability import separability
    from maxmargin.estimators.soft_margin import SoftMarginSVC
    from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV
    from maxmargin.files.open import open_rows, read_data
    from maxmargin.files.svmlight import write_svmlight
    from maxmargin.laboratory.notebook import lab
    from maxmargin.rows.on_disk import FileRows
    from maxmargin.saving.checkpoint import checkpoint
    from maxmargin.saving.model_file import load, save

_HOME = {
    "BatchPerceptron": "maxmargin.estimators.batch_perceptron",
    "BudgetError": "maxmargin.core.errors",
    "BudgetWarning": "maxmargin.core.errors",
    "Certificate": "maxmargin.certificates.certificate",
    "ClusterError": "maxmargin.core.errors",
    "Epoch": "maxmargin.core.history",
    "ErrorBounds": "maxmargin.estimators.error_bounds",
    "ExactOptimum": "maxmargin.certificates.verdict",
    "FileRows": "maxmargin.rows.on_disk",
    "HardMarginSVC": "maxmargin.estimators.hard_margin",
    "History": "maxmargin.core.history",
    "InputError": "maxmargin.core.errors",
    "MaxMarginError": "maxmargin.core.errors",
    "MistakeBound": "maxmargin.estimators.mistake_bound",
    "MulticlassVerdict": "maxmargin.certificates.verdict",
    "NotSeparableError": "maxmargin.core.errors",
    "Perceptron": "maxmargin.estimators.perceptron",
    "PocketPerceptron": "maxmargin.estimators.pocket_perceptron",
    "Proof": "maxmargin.certificates.proof",
    "SoftMarginSVC": "maxmargin.estimators.soft_margin",
    "SoftMarginSVCCV": "maxmargin.estimators.soft_margin_cv",
    "Trace": "maxmargin.core.history",
    "Update": "maxmargin.core.history",
    "Verdict": "maxmargin.certificates.verdict",
    "Witness": "maxmargin.core.witness",
    "certify": "maxmargin.estimators.certify",
    "checkpoint": "maxmargin.saving.checkpoint",
    "error_bounds": "maxmargin.estimators.error_bounds",
    "lab": "maxmargin.laboratory.notebook",
    "load": "maxmargin.saving.model_file",
    "mistake_bound": "maxmargin.estimators.mistake_bound",
    "open_rows": "maxmargin.files.open",
    "read_data": "maxmargin.files.open",
    "save": "maxmargin.saving.model_file",
    "separability": "maxmargin.estimators.separability",
    "write_svmlight": "maxmargin.files.svmlight",
}

_MODULES = ("datasets", "plots", "saving", "stopping", "stream")

__all__ = [
    "BatchPerceptron",
    "BudgetError",
    "BudgetWarning",
    "Certificate",
    "ClusterError",
    "Epoch",
    "ErrorBounds",
    "ExactOptimum",
    "FileRows",
    "HardMarginSVC",
    "History",
    "InputError",
    "MaxMarginError",
    "MistakeBound",
    "MulticlassVerdict",
    "NotSeparableError",
    "Perceptron",
    "PocketPerceptron",
    "Proof",
    "SoftMarginSVC",
    "SoftMarginSVCCV",
    "Trace",
    "Update",
    "Verdict",
    "Witness",
    "__version__",
    "certify",
    "checkpoint",
    "datasets",
    "error_bounds",
    "lab",
    "load",
    "mistake_bound",
    "open_rows",
    "plots",
    "read_data",
    "save",
    "saving",
    "separability",
    "stopping",
    "stream",
    "write_svmlight",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"maxmargin.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
