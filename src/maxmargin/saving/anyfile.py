"""A model file of any known kind, told by what is in it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.saving.coefcsv import from_coef_csv
from maxmargin.saving.files import load
from maxmargin.saving.liblinear import from_liblinear
from maxmargin.saving.libsvm import from_libsvm
from maxmargin.saving.textfile import read_bytes

__all__ = ["is_model", "read_any"]

PICKLES = (b"\x80", b"\x78\x9c", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
BEGINNING = 1 << 16
OURS = b'"format": "maxmargin-model"'


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model of maxmargin, LIBLINEAR or LIBSVM; False if there is no file.

    Examples
    --------
    >>> from maxmargin.saving.anyfile import is_model
    >>> is_model("nowhere.json")
    False
    """
    try:
        if not Path(path).is_file():  # what is read from a pipe is gone
            return False
        with Path(path).open("rb") as file:
            start = file.read(BEGINNING)
    except (OSError, ValueError):
        return False
    return OURS in start or bool(re.search(rb"^(solver_type|svm_type) ", start, re.MULTILINE))


def read_any(path: str | os.PathLike[str]) -> Any:
    """Read a model: of maxmargin, LIBLINEAR, LIBSVM (linear), or a table of weights.

    Parameters
    ----------
    path : path
        The file; what it is, is told by its first lines and not by its name.

    Returns
    -------
    estimator or LinearModel
        To predict with, and for :func:`audit`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> from maxmargin.saving import read_any, to_liblinear
    >>> folder, model = Path(tempfile.mkdtemp()), mm.Perceptron().fit([[1.0], [-1.0]], [1, -1])
    >>> mm.save(model, folder / "ours")
    >>> to_liblinear(model, folder / "theirs")
    >>> read_any(folder / "ours").coef_ == read_any(folder / "theirs").coef_
    array([[ True]])
    """
    start = read_bytes(path, BEGINNING)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise InputError(f"{path}: a model file is not empty. This one is.")
    if text.startswith(b"{"):
        return load(path)
    if re.search(rb"^solver_type ", text, re.MULTILINE):
        return from_liblinear(path)
    if re.search(rb"^svm_type ", text, re.MULTILINE):
        return from_libsvm(path)
    if start.startswith(PICKLES):
        raise InputError(
            f"{path}: a model must be text: JSON of maxmargin, LIBLINEAR, LIBSVM or a table. Got a "
            "pickle or packed file instead, which could run code. Load it in Python if you trust it, "
            "and use maxmargin.saving.from_sklearn."
        )
    if b"\0" in start:
        raise InputError(
            f"{path}: a model must be text: JSON of maxmargin, LIBLINEAR, LIBSVM or a table of weights. "
            "Got a binary file instead."
        )
    return from_coef_csv(path)
