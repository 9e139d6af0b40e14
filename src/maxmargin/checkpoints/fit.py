"""A fit that can be killed: its state goes to a file now and then, and a new fit goes on from there.

The perceptrons are kept piece by piece (some 20 ms of work), the batch perceptron step by step, the
margin machines pass by pass and between the rounds within a pass: a fit that was killed and is started
again with the same data and parameters takes the same way, bit for bit, from the last state on. A fit
that came to its end is not repeated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from maxmargin.checkpoints.codec import decode, encode
from maxmargin.checkpoints.files import read_sealed, write_sealed
from maxmargin.core.errors import InputError, MaxMarginError
from maxmargin.core.keeping import Keeper, Rng, Stage, keeping
from maxmargin.core.params import check_number
from maxmargin.core.state_forms import (
    GENERATOR,
    StateError,
    anything,
    each,
    entries,
    instance,
    maybe,
    number,
    whole,
)
from maxmargin.core.warning import warn
from maxmargin.estimators.base import LinearClassifier
from maxmargin.estimators.door import read_X
from maxmargin.rows import Rows, as_rows
from maxmargin.rows.arrays import Csr
from maxmargin.saving.arrays import plain
from maxmargin.saving.model import describe, restore
from maxmargin.saving.parameters import encode_parameters

__all__ = ["CheckpointedFit", "checkpoint"]

FORMAT, VERSION = "maxmargin-fit", 3
OUTSIDE = "n_jobs", "verbose"  # parameters that the result does not depend on
REMEDY = "Remove the file, and fit anew."
T = TypeVar("T")


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
    Killed and resumed, a fit gives the same bits as one that was never killed, except for the seconds in
    ``history_`` and for budgets of seconds, which count the time of all processes. Without a
    ``random_state`` the seed is drawn once and kept in the file. It must
    go on on the same kind of processor; for the margin machines, matrix products must run on as many
    threads as before, and rows of a file must have as much memory.

    Some parts of a fit are begun anew: the polish and the lower bound of the pocket, the first descent
    of a soft margin on wide data, the exact arithmetic after a hard margin found no plane, and
    certificates. Of :class:`maxmargin.SoftMarginSVCCV` the solutions on the folds are kept too; if
    ``n_jobs`` puts folds side by side, only the final fit is.

    Examples
    --------
    >>> import maxmargin as mm, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fit.json"
    >>> model = mm.checkpoint(mm.Perceptron(), path).fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> model.coef_
    array([[1., 1.]])
    """
    check_number("every", every, least=0)
    if not isinstance(model, LinearClassifier):
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
        content = read_sealed(self.path, FORMAT, VERSION, oldest=VERSION)
        if content is not None:
            _check(content, self.path)
        if content is not None and content["task"] != task:
            raise InputError(
                f"{self.path}: the checkpoint must be of this model with these parameters and this "
                "data. Got one of another fit instead. Remove it, or choose another file."
            )
        if content is not None and "model" in content:
            vars(model).clear()
            vars(model).update(vars(restore(content["model"])))
            return model
        seedless = getattr(model, "random_state", 0) is None
        if content is None:
            seed = int(np.random.default_rng().integers(2**31)) if seedless else None
            content = {"task": task, "seed": seed, "elapsed": 0.0, "done": [], "now": None}
        resumed = content["now"] is not None or bool(content["done"])
        keeper = _FileKeeper(self.path, self.every, content)
        try:
            if seedless:
                model.random_state = content["seed"]
            with keeping(keeper):
                model.fit(X, y, **given)
        except StateError as error:
            raise InputError(f"{self.path}: {error} {REMEDY}") from error
        except MaxMarginError:
            raise
        except (ArithmeticError, ValueError) as error:
            if not resumed:
                raise
            why = f"the fit cannot go on from this state: {error}."
            raise InputError(f"{self.path}: {why} {REMEDY}") from error
        finally:
            if seedless:
                model.random_state = None
        finished = plain(describe(model))
        write_sealed(self.path, FORMAT, VERSION, {"task": task, "model": finished})
        return model


def _check(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Refuse a checkpoint without the entries of one; what a state holds, its solver looks at."""
    seed, values = maybe(whole(0, 2**31 - 1)), each(instance(dict))
    now = maybe(instance(dict))
    going = entries(task=instance(dict), seed=seed, elapsed=number, done=values, now=now)
    ended = entries(task=instance(dict), model=instance(dict))
    try:
        (ended if "model" in content else going)(content, "the checkpoint")
    except StateError as error:
        raise InputError(f"{path}: {error} {REMEDY}") from error


class _FileKeeper(Keeper):
    """Keeps the stages of one fit in a file."""

    def __init__(self, path: str | os.PathLike[str], every: float, content: dict[str, Any]) -> None:
        self.path, self.every, self.content = path, every, content
        self.before = float(content["elapsed"])
        self.began = self.last = time.perf_counter()
        self.number = 0

    def stage(self, rng: Rng) -> Stage:
        stage = _FileStage(self, rng, self.number)
        self.number += 1
        return stage

    def write(self) -> None:
        self.content["elapsed"] = self.before + time.perf_counter() - self.began
        try:
            write_sealed(self.path, FORMAT, VERSION, self.content)
        except InputError as error:
            warn(f"{error} The fit goes on, and tries again.", UserWarning)
        self.last = time.perf_counter()


class _FileStage(Stage):
    def __init__(self, keeper: _FileKeeper, rng: Rng, number: int) -> None:
        self.keeper, self.rng = keeper, rng
        self.elapsed = keeper.before
        done, now = keeper.content["done"], keeper.content["now"]
        if number < len(done):
            found = decode(done[number])
            form = GENERATOR if rng is not None else instance(type(None))
            entries(result=anything, rng=form)(found, "a finished state")
            self.finished = found["result"]
            if rng is not None:
                rng.bit_generator.state = found["rng"]
        elif now is not None and number == len(done):
            self.saved = decode(now)
            instance(dict)(self.saved, "the state")

    def due(self) -> bool:
        return time.perf_counter() - self.keeper.last >= self.keeper.every

    def keep(self, state: Mapping[str, Any]) -> None:
        self.keeper.content["now"] = encode(dict(state))
        self.keeper.write()

    def finish(self, result: T) -> T:
        rng = None if self.rng is None else self.rng.bit_generator.state
        self.keeper.content["done"].append(encode({"result": result, "rng": rng}))
        self.keeper.content["now"] = None
        if self.due():
            self.keeper.write()
        return result


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
