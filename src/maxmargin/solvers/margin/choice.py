"""Which solver for which rows.

*newton*: a sample or a pool of rows first, Newton steps on the rows near the margin, all rows now and
then: for few features, however many rows, and for rows in files. *descent*: coordinate descent, then an
active set; needs no more memory than a few vectors: for sparse rows with thousands of features. *mixed*:
coordinate descent, then Newton steps: in between.
"""

from __future__ import annotations

from maxmargin.core.errors import InputError
from maxmargin.rows import PartedRows, Rows
from maxmargin.solvers.margin.passes import SMALL

__all__ = ["SOLVERS", "choose_solver", "within_reach"]

SOLVERS = "auto", "newton", "mixed", "descent"
NARROW = 150  # features up to which a sample of dense rows tells where the margin lies
FACTORISED = 4_000  # features up to which a Newton step is a matrix factorised
ENOUGH = 500  # features from which on the hard margin of sparse rows is found by descent
FEW_ROWS = (
    2.5  # rows against features of dense data up to which interior points are quicker than descent
)


def within_reach(rows: Rows) -> Rows:
    """Sparse rows of a file as rows in memory, if it holds them: descent visits them in any order."""
    if isinstance(rows, PartedRows) and rows.is_sparse:
        return rows.at_once() or rows
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
    if rows.n < rows.d:
        return "descent"
    if rows.d > FACTORISED:
        return "descent"
    return "newton" if rows.n <= FEW_ROWS * rows.d else "mixed"
