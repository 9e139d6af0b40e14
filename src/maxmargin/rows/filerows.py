"""Labelled rows of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.rows.base import BLOCK_ENTRIES
from maxmargin.rows.mapping import MappedFile, Section
from maxmargin.rows.parted import PartedRows
from maxmargin.rows.room import room

__all__ = ["FileRows"]


class FileRows(PartedRows):
    r"""Labelled rows of a file, used by ``fit`` in place of X; made by :func:`maxmargin.open_rows`.

    Attributes
    ----------
    path : Path
        The file that is read.
    labels : numpy.ndarray or None
        One label per row.
    names : list of str or None
        Names of the features.
    shape : (n, d)
        How many rows and features there are.
    about : dict
        How the rows came from their source: columns, label, categories.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> path = Path(tempfile.mkdtemp()) / "marks.csv"
    >>> _ = path.write_text("homework,exam,passed\n90,80,yes\n40,30,no\n50,40,no\n")
    >>> rows = mm.open_rows(path, label="passed")
    >>> rows.shape, rows.names, rows.labels.tolist()
    ((3, 2), ['homework', 'exam'], ['yes', 'no', 'no'])
    """

    def __init__(
        self,
        path: Path,
        d: int,
        sections: Sequence[Section],
        labels: np.ndarray | None = None,
        names: Sequence[str] | None = None,
        largest: int | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        self.path, self.labels, self.about = path, labels, dict(about or {})
        self.names = None if names is None else list(names)
        self._sections = tuple(sections)
        file = MappedFile(path, d, sections)
        largest = min(BLOCK_ENTRIES, room() // 4) if largest is None else largest
        shape = file.n, d
        super().__init__(file.fetch, shape, file.entries, file.is_sparse, file.read, file.whole, largest)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return f"FileRows({str(self.path)!r}, {self.n:,} rows, {self.d:,} features, {kind})"

    def __reduce__(self) -> Any:
        given = self.path, self.d, self._sections, self.labels, self.names, self._largest, self.about
        return FileRows, given
