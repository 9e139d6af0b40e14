"""JSON lines as examples: ``{"x": {"name": number, …}, "y": label}``, or ``"x": [number, …]``.

Without ``y`` (or with null) an example is only to be predicted. The members of a vector are called "0",
"1", …; other entries of the object are left alone.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.params import LARGEST
from maxmargin.files.numbers import short
from maxmargin.files.options import at_line
from maxmargin.stream.block import NO_LABEL, Block

__all__ = ["read_lines"]


def read_lines(text: bytes, line: int, shown: str = "-") -> Block:
    """Read whole lines, the first of which has this number, of a source with this name."""
    names: list[str] = []
    values: list[float] = []
    ends, codes, lines = [0], [], []
    labels: list[Any] = []
    known: dict[tuple[type, Any], int] = {}
    error = None
    texts = text.split(b"\n")
    for number, raw in enumerate(texts, line):
        if not raw.strip():
            continue
        try:
            x, y = _example(raw, at_line(shown, number))
        except InputError as problem:
            error = problem
            break
        names += x
        values += x.values()
        ends.append(len(names))
        lines.append(number)
        key = (type(y), y)
        if y is not None and key not in known:
            known[key] = len(labels)
            labels.append(y)
        codes.append(NO_LABEL if y is None else known[key])
    return Block(
        data=np.array(values, dtype=np.float64),
        numbers=None,
        names=names,
        indptr=np.array(ends, dtype=np.int64),
        labels=labels,
        codes=np.array(codes, dtype=np.int64),
        lines=np.array(lines, dtype=np.int64),
        next_line=line + len(texts) - 1,
        shown=shown,
        error=error,
    )


def _example(raw: bytes, where: str) -> tuple[dict[str, float], Any]:
    try:
        found = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: must be JSON, one object per line: {error}. Correct it.") from None
    if type(found) is not dict or type(found.get("x")) not in (dict, list):
        raise InputError(
            f'{where}: must be an object {{"x": {{name: number, …}} or [number, …], "y": label}}. '
            f"Got {short(raw.decode('utf-8', 'replace').strip())} instead."
        )
    x, y = found["x"], found.get("y")
    if type(x) is list:
        x = {str(j): value for j, value in enumerate(x)}
    for name, value in x.items():
        if type(value) not in (float, int, bool) or not _in_range(value):
            raise InputError(
                f"{where}: feature {short(name)} must be a number, at most {LARGEST:.1e} in size. "
                f"Got {short(json.dumps(value))} instead. Correct it, or leave the feature out."
            )
    if type(y) not in (str, int, float, bool, type(None)) or (type(y) is float and not math.isfinite(y)):
        raise InputError(
            f"{where}: y must be a text, a number, true, false or null. "
            f"Got {short(json.dumps(y))} instead."
        )
    return {name: float(value) for name, value in x.items()}, y


def _in_range(value: float) -> bool:
    try:
        return abs(float(value)) <= LARGEST
    except OverflowError:
        return False


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
