"""From what a user has to rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.rows.base import Rows
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.dense import DenseRows

__all__ = ["as_rows"]


def as_rows(X: Any) -> Rows:
    """Wrap a validated matrix: CSR as it is, dense in C order (other layouts are copied once)."""
    if sparse.issparse(X):
        return CsrRows.from_matrix(X.tocsr())
    return DenseRows(np.ascontiguousarray(X))
