"""All that a perceptron needs to predict and to go on learning as if it had never been saved.

Arrays with one row (w, b) per machine are written for the features known so far; ``room`` says how many
a stream of named features had room for (the columns in between are zero).

What a perceptron remembers of its runs: reason, history and trace of every machine, as JSON.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.history import Epoch, History, Trace, Update
from maxmargin.estimators.batch_perceptron import BatchPerceptron
from maxmargin.estimators.fitting import PerceptronBase
from maxmargin.estimators.multiclass import Log
from maxmargin.estimators.online import LEAST_ROOM
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.kernels.perceptron import MADE, SEEN
from maxmargin.saving.codec import Reader, bad, decode, encode, to_extended
from maxmargin.saving.parameters import decode_generator, encode_generator
from maxmargin.saving.verdicts import decode_reason, encode_reason
from maxmargin.solvers.perceptron.running import State
from maxmargin.solvers.problem import Solution

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


BY_LABEL = ("best_error_", "best_update_", "unpolished_error_", "error_lower_bound_")


def encode_perceptron(model: Any) -> dict[str, Any]:
    """Return what a fitted perceptron holds beside classes and weights."""
    d, room = model.n_features_in_, model._wide().shape[1] - 1
    written: dict[str, Any] = {
        "n_iter": int(model.n_iter_),
        "n_mistakes": int(model.n_mistakes_),
        "machines": [encode_log(log) for log in model._logs],
    }
    if len(model._logs) > 1:
        written["reason"] = encode_reason(model.stop_reason_)
    if room != d:
        written["room"] = room
    if "feature_index_" in vars(model):
        index = model.feature_index_
        written["index"] = [encode(name, "a feature name") for name in sorted(index, key=index.get)]
    if "_rng" in vars(model):
        written["rng"] = encode_generator(model._rng)
    if isinstance(model, (Perceptron, PocketPerceptron)):
        state = model._state
        written["running"] = _narrow(state.Z, d)
        written["counts"] = state.counts.copy()
        if state.U.shape[1]:
            written["average"] = _narrow(state.U, d)
    if isinstance(model, PocketPerceptron):
        written["runs"] = model._runs.copy()
        for name in BY_LABEL:
            value = getattr(model, name)
            values = list(value.values()) if isinstance(value, dict) else [value]
            written[name.rstrip("_")] = [to_extended(v) for v in values]
    return written


def decode_perceptron(
    model: PerceptronBase, reader: Reader, Z: np.ndarray, labels: list[Hashable]
) -> None:
    """Put the state written into a model that has its classes; Z are the weights it predicts with."""
    d, k = Z.shape[1] - 1, len(labels)
    model.n_iter_ = reader.count("n_iter")
    model.n_mistakes_ = reader.count("n_mistakes")
    machines = zip(labels, reader.readers("machines", k), strict=True)
    model._logs = [decode_log(one, label, d) for label, one in machines]
    model.stop_reason_ = model._logs[0].reason
    if k > 1:
        model.stop_reason_ = decode_reason(reader.reader("reason"))
    room = reader.count("room", least=d + 1) if "room" in reader else d
    if room > max(LEAST_ROOM, 2 * d):
        raise bad(reader.called("room"), f"at most {max(LEAST_ROOM, 2 * d)}", room)
    if "index" in reader:
        _decode_index(model, reader, d)
    if "rng" in reader:
        model._rng = decode_generator(reader.reader("rng"))
    if isinstance(model, (Perceptron, PocketPerceptron)):
        model._state = _decode_state(reader, Z.shape, room)
    if isinstance(model, Perceptron):
        _check_predictors(model, Z)
    elif isinstance(model, PocketPerceptron):
        model._pocket = _widened(Z, room)
        model._runs = reader.array("runs", int, (k, 2))
        for name in BY_LABEL:
            values = reader.extended_list(name.rstrip("_"), k)
            whole = [int(v) for v in values] if name == "best_update_" else values
            setattr(model, name, model._by_label(dict(zip(labels, whole, strict=True))))
    elif isinstance(model, BatchPerceptron):
        model._Z = _widened(Z, room)
    model._publish()


def _decode_index(model: Any, reader: Reader, d: int) -> None:
    names = [decode(name, reader.called("index")) for name in reader.items("index", d)]
    try:
        model.feature_index_ = {name: j for j, name in enumerate(names)}
    except TypeError:
        raise InputError("index must hold names of features. Got others instead.") from None
    if len(model.feature_index_) != d:
        raise InputError("index must name every feature once. Got a repeated name instead.")


def _decode_state(reader: Reader, shape: tuple[int, ...], room: int) -> State:
    running = reader.array("running", float, shape)
    counts = reader.array("counts", int, (shape[0], 4))
    if counts.min() < 0 or np.any(counts[:, MADE] > counts[:, SEEN]):
        raise InputError("counts must hold numbers ≥ 0, no more updates than rows. Got others instead.")
    average = np.zeros((shape[0], 0))
    if "average" in reader:
        average = _widened(reader.array("average", float, shape), room)
    return State(_widened(running, room), average, counts)


def _check_predictors(model: Perceptron, Z: np.ndarray) -> None:
    """The weights to predict with must be those that follow from the state."""
    average = bool(model._state.U.shape[1])
    if average != bool(model._fitted_scheme.get("average")):
        raise InputError("average must be there if the scheme says so, and only then.")
    found = _narrow(model._state.predictors(), Z.shape[1] - 1)
    if found.tobytes() != Z.tobytes():
        raise InputError("weights must follow from the running weights. Got others instead.")


def _narrow(Z: np.ndarray, d: int) -> np.ndarray:
    """The columns of features that are known, and the bias."""
    return np.column_stack([Z[:, :d], Z[:, -1]]) if Z.shape[1] > d + 1 else Z.copy()


def _widened(Z: np.ndarray, room: int) -> np.ndarray:
    wide = np.zeros((len(Z), room + 1))
    wide[:, : Z.shape[1] - 1], wide[:, -1] = Z[:, :-1], Z[:, -1]
    return wide
