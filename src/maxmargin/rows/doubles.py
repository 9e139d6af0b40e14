"""Which numbers of another type are no doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["not_doubles", "rounded"]

WHOLE = 2**53  # up to which a double holds every whole number


def not_doubles(X: Any) -> str | None:
    """The type of numbers in a matrix or data frame that doubles do not hold exactly; None if none."""
    for part in (X[name] for name in X.columns) if hasattr(X, "columns") else (X,):
        values = part.data if sparse.issparse(part) else np.asarray(part)
        if rounded(values) is not None:
            return str(values.dtype)
    return None


def rounded(values: np.ndarray) -> np.ndarray | None:
    """Which of the numbers a double does not hold exactly, infinite ones aside; None if it holds all."""
    kind = values.dtype.kind
    if kind in "iu" and values.dtype.itemsize == 8 and values.size:
        if max(abs(int(values.max())), abs(int(values.min()))) <= WHOLE:
            return None
        wrong = np.abs(values.astype(np.float64)) >= WHOLE  # rounded, the next above is WHOLE too
        wrong[wrong] = [not _is_double(v) for v in values[wrong].tolist()]
    elif kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            wrong = (values.astype(np.float64) != values) & np.isfinite(values)
    elif kind == "O":
        wrong = np.array([isinstance(v, int) and not _is_double(v) for v in values.ravel().tolist()])
    else:
        return None
    return wrong.reshape(values.shape) if np.any(wrong) else None


def _is_double(value: int) -> bool:
    return abs(value) <= WHOLE or (abs(value) < 2**1023 and int(float(value)) == value)
