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
    from maxmargin.certificates.optimum import ExactOptimum
    from maxmargin.certificates.proof import Proof
    from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
    from maxmargin.checkpoints.fit import checkpoint
    from maxmargin.core.errors import (
        BudgetWarning,
        ClusterError,
        InputError,
        MaxMarginError,
        NotSeparableError,
    )
    from maxmargin.core.history import Epoch, History
    from maxmargin.core.trace import Trace, Update
    from maxmargin.core.witness import Witness
    from maxmargin.estimators.audit import certify
    from maxmargin.estimators.batch import BatchPerceptron
    from maxmargin.estimators.bound import MistakeBound, mistake_bound
    from maxmargin.estimators.errorbounds import ErrorBounds, error_bounds
    from maxmargin.estimators.hardmargin import HardMarginSVC
    from maxmargin.estimators.perceptron import Perceptron
    from maxmargin.estimators.pocket import PocketPerceptron
    from maxmargin.estimators.separability import separability
    from maxmargin.estimators.softmargin import SoftMarginSVC
    from maxmargin.estimators.softmargincv import SoftMarginSVCCV
    from maxmargin.files.memory import read_data
    from maxmargin.files.opening import open_rows
    from maxmargin.files.writing import write_svmlight
    from maxmargin.laboratory.notebook import lab
    from maxmargin.rows.filerows import FileRows
    from maxmargin.saving.files import load, save

_HOME = {
    "BatchPerceptron": "maxmargin.estimators.batch",
    "BudgetWarning": "maxmargin.core.errors",
    "Certificate": "maxmargin.certificates.certificate",
    "ClusterError": "maxmargin.core.errors",
    "Epoch": "maxmargin.core.history",
    "ErrorBounds": "maxmargin.estimators.errorbounds",
    "ExactOptimum": "maxmargin.certificates.optimum",
    "FileRows": "maxmargin.rows.filerows",
    "HardMarginSVC": "maxmargin.estimators.hardmargin",
    "History": "maxmargin.core.history",
    "InputError": "maxmargin.core.errors",
    "MaxMarginError": "maxmargin.core.errors",
    "MistakeBound": "maxmargin.estimators.bound",
    "MulticlassVerdict": "maxmargin.certificates.verdict",
    "NotSeparableError": "maxmargin.core.errors",
    "Perceptron": "maxmargin.estimators.perceptron",
    "PocketPerceptron": "maxmargin.estimators.pocket",
    "Proof": "maxmargin.certificates.proof",
    "SoftMarginSVC": "maxmargin.estimators.softmargin",
    "SoftMarginSVCCV": "maxmargin.estimators.softmargincv",
    "Trace": "maxmargin.core.trace",
    "Update": "maxmargin.core.trace",
    "Verdict": "maxmargin.certificates.verdict",
    "Witness": "maxmargin.core.witness",
    "certify": "maxmargin.estimators.audit",
    "checkpoint": "maxmargin.checkpoints.fit",
    "error_bounds": "maxmargin.estimators.errorbounds",
    "lab": "maxmargin.laboratory.notebook",
    "load": "maxmargin.saving.files",
    "mistake_bound": "maxmargin.estimators.bound",
    "open_rows": "maxmargin.files.opening",
    "read_data": "maxmargin.files.memory",
    "save": "maxmargin.saving.files",
    "separability": "maxmargin.estimators.separability",
    "write_svmlight": "maxmargin.files.writing",
}

_MODULES = ("datasets", "plots", "saving", "stopping", "stream")

__all__ = [
    "BatchPerceptron",
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
