"""Sparse matrices of SciPy that are not stored by rows: read whole, and turned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.proportion import NUMBER_BYTES, in_proportion
from maxmargin.rows.room import allowance
from maxmargin.rows.structure import check_structure

__all__ = ["TURNED", "by_rows"]

TURNED = {  # what each form is made of
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
COPIES = 4  # of its arrays that are in memory while a matrix is turned, at most


def by_rows(
    form: str,
    shape: tuple[int, int],
    sizes: Mapping[str, int],
    read: Callable[[str], np.ndarray],
    shown: object,
) -> Any:
    """Return a matrix of another form as CSR; ``read`` gives its arrays, of so many bytes each."""
    held = sum(sizes.values())
    if not in_proportion(NUMBER_BYTES * max(shape), held):
        raise InputError(
            f"{shown}: a sparse matrix stored as {form} must have rows and columns in proportion to its "
            f"numbers. Got {shape[0]:,} × {shape[1]:,} with {held:,} bytes instead. Save X.tocsr()."
        )
    needed, left = COPIES * held, allowance()
    if left is not None and needed > left:
        raise InputError(
            f"{shown}: a sparse matrix stored as {form} must fit into memory to be turned into rows, "
            f"{needed:,} bytes. Got {left:,} bytes of memory instead. Save X.tocsr()."
        )
    data, *places = (read(name) for name in TURNED[form])
    try:
        if data.dtype.kind not in "biuf" or any(part.dtype.kind not in "iu" for part in places):
            raise ValueError(f"its arrays are of types {data.dtype} and {places[0].dtype}")
        if form == "coo":
            row, column = places
            matrix = sparse.coo_array((data, (row, column)), shape)
        else:
            kinds = {"csc": sparse.csc_array, "bsr": sparse.bsr_array}
            matrix = kinds[form]((data, *places), shape)
        check_structure(matrix, "it")
        return matrix.tocsr()
    except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(
            f"{shown}: must hold a sparse matrix saved by scipy.sparse.save_npz. Got a damaged one "
            f"instead: {why}. Save it again."
        ) from error
