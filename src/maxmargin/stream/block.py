"""Examples as they come out of a text: some at a time, as sparse rows, with the places they stand at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.files.options import at_line

__all__ = ["NO_LABEL", "Block"]

NO_LABEL = -1


@dataclass
class Block:
    """Examples in order; if a line could not be read, those before it, and the error."""

    data: np.ndarray  # values of all entries
    numbers: np.ndarray | None  # their features as numbers, if the text numbers them,
    names: list[str] | None  # … else their names
    indptr: np.ndarray  # where the entries of each example begin and end
    labels: list[Any]  # the distinct labels
    codes: np.ndarray  # which of them each example has, or NO_LABEL
    lines: np.ndarray  # the line of each example
    next_line: int  # the line after the text, if all of it was read
    shown: str  # the name of the source
    error: InputError | None = None

    def where(self, i: int) -> str:
        """The place of example i, for errors."""
        return at_line(self.shown, int(self.lines[i]))

    def __len__(self) -> int:
        return len(self.codes)
