"""Model files: save and load, export to other tools, import from them.

``save`` and ``load`` write and read maxmargin's own format, JSON with a checksum (see
``docs/model-format.md``); ``to_dict`` and ``from_dict`` are the same without a file. Models trained
elsewhere come in as a :class:`LinearModel`, to predict with and to :func:`audit`.
"""

from maxmargin.core.atomic import write_atomically
from maxmargin.saving.anyfile import read_any
from maxmargin.saving.coefcsv import from_coef_csv
from maxmargin.saving.files import load, save
from maxmargin.saving.liblinear import from_liblinear, to_liblinear
from maxmargin.saving.libsvm import from_libsvm
from maxmargin.saving.linear import LinearModel, audit
from maxmargin.saving.model import from_dict, to_dict
from maxmargin.saving.onnxfile import to_onnx
from maxmargin.saving.sealed import seal, unseal
from maxmargin.saving.sklearnmodels import from_sklearn

__all__ = [
    "LinearModel",
    "audit",
    "from_coef_csv",
    "from_dict",
    "from_liblinear",
    "from_libsvm",
    "from_sklearn",
    "load",
    "read_any",
    "save",
    "seal",
    "to_dict",
    "to_liblinear",
    "to_onnx",
    "unseal",
    "write_atomically",
]
