"""Data files: svmlight text, tables, Parquet, Arrow, matrices of NumPy and SciPy.

A reader yields a file block by block, and every mistake in it with its place. :func:`open_rows` makes
rows that need not fit into memory, :func:`read_data` arrays in memory, :func:`write_svmlight` text.
"""

from maxmargin.files.open import Data, open_rows, read_data
from maxmargin.files.svmlight import write_svmlight

__all__ = ["Data", "open_rows", "read_data", "write_svmlight"]
