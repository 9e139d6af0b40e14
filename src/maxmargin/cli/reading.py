"""Files into memory, for commands that need all of the data at once."""

from __future__ import annotations

from collections.abc import Sequence

from maxmargin.files.memory import Data
from maxmargin.files.memory import read_data as read_any_data

__all__ = ["Data", "read_data"]


def read_data(
    path: str,
    label: str | None,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    header: bool | None = None,
) -> Data:
    """Read a file of any kind, or standard input (``-``); ``header`` None means to find out."""
    return read_any_data(path, label, list(columns), list(drop), header)
