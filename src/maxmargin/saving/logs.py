"""What a perceptron remembers of its runs: reason, history and trace of every machine, as JSON."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from maxmargin.core.history import Epoch, History
from maxmargin.core.trace import Trace, Update
from maxmargin.estimators.machines import Log
from maxmargin.saving.reading import Reader, to_extended
from maxmargin.saving.verdicts import decode_reason, encode_reason
from maxmargin.solvers.problem import Solution

__all__ = ["decode_log", "encode_log"]

WHOLE = ("epoch", "mistakes")
NONE = np.empty(0)


def encode_log(log: Log) -> dict[str, Any]:
    """Return a log as plain values and arrays."""
    written = {
        "mistakes": int(log.mistakes),
        "best_error": to_extended(log.best_error),
        "reason": encode_reason(log.reason),
        "history": _encode_history(log.history),
    }
    if log.trace is not None:
        written["trace"] = _encode_trace(log.trace)
    return written


def decode_log(reader: Reader, label: Hashable, d: int) -> Log:
    """Return the log that was written, of the machine with this label, on d features."""
    solution = Solution(
        z=NONE,
        reason=decode_reason(reader.reader("reason")),
        history=_decode_history(reader.reader("history")),
        state=NONE,
        mistakes=reader.count("mistakes"),
        trace=_decode_trace(reader.reader("trace"), d) if "trace" in reader else None,
        best_error=reader.extended("best_error"),
    )
    reader.done()
    return Log(label, solution)


def _encode_history(history: History) -> dict[str, Any]:
    """Column by column; what was not measured is null."""
    columns: dict[str, Any] = {}
    for name in History.columns():
        values = [getattr(epoch, name) for epoch in history]
        columns[name] = [int(v) if name in WHOLE else to_extended(v) for v in values]
    return columns


def _decode_history(reader: Reader) -> History:
    epochs = reader.array("epoch", int, (None,))
    columns: dict[str, list[Any]] = {"epoch": epochs.tolist()}
    columns["mistakes"] = reader.array("mistakes", int, (len(epochs),)).tolist()
    for name in History.columns():
        if name not in columns:
            columns[name] = list(reader.extended_list(name, len(epochs)))
    reader.done()
    rows = zip(*(columns[name] for name in History.columns()), strict=True)
    return History([Epoch(*row) for row in rows])


def _encode_trace(trace: Trace) -> dict[str, Any]:
    return {
        "start": np.asarray(trace.start, dtype=np.float64),
        "steps": np.array([u.step for u in trace], dtype=np.int64),
        "rows": np.array([u.row for u in trace], dtype=np.int64),
        "margins": np.array([u.margin for u in trace], dtype=np.float64),
        "weights": trace.weights[1:],
    }


def _decode_trace(reader: Reader, d: int) -> Trace:
    start = reader.array("start", float, (d + 1,))
    steps = reader.array("steps", int, (None,))
    count = len(steps)
    rows = reader.array("rows", int, (count,)).tolist()
    margins = reader.array("margins", float, (count,)).tolist()
    weights = reader.array("weights", float, (count, d + 1))
    reader.done()
    updates = zip(steps.tolist(), rows, margins, weights, strict=True)
    return Trace(start, [Update(*update) for update in updates])
