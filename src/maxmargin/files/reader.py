"""What every reader of files does: blocks of features one after the other, and labels on the side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.proportion import NUMBER_BYTES, check_width, in_proportion
from maxmargin.files.labels import Labels
from maxmargin.files.options import Options, at_row

__all__ = ["Reader", "StartAgain"]


class StartAgain(Exception):  # noqa: N818 - no mistake: the reader knows better now
    """Something later in the file changes how its beginning must be read."""


class Reader(ABC):
    """Read a file block by block.

    Parameters
    ----------
    path : Path
        The file.
    options : Options
        What to read of it.
    shown : object
        Its name in errors.
    """

    def __init__(self, path: Path, options: Options, shown: object) -> None:
        self.path, self.options, self.shown = path, options, shown
        self.labels = Labels(shown)
        self.names: list[str] | None = None  # of the features, if the file names them
        self.about: dict[str, Any] = {}  # what a later file must be read with, and a proof tells

    @abstractmethod
    def blocks(self) -> Iterator[Any]:
        """Yield matrices, all dense or all sparse; ``names`` and ``about`` are known at the end."""

    def read(self) -> Iterator[Any]:
        """Yield the blocks in the type asked for, from the beginning."""
        self.labels = Labels(self.shown)
        n = d = entries = 0
        size = self.path.stat().st_size
        for X in self.blocks():
            yield self._as_type(X, n)
            n += X.shape[0]
            d, entries = max(d, X.shape[1]), entries + X.size
            self.labels.entries = entries
            if not in_proportion(NUMBER_BYTES * n, size):  # every label is kept in memory
                raise InputError(
                    f"{self.shown}: must have a row for every few bits of the file. Got {n:,} rows and "
                    f"more in {size:,} bytes instead. Write it again, not compressed."
                )
        if not n:
            raise InputError(f"{self.shown}: must hold rows. Got none. Name another file.")
        check_width(self.shown, d, entries, self.options.features)

    def place(self, before: int, i: int, j: int) -> str:
        """Where an entry of a block is, in words."""
        return f"{at_row(self.shown, before + i)}: feature {j}"

    def _as_type(self, X: Any, before: int) -> Any:
        if self.options.dtype is None or X.dtype == self.options.dtype:
            return X
        with np.errstate(over="ignore"):
            changed = X.astype(self.options.dtype)
        values = changed if isinstance(changed, np.ndarray) else changed.data
        if not np.all(np.isfinite(values)):
            bad = int(np.argwhere(~np.isfinite(values))[0, 0])
            row = bad if values is changed else int(np.searchsorted(changed.indptr, bad, "right")) - 1
            raise InputError(
                f"{at_row(self.shown, before + row)}: must hold numbers that {changed.dtype} can hold. "
                "Got a larger one. Use dtype='float64', or divide its column."
            )
        return changed
