"""MODEL of ``predict`` and ``audit``: a fitted model, named before the data."""

from __future__ import annotations

from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.saving import read_any
from maxmargin.saving.anyfile import is_model

__all__ = ["read_model"]


def read_model(path: str, data: str) -> Any:
    """Read the model; the usual mistakes are told apart: the files swapped, or no model at all."""
    if path == "-":
        raise InputError("MODEL must be a file. Got standard input instead, which may be DATA.")
    if is_model(data):
        swap = f"Swap them: {data} {path}." if not is_model(path) else "Name a file of rows second."
        raise InputError(f"MODEL comes first, DATA second. Got the model file {data} as DATA. {swap}")
    try:
        model = read_any(path)
    except InputError as error:
        if not path.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
            raise
        raise InputError(
            f"{path}: MODEL must be a file of maxmargin fit --out, of LIBLINEAR or LIBSVM, or a table "
            f"of weights. Got a table that is none ({str(error).rstrip('.')}). If it holds rows, name "
            "it second, as DATA, and a model first."
        ) from error
    if not hasattr(model, "coef_"):
        raise InputError(
            f"{path}: must be a fitted model. Got one that is not. Fit it, and save it again."
        )
    return model
