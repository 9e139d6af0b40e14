"""How data is reached. A solver never sees a whole X, only :class:`Rows`.

``Rows`` answer a few questions, block by block: multiply by a few vectors, combine rows with given
weights, take some rows by index; and they hand the compiled kernels their arrays in one of two forms,
:class:`Dense` or :class:`Csr`.
"""

from maxmargin.rows.arrays import Csr, Dense
from maxmargin.rows.base import Rows
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.dense import DenseRows
from maxmargin.rows.form import as_rows
from maxmargin.rows.parted import PartedRows

__all__ = ["Csr", "CsrRows", "Dense", "DenseRows", "PartedRows", "Rows", "as_rows"]
