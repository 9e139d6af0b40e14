"""Model files: save and load, export to other tools, import from them.

``save`` and ``load`` write and read maxmargin's own format, JSON with a checksum (see
``docs/model-format.md``); ``to_dict`` and ``from_dict`` are the same without a file. Models trained
elsewhere come in as a :class:`LinearModel`, to predict with and to :func:`audit`.
"""

from maxmargin.core.atomic_write import write_atomically
from maxmargin.saving.coef_table import from_coef_csv
from maxmargin.saving.liblinear_libsvm import from_liblinear, from_libsvm, to_liblinear
from maxmargin.saving.linear_model import LinearModel, audit, from_sklearn
from maxmargin.saving.model_file import from_dict, load, read_any, save, to_dict
from maxmargin.saving.onnx import to_onnx
from maxmargin.saving.sealed import seal, unseal

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
