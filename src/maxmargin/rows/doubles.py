"""Whether numbers of another type are doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["are_doubles", "not_doubles"]


def not_doubles(X: Any) -> str | None:
    """The type of numbers in a matrix or data frame that doubles do not hold exactly; None if none."""
    for part in (X[name] for name in X.columns) if hasattr(X, "columns") else (X,):
        values = part.data if sparse.issparse(part) else np.asarray(part)
        if not are_doubles(values):
            return str(values.dtype)
    return None


def are_doubles(values: np.ndarray) -> bool:
    """Whether a double holds each of the numbers exactly."""
    kind = values.dtype.kind
    if kind in "iu" and values.dtype.itemsize == 8 and values.size:
        largest = max(abs(int(values.max())), abs(int(values.min())))
        return largest <= 2**53 or all(int(float(v)) == int(v) for v in values.ravel())
    if kind == "f" and values.dtype.itemsize > 8:
        return bool(np.all((values.astype(np.float64) == values) | ~np.isfinite(values)))
    if kind == "O":
        numbers = (v for v in values.ravel().tolist() if isinstance(v, int))
        return all(abs(v) <= 2**53 or (abs(v) < 2**1023 and int(float(v)) == v) for v in numbers)
    return True
