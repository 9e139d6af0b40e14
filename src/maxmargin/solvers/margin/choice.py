"""Which solver for which rows.

*newton*: a sample or a pool of rows first, Newton steps on the rows near the margin, all rows now and
then: for few features, however many rows, and for rows in files. *descent*: coordinate descent, then an
active set: for sparse rows with thousands of features, where it needs no more memory than a few vectors,
and for dense ones that are fewer than their features. *mixed*: coordinate descent, then Newton steps: in
between. Where descent leads nowhere, Newton steps and interior points follow (``solver_`` says "mixed").
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.rows import CsrRows, DenseRows, PartedRows, Rows
from maxmargin.solvers.margin.frame import draw
from maxmargin.solvers.margin.passes import SMALL

__all__ = ["SOLVERS", "choose_solver", "within_reach"]

SOLVERS = "auto", "newton", "mixed", "descent"
NARROW = 150  # features up to which a sample of dense rows tells where the margin lies
DENSITY_SAMPLE = 200  # rows that tell how many entries are zero
MOSTLY_ZERO = 0.05  # share of other entries below which dense rows are turned into sparse ones
FACTORISED = 4_000  # features up to which a Newton step is a matrix factorised
ENOUGH = 500  # features from which on the hard margin of sparse rows is found by descent
FEW_ROWS = (
    2.5  # rows against features of dense data up to which interior points are quicker than descent
)


def within_reach(rows: Rows) -> Rows:
    """The rows in the form that is quickest for the solvers.

    Sparse rows of a file are read into memory, if it holds them: descent visits them in any order. Dense
    rows of many features that are nearly all zero, as texts are, become sparse.
    """
    if isinstance(rows, PartedRows) and rows.is_sparse:
        return rows.at_once() or rows
    if isinstance(rows, DenseRows) and rows.d > NARROW and rows.n * rows.d > SMALL:
        some = rows.take(draw(rows.n, DENSITY_SAMPLE))
        if np.count_nonzero(some) < MOSTLY_ZERO * some.size:
            return CsrRows.from_matrix(sparse.csr_array(rows.X))
    return rows


def choose_solver(rows: Rows, hard: bool, wish: str = "auto") -> str:
    """Return the solver for these rows, or the one that is wished for."""
    if wish != "auto":
        if wish != "newton" and not rows.resident:
            raise InputError(
                f"solver must be 'auto' or 'newton' for rows in a file. Got {wish!r} instead. "
                "Coordinate descent visits rows in random order: read them into memory for it."
            )
        return wish
    if not rows.resident or rows.n * rows.d <= SMALL:
        return "newton"
    if hard:
        return "descent" if rows.d > ENOUGH and (rows.is_sparse or rows.n < rows.d) else "newton"
    if rows.is_sparse:
        return "mixed" if rows.d <= FACTORISED else "descent"
    if rows.d <= NARROW:
        return "newton"
    if rows.n < rows.d or rows.d > FACTORISED:
        return "descent"
    return "newton" if rows.n <= FEW_ROWS * rows.d else "mixed"
