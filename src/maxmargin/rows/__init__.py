"""How data is reached. A solver never sees a whole X, only :class:`Rows`.

``Rows`` answer a few questions, block by block: multiply by a few vectors, combine rows with given
weights, take some rows by index; and they hand the compiled kernels their arrays in one of two forms,
:class:`Dense` or :class:`Csr`.
"""

from maxmargin.rows.base import Csr, Dense, DenseRows, Rows
from maxmargin.rows.on_disk import PartedRows
from maxmargin.rows.sparse import CsrRows
from maxmargin.rows.training_data import as_rows, with_column

__all__ = ["Csr", "CsrRows", "Dense", "DenseRows", "PartedRows", "Rows", "as_rows", "with_column"]
