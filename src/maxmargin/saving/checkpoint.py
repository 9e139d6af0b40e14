"""A fit that can be killed: its state goes to a file now and then, and a new fit goes on from there.

Perceptrons are kept at the ends of epochs: a fit that was killed and is started again with the same data
and parameters takes the same way, bit for bit, from the last epoch on. Of margin machines (w, b, α) is
kept after each pass: the new fit is a warm start from there, and ends at the same certified optimum. A
fit that came to its end is not repeated.

A state is read in the form of the one that its solver begins with: the same entries, and arrays of the
same shapes, so that no damaged or forged file leads compiled loops astray. Nothing in a file is run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from maxmargin.core.codec import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    VALUE,
    Form,
    counts,
    entries,
    listed,
    maybe,
    row,
)
from maxmargin.core.errors import InputError, NotSeparableError, warn
from maxmargin.core.history import History, Stage, Stages, State, Trace, keeping
from maxmargin.core.parameters import check_number
from maxmargin.estimators.base import LinearClassifierMixin
from maxmargin.estimators.validation import read_X
from maxmargin.rows import Rows, as_rows
from maxmargin.rows.base import Csr
from maxmargin.saving.model_file import from_dict, to_dict
from maxmargin.saving.model_state import HISTORY, REASON, encode_parameters, trace_form
from maxmargin.saving.sealed import arrays, check_expansion, pack, plain, read_sealed, write_sealed
from maxmargin.stopping import StopReason

FORMAT, VERSION = "maxmargin-fit", 7
OUTSIDE = "n_jobs", "verbose"  # parameters that the result does not depend on
REMEDY = "Remove the file, and fit anew."
TASK = {"task": ANYTHING.checked(lambda v: type(v) is dict, "an object")}
FINISHED = entries({**TASK, "model": ANYTHING})
RUNNING = entries(
    {**TASK, "seed": maybe(counts(0, 2**31 - 1)), "elapsed": NUMBER, "states": listed(ANYTHING)}
)


def checkpoint(model: Any, path: str | os.PathLike[str], every: float = 10.0) -> CheckpointedFit:
    """Return a way to fit a model that survives ``kill -9``.

    Parameters
    ----------
    model : estimator of maxmargin
        It is fitted in place.
    path : path
        The file for the state, replaced whole or not at all. If it exists and is of the same fit, that
        fit goes on from there; a finished one is taken from it as it is. The same fit has the same
        class, parameters and data: all rows, labels and weights are read, in one pass, to tell.
    every : float ≥ 0, default 10
        Seconds between states.

    Returns
    -------
    CheckpointedFit
        With a method ``fit`` that takes what the model's takes, and returns the model.

    Notes
    -----
    Killed and resumed, a perceptron has the same bits as one that was never killed, on the same kind of
    processor, except for the seconds in ``history_``. Without a ``random_state`` the seed is drawn once
    and kept in the file. A margin machine goes on from the plane and the multipliers of its last pass,
    and ends at the same certified optimum: equal to its gap, not to the last bit. ``n_passes_`` counts
    the passes of all processes, and budgets of seconds count their time; ``progress_`` begins anew.

    Some parts of a fit are begun anew: an epoch of a perceptron, or a pass of a margin machine, that was
    not finished, the polish and the lower bound of the pocket, the exact arithmetic after a hard margin
    found no plane, and certificates. Of :class:`maxmargin.SoftMarginSVCCV` the solutions on the folds
    are kept too; if ``n_jobs`` puts folds side by side, only the final fit is. The search of
    :class:`maxmargin.MinErrorClassifier` is begun anew.

    Examples
    --------
    >>> import maxmargin as mm, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fit.json"
    >>> model = mm.checkpoint(mm.Perceptron(), path).fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> model.coef_
    array([[1., 1.]])
    """
    check_number("every", every, least=0)
    if not isinstance(model, LinearClassifierMixin):
        raise InputError(
            f"model must be an estimator of maxmargin. Got {type(model).__name__} instead. "
            "Of a pipeline take the last step."
        )
    return CheckpointedFit(model, path, every)


class CheckpointedFit:
    """A model, and the file for the state of its fit; see :func:`checkpoint`."""

    def __init__(self, model: Any, path: str | os.PathLike[str], every: float) -> None:
        self.model, self.path, self.every = model, path, every

    def fit(self, X: Any, y: Any = None, **given: Any) -> Any:
        """Fit the model, or go on; everything is as for ``model.fit``."""
        model = self.model
        task = _task(model, X, y, given)
        content = _read_checkpoint(self.path)
        if content is not None and content["task"] != task:
            raise InputError(
                f"{self.path}: the checkpoint must be of this model with these parameters and this "
                "data. Got one of another fit instead. Remove it, or choose another file."
            )
        if content is not None and "model" in content:
            vars(model).clear()
            vars(model).update(vars(from_dict(content["model"])))
            return model
        seedless = getattr(model, "random_state", 0) is None
        if content is None:
            seed = int(np.random.default_rng().integers(2**31)) if seedless else None
            content = {"task": task, "seed": seed, "elapsed": 0.0, "states": []}
        resumed = bool(content["states"])
        try:
            if seedless:
                model.random_state = content["seed"]
            with keeping(_FileStages(self.path, self.every, content)):
                model.fit(X, y, **given)
        except (ArithmeticError, ValueError, TypeError, LookupError) as error:
            if not resumed or isinstance(error, NotSeparableError):
                raise
            known = isinstance(error, InputError)
            why = str(error) if known else f"the fit cannot go on from this state: {error}."
            raise InputError(f"{self.path}: {why} {REMEDY}") from error
        finally:
            if seedless:
                model.random_state = None
        getattr(model, "error_lower_bound_", None)  # while there are rows to compute it from
        write_sealed(self.path, FORMAT, VERSION, {"task": task, "model": to_dict(model)})
        return model


def _read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the entries of a checkpoint, whose states nobody has looked at yet; None without a file."""
    content = read_sealed(path, FORMAT, VERSION)
    if content is None:
        return None
    form = FINISHED if "model" in content else RUNNING
    try:
        found: dict[str, Any] = form.read(content, "the checkpoint")
    except InputError as error:
        raise InputError(f"{path}: {error} {REMEDY}") from error
    return found


class _FileStages(Stages):
    """The stages of one fit in a file."""

    def __init__(self, path: str | os.PathLike[str], every: float, content: dict[str, Any]) -> None:
        self.path, self.every, self.content = path, every, content
        self.elapsed = content["elapsed"]
        self.began = self.last = time.perf_counter()
        self.number = 0

    def stage(self) -> Stage:
        """Return the stage of the next call."""
        self.number += 1
        return _FileStage(self, self.number - 1)

    def write(self) -> None:
        """Replace the file, if that is possible."""
        self.content["elapsed"] = self.elapsed + time.perf_counter() - self.began
        try:
            write_sealed(self.path, FORMAT, VERSION, self.content)
        except InputError as error:
            warn(f"{error} The fit goes on, and tries again.", UserWarning)
        self.last = time.perf_counter()


class _FileStage(Stage):
    def __init__(self, file: _FileStages, number: int) -> None:
        self.file, self.number = file, number

    def resume(self, fresh: State) -> dict[str, Any] | None:
        """Return the state that an earlier process left, if any; it has the form of a fresh one."""
        states = self.file.content["states"]
        if self.number >= len(states):
            return None
        check_expansion(states[self.number])
        found: dict[str, Any] = _form_of(fresh()).read(states[self.number], "the state")
        return found

    def keep(self, state: State, ended: bool = False) -> None:
        """Keep the state if it is time; in any case if it is the last one of this call."""
        due = time.perf_counter() - self.file.last >= self.file.every
        if due or ended:
            now = state()
            self.file.content["states"][self.number :] = [pack(_form_of(now).write(now))[0]]
        if due:
            self.file.write()


def _form_of(state: Any) -> Form:
    """Return the form of states like this one; None stands for a reason that is not there yet."""
    if state is None or isinstance(state, StopReason):
        return maybe(REASON)
    if isinstance(state, History):
        return HISTORY
    if isinstance(state, Trace):
        return trace_form(len(state.start) - 1)
    if isinstance(state, np.ndarray):
        return arrays(float if state.dtype.kind == "f" else int, *state.shape)
    if isinstance(state, list):
        return row([_form_of(one) for one in state])
    if isinstance(state, dict):
        return entries({name: _form_of(value) for name, value in state.items()})
    return SCALARS[type(state)]


SCALARS = {
    bool: FLAG,
    int: counts(0, 2**128 - 1),  # states of random generators are that long
    float: NUMBER,
    str: TEXT,
    bytes: VALUE.checked(lambda value: type(value) is bytes, "bytes"),
}


def _task(model: Any, X: Any, y: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What tells one fit from another: the model, its parameters, and a digest of the data."""
    model._check_params()
    if isinstance(getattr(model, "random_state", None), np.random.RandomState):
        raise InputError(
            "random_state must be None or an integer for a fit with checkpoints. Got a RandomState "
            "instead, whose state nobody knows later."
        )
    if getattr(model, "warm_start", False) and "classes_" in vars(model):
        raise InputError("warm_start must be False for a fit with checkpoints. Got True instead.")
    labels = getattr(X, "labels", None) if y is None else y
    reader = clone(model)
    rows = read_X(reader, X, reset=True)
    names = list(getattr(reader, "feature_names_in_", ()))
    parts = [_digest(rows), _digest(labels), repr(names)]
    parts += [f"{name} {_digest(value)}" for name, value in sorted(given.items())]
    data = sha256("\n".join(parts).encode()).hexdigest()
    parameters = {k: v for k, v in encode_parameters(model).items() if k not in OUTSIDE}
    return {"class": type(model).__name__, "parameters": plain(parameters), "data": data}


def _digest(value: Any) -> str:
    """A digest of all of an array, or of all rows: one pass, the same however they are cut into blocks.

    SHA-256 reads 1.8 GB/s where processors have instructions for it, BLAKE2 0.9 GB/s.
    """
    if sparse.issparse(value):
        value = as_rows(sparse.csr_array(value))
    if not isinstance(value, Rows):
        array = np.asarray(value)
        raw = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
        return f"{array.shape} {array.dtype} {sha256(raw).hexdigest()}"
    streams, kind = [sha256() for _ in range(3 if value.is_sparse else 1)], ""
    for _, block in value.blocks():
        a = block.arrays
        parts = [a.data, a.indices, np.diff(a.indptr)] if isinstance(a, Csr) else [a.X]
        kind = str(parts[0].dtype)
        parts[1:] = (part.astype(np.int64) for part in parts[1:])
        for stream, part in zip(streams, parts, strict=True):
            stream.update(np.ascontiguousarray(part).data)
    return " ".join([f"{value.n} {value.d} {kind}", *(stream.hexdigest() for stream in streams)])
