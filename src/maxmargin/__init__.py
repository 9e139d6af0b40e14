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

from maxmargin._version import __version__ as __version__

if TYPE_CHECKING:  # "as" says that a name is public
    from maxmargin import datasets as datasets
    from maxmargin import plots as plots
    from maxmargin import saving as saving
    from maxmargin import stopping as stopping
    from maxmargin import stream as stream
    from maxmargin.certificates.certificate import Certificate as Certificate
    from maxmargin.certificates.proof import Proof as Proof
    from maxmargin.certificates.verdict import ExactOptimum as ExactOptimum
    from maxmargin.certificates.verdict import MulticlassVerdict as MulticlassVerdict
    from maxmargin.certificates.verdict import Verdict as Verdict
    from maxmargin.core.errors import BudgetError as BudgetError
    from maxmargin.core.errors import BudgetWarning as BudgetWarning
    from maxmargin.core.errors import ClusterError as ClusterError
    from maxmargin.core.errors import InputError as InputError
    from maxmargin.core.errors import MaxMarginError as MaxMarginError
    from maxmargin.core.errors import NotSeparableError as NotSeparableError
    from maxmargin.core.errors import Witness as Witness
    from maxmargin.core.history import Epoch as Epoch
    from maxmargin.core.history import History as History
    from maxmargin.core.history import Trace as Trace
    from maxmargin.core.history import Update as Update
    from maxmargin.estimators.batch_perceptron import BatchPerceptron as BatchPerceptron
    from maxmargin.estimators.certify import certify as certify
    from maxmargin.estimators.error_bounds import ErrorBounds as ErrorBounds
    from maxmargin.estimators.error_bounds import error_bounds as error_bounds
    from maxmargin.estimators.hard_margin import HardMarginSVC as HardMarginSVC
    from maxmargin.estimators.many import ManyFits as ManyFits
    from maxmargin.estimators.many import fit_many as fit_many
    from maxmargin.estimators.min_error_classifier import MinErrorClassifier as MinErrorClassifier
    from maxmargin.estimators.min_errors import min_errors as min_errors
    from maxmargin.estimators.mistake_bound import MistakeBound as MistakeBound
    from maxmargin.estimators.mistake_bound import mistake_bound as mistake_bound
    from maxmargin.estimators.perceptron import Perceptron as Perceptron
    from maxmargin.estimators.pocket_perceptron import PocketPerceptron as PocketPerceptron
    from maxmargin.estimators.separability import separability as separability
    from maxmargin.estimators.soft_margin import SoftMarginSVC as SoftMarginSVC
    from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV as SoftMarginSVCCV
    from maxmargin.files.open import open_rows as open_rows
    from maxmargin.files.open import read_data as read_data
    from maxmargin.files.svmlight import write_svmlight as write_svmlight
    from maxmargin.laboratory.notebook import lab as lab
    from maxmargin.rows.on_disk import FileRows as FileRows
    from maxmargin.saving.checkpoint import checkpoint as checkpoint
    from maxmargin.saving.model_file import load as load
    from maxmargin.saving.model_file import save as save

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
    "ManyFits": "maxmargin.estimators.many",
    "MaxMarginError": "maxmargin.core.errors",
    "MinErrorClassifier": "maxmargin.estimators.min_error_classifier",
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
    "Witness": "maxmargin.core.errors",
    "certify": "maxmargin.estimators.certify",
    "checkpoint": "maxmargin.saving.checkpoint",
    "error_bounds": "maxmargin.estimators.error_bounds",
    "fit_many": "maxmargin.estimators.many",
    "lab": "maxmargin.laboratory.notebook",
    "load": "maxmargin.saving.model_file",
    "min_errors": "maxmargin.estimators.min_errors",
    "mistake_bound": "maxmargin.estimators.mistake_bound",
    "open_rows": "maxmargin.files.open",
    "read_data": "maxmargin.files.open",
    "save": "maxmargin.saving.model_file",
    "separability": "maxmargin.estimators.separability",
    "write_svmlight": "maxmargin.files.svmlight",
}

_MODULES = ("datasets", "plots", "saving", "stopping", "stream")

__all__ = sorted([*_HOME, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"maxmargin.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value  # the next look-up finds it at once
        return value
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
