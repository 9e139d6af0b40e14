"""A fit that can be killed: its state goes to a file now and then, and a new fit goes on from there.

The perceptrons are kept piece by piece (some 20 ms of work), the batch perceptron step by step: a fit
that was killed and is started again with the same data and parameters takes the same way, bit for bit,
from the last state on. Of margin machines (w, b, α) is kept after each pass: the new fit is a warm start
from there, and ends at the same certified optimum. A fit that came to its end is not repeated.

States of solvers as JSON: plain values are themselves, all others are objects with one tag.

Arrays are written in base64, the lowest byte first, and packed if that makes them much shorter (most
multipliers are at a bound), but never so much that a small file unpacks to a large state; nothing in a
state is ever run.

JSON files with a checksum and a format, replaced whole or not at all.
"""

from __future__ import annotations

import base64
import math
import os
import time
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from maxmargin._version import __version__
from maxmargin.core.atomic_write import sweep, write_atomically
from maxmargin.core.errors import InputError, MaxMarginError, warn
from maxmargin.core.history import Epoch, History, Trace, Update
from maxmargin.core.keeping import Keeper, Rng, Stage, keeping
from maxmargin.core.parameters import check_number
from maxmargin.core.size_limits import MAX_EXPANSION
from maxmargin.core.state_forms import (
    GENERATOR,
    StateError,
    anything,
    count,
    each,
    entries,
    instance,
    listed,
    maybe,
    number,
    numbers,
    whole,
)
from maxmargin.estimators.base import LinearClassifier
from maxmargin.estimators.validation import read_X
from maxmargin.rows import Rows, as_rows
from maxmargin.rows.base import Csr
from maxmargin.saving.codec import Parts, plain
from maxmargin.saving.model_file import describe, restore, seal, unseal
from maxmargin.saving.model_state import REASON, encode_parameters
from maxmargin.solvers.problem import Solution
from maxmargin.stopping import StopReason

SAMPLE = 1 << 16  # bytes that show whether packing pays
SHORT_BYTES = 4_096  # bytes of an array that may be packed to any length
DTYPES = ("<f8", "<i8", "|b1")
RECORDS = {"solution": Solution}
TAGS = {record: tag for tag, record in RECORDS.items()}


def encode(value: Any) -> Any:
    """Return a value as plain JSON."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return [encode(v) for v in value]
    if type(value) is dict:
        return {"dict": {k: encode(v) for k, v in value.items()}}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, np.ndarray):
        raw = np.ascontiguousarray(value).tobytes()
        packed = 2 * len(zlib.compress(raw[:SAMPLE], 1)) < len(raw[:SAMPLE])
        data = base64.b64encode(_pack(raw) if packed else raw).decode("ascii")
        return {"packed" if packed else "array": [value.dtype.str, list(value.shape), data]}
    if isinstance(value, StopReason):
        return {"reason": plain(REASON.write(value))}
    if isinstance(value, History):
        return {"history": [encode(list(epoch)) for epoch in value]}
    if isinstance(value, Trace):
        updates = [encode([u.step, u.row, u.margin, u.weights]) for u in value]
        return {"trace": [encode(value.start), updates]}
    if type(value) in TAGS:
        return {TAGS[type(value)]: {k: encode(v) for k, v in vars(value).items()}}
    raise TypeError(f"no state holds a {type(value).__name__}")


def decode(value: Any) -> Any:
    """Return what :func:`encode` wrote; :class:`StateError` if it wrote no such thing."""
    if type(value) is list:
        return [decode(v) for v in value]
    if type(value) is not dict:
        return value
    if len(value) != 1:
        raise StateError("a state must hold values with one tag. Got another instead.")
    ((tag, content),) = value.items()
    try:
        return _tagged(tag, content)
    except StateError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError, zlib.error) as error:
        raise StateError(f"a state must hold values with known tags. Got {tag!r}: {error}.") from None


def _tagged(tag: str, content: Any) -> Any:
    if tag == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if tag == "dict":
        return {k: decode(v) for k, v in content.items()}
    if tag == "bytes":
        return base64.b64decode(content, validate=True)
    if tag in ("array", "packed"):
        dtype, shape, data = content
        if dtype not in DTYPES:
            raise ValueError(f"arrays of type {dtype!r}")
        raw = base64.b64decode(data, validate=True)
        raw = _unpack(raw) if tag == "packed" else raw
        return np.frombuffer(raw, dtype).reshape([int(n) for n in shape]).copy()
    if tag == "reason":
        return REASON.read(content, "reason", Parts())
    if tag == "history":
        lines = [decode(epoch) for epoch in content]
        each(listed(count, count, *[number] * (len(Epoch._fields) - 2)))(lines, "history")
        return History([Epoch(*line) for line in lines])
    if tag == "trace":
        start, updates = decode(content[0]), [decode(update) for update in content[1]]
        numbers(None)(start, "trace")
        update = listed(count, whole(-1, 2**63 - 1), number, numbers(len(start)))
        each(update)(updates, "trace")
        return Trace(start, [Update(*update) for update in updates])
    if tag in RECORDS:
        return RECORDS[tag](**{k: decode(v) for k, v in content.items()})
    raise ValueError("it is none")


def _pack(raw: bytes) -> bytes:
    """Pack bytes, at most so well that :func:`_unpack` takes them: then each byte keeps a bit."""
    packed = zlib.compress(raw, 1)
    if len(raw) > max(SHORT_BYTES, MAX_EXPANSION * len(packed)):
        only_codes = zlib.compressobj(1, strategy=zlib.Z_HUFFMAN_ONLY)
        packed = only_codes.compress(raw) + only_codes.flush()
    return packed


def _unpack(packed: bytes) -> bytes:
    """Unpack bytes that are in proportion to what is there."""
    most, unpacking = max(SHORT_BYTES, MAX_EXPANSION * len(packed)), zlib.decompressobj()
    raw = unpacking.decompress(packed, most + 1)
    if len(raw) > most or not unpacking.eof or unpacking.unused_data:
        raise ValueError("an array that is cut off, or packed out of proportion")
    return raw


def write_sealed(path: str | os.PathLike[str], kind: str, version: int, content: dict[str, Any]) -> None:
    """Replace a file; if that fails, the old one is as it was, and :class:`InputError` says so."""
    head = {"format": kind, "version": version, "library": __version__}
    write_atomically(path, seal({**head, **content}))


def read_sealed(
    path: str | os.PathLike[str], kind: str, version: int, oldest: int = 1
) -> dict[str, Any] | None:
    """Return the content of a file of this kind; None if there is no file."""
    target = Path(os.path.realpath(path))
    sweep(target.parent, target.name)
    try:
        text = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: the checkpoint cannot be read: {error.strerror or error}.") from error
    content = unseal(text, str(path), "checkpoint")
    found = content.pop("format", None), content.pop("version", None)
    content.pop("library", None)
    if found[0] != kind:
        raise InputError(f"{path}: must be a file of format {kind!r}. Got {found[0]!r} instead.")
    if type(found[1]) is not int or not oldest <= found[1] <= version:
        known = f"{oldest} to {version}" if oldest < version else f"{version}"
        old = type(found[1]) is int and found[1] < oldest
        raise InputError(
            f"{path}: maxmargin {__version__} reads format version {known}. Got {found[1]!r} instead. "
            f"{'Remove the file to begin anew.' if old else 'Update maxmargin.'}"
        )
    return content


FORMAT, VERSION = "maxmargin-fit", 4
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
    Killed and resumed, a perceptron has the same bits as one that was never killed, on the same kind of
    processor, except for the seconds in ``history_``. Without a ``random_state`` the seed is drawn once
    and kept in the file. A margin machine goes on from the plane and the multipliers of its last pass,
    and ends at the same certified optimum: equal to its gap, not to the last bit. ``n_passes_`` counts
    the passes of all processes, and budgets of seconds count their time; ``progress_`` begins anew.

    Some parts of a fit are begun anew: the polish and the lower bound of the pocket, a pass of a margin
    machine that was not finished, the exact arithmetic after a hard margin found no plane, and
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
        except InputError as error:
            if not resumed:
                raise
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
