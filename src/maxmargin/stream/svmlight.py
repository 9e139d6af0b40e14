"""Lines of svmlight text as examples; a line without a label (or with ``?``) is only to be predicted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

from maxmargin.files.scratch import Scratch
from maxmargin.files.svmlight import Parsed
from maxmargin.stream.block import NO_LABEL, Block
from maxmargin.stream.labels import label_of_text

__all__ = ["line_reader", "read_lines"]


def line_reader() -> Callable[[bytes, int, str], Block]:
    """Return a function such as ``read_lines``; a block is good while no more than one more is read."""
    spaces = cycle((Scratch(), Scratch()))
    return lambda text, line, shown: read_lines(text, line, shown, next(spaces))


def read_lines(text: bytes, line: int, shown: str = "-", scratch: Scratch | None = None) -> Block:
    """Read whole lines, the first of which has this number, of a source with this name."""
    rows = Parsed(text, line, shown, scratch or Scratch(), bare=True)
    labels: list[Any] = []
    known: dict[Any, int] = {"": NO_LABEL, "?": NO_LABEL}
    codes = []
    for label in map(label_of_text, rows.texts):
        if label not in known:
            known[label] = len(labels)
            labels.append(label)
        codes.append(known[label])
    return Block(
        data=rows.data,
        numbers=rows.indices,
        names=None,
        indptr=rows.indptr,
        labels=labels,
        codes=np.array(codes, dtype=np.int64)[rows.codes],
        lines=rows.lines,
        next_line=rows.next_line,
        shown=shown,
        error=rows.error,
    )
