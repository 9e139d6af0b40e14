"""A whole stream: examples or lines of text in, predictions out, checkpoints now and then.

:func:`run` is the online protocol on any iterable of examples; a :class:`Session` does the same to text.

What is learned does not depend on how the lines arrive, nor on when checkpoints are written: a stream
that was killed and is fed the same input again ends in the same state, bit for bit. A checkpoint is JSON
with a checksum, replaced whole or not at all: the model as a model file holds it, the counts of
progressive validation (every example is a test before it is a lesson), and how far the input was read.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import numpy as np

from maxmargin.core.codec import ANYTHING, COUNT, entries, maybe
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import check_number
from maxmargin.files.text import LINE, Scratch
from maxmargin.saving.model_file import describe, from_dict
from maxmargin.saving.sealed import pack, read_sealed, write_sealed
from maxmargin.stream.learner import Learner
from maxmargin.stream.text_input import (
    NO_LABEL,
    Block,
    Lines,
    read_json_lines,
    read_svmlight_lines,
    text_of_label,
)

FORMAT, VERSION = "maxmargin-stream", 2
NO_PREDICTION = "?"  # what is written when no label is known yet
MIN_THREADED_BYTES = 1 << 16  # from which on a thread is worth its start


class Predictions:
    """Lines of predictions, or of JSON with prediction, label and mistake."""

    def __init__(self, file: BinaryIO, as_json: bool, is_file: bool) -> None:
        self.file, self.as_json = file, as_json
        self.is_file = is_file  # what is written stays, and can be cut off

    def add(self, predicted: np.ndarray, codes: np.ndarray, labels: list[Any]) -> None:
        """Write some predictions; codes stand for labels."""
        width = len(labels) + 1  # NO_LABEL is the last
        known = [*range(len(labels)), NO_LABEL]
        if self.as_json:
            table = [_object(p, c, labels) for c in known for p in known]
            chosen = (codes % width) * width + predicted % width
        else:
            table = [NO_PREDICTION if p == NO_LABEL else text_of_label(labels[p]) for p in known]
            chosen = predicted % width
        lines = [(line + "\n").encode("utf-8") for line in table]
        lengths = np.array(list(map(len, lines)))
        letters = np.array(lines).view(np.uint8).reshape(len(lines), -1)
        used = np.arange(letters.shape[1]) < lengths[:, None]
        self.file.write(letters[chosen][used[chosen]].tobytes())

    def secure(self) -> int | None:
        """Bring what was written to the disk; return its length, if this is a file."""
        self.file.flush()
        if not self.is_file:
            return None
        os.fsync(self.file.fileno())
        return self.file.tell()


def _object(predicted: int, code: int, labels: list[Any]) -> str:
    content = {
        "prediction": None if predicted == NO_LABEL else labels[predicted],
        "label": None if code == NO_LABEL else labels[code],
        "mistake": None if code == NO_LABEL else predicted != code,
    }
    return json.dumps(content, ensure_ascii=False)


@contextlib.contextmanager
def open_predictions(
    path: str | None, stdout: BinaryIO, as_json: bool, length: int
) -> Iterator[Predictions]:
    """Write to a file, of which the first ``length`` bytes are kept, or to standard output."""
    if path is None:
        yield Predictions(stdout, as_json, is_file=False)
        return
    try:
        there = os.path.getsize(path) if length else 0
        if there < length:
            raise InputError(
                f"{path}: must hold the {length:,} bytes of predictions that the checkpoint knows of. "
                f"Got {there:,} instead. Restore the file, or begin anew with --resume never."
            )
        file: Any = open(path, "r+b" if length else "wb")  # noqa: SIM115  (open until the stream ends)
        is_file = os.path.isfile(path)  # a device or a pipe keeps nothing
        if is_file:
            file.truncate(length)
            file.seek(length)
    except OSError as error:
        raise InputError(
            f"{path}: the predictions cannot be written: {error.strerror or error}. "
            "Choose another place."
        ) from error
    with file:
        yield Predictions(file, as_json, is_file)


@dataclass
class Tally:
    """Counts of a stream so far; an example for which nothing could be predicted is a mistake."""

    examples: int = 0
    labelled: int = 0
    mistakes: int = 0
    marked: int = 0  # mistakes up to the last report

    def add(self, predicted: np.ndarray, codes: np.ndarray, every: int = 0) -> list[str]:
        """Count some examples; return the reports that are due after every so many labelled ones."""
        self.examples += len(codes)
        wrong = (predicted != codes)[codes != NO_LABEL]
        if not every or (self.labelled % every) + len(wrong) < every:
            self.labelled += len(wrong)
            self.mistakes += int(np.count_nonzero(wrong))
            return []
        total = self.mistakes + np.cumsum(wrong)
        reports = []
        for at in range(every - self.labelled % every, len(wrong) + 1, every):
            labelled, mistakes = self.labelled + at, int(total[at - 1])
            reports.append(
                f"{labelled:,} examples: {mistakes:,} mistakes, error {mistakes / labelled:.5f}, "
                f"of the last {every:,} {(mistakes - self.marked) / every:.5f}"
            )
            self.marked = mistakes
        self.labelled += len(wrong)
        self.mistakes = int(total[-1])
        return reports

    def summary(self) -> str:
        """The final line; examples that taught nothing, for want of a label, are counted."""
        error = f"error {self.mistakes / self.labelled:.5f}" if self.labelled else "no labels"
        learned = f"{self.labelled:,} examples learned: {self.mistakes:,} mistakes, {error}"
        rest = self.examples - self.labelled
        if not rest:
            return learned
        said = f"{learned}. {rest:,} more without a label, only predicted"
        if self.labelled:
            return said
        return f'{said}: a label is the first word of an svmlight line, or "y" of a JSON line'


@dataclass
class StreamState:
    """All that a stream needs to go on as if it had never ended."""

    model: Any
    tally: Tally = field(default_factory=Tally)
    bits: int | None = None  # of hashed feature names
    read: int = 0  # bytes of the input learned from,
    checksum: int = 0  # and their checksum
    written: int | None = None  # bytes of the file of predictions


STATE = entries(
    {
        "counts": entries(dict.fromkeys(asdict(Tally()), COUNT)),
        "input": entries({"bytes": COUNT, "checksum": COUNT}),
        "written": maybe(COUNT),
        "bits": maybe(COUNT),
        "model": ANYTHING,
    }
)


def write_state(state: StreamState, path: str | os.PathLike[str]) -> None:
    """Replace the file by the present state; if that fails, the old one is as it was."""
    content = {
        "counts": asdict(state.tally),
        "input": {"bytes": state.read, "checksum": state.checksum},
        "written": state.written,
        "bits": state.bits,
        "model": pack(describe(state.model))[0],
    }
    write_sealed(path, FORMAT, VERSION, content)


def read_state(path: str | os.PathLike[str]) -> StreamState | None:
    """Return the state in a file; None if there is no file, :class:`InputError` if it is not whole."""
    content = read_sealed(path, FORMAT, VERSION)
    if content is None:
        return None
    try:
        found = STATE.read(content, "the state")
        return StreamState(
            model=from_dict(found["model"]),
            tally=Tally(**found["counts"]),
            bits=found["bits"],
            read=found["input"]["bytes"],
            checksum=found["input"]["checksum"],
            written=found["written"],
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


class Session:
    """One stream from its beginning, or from a checkpoint, to its end.

    The learner is that of the state's model. ``say`` is called with a report after every ``report``
    labelled examples (0: never), and with warnings of checkpoints that could not be written; these are
    due every so many seconds (``every``), and at the end.
    """

    def __init__(
        self,
        state: StreamState,
        learner: Learner,
        lines: Lines,
        predictions: Predictions,
        say: Callable[[str], None],
        report: int = 0,
        checkpoint: str | None = None,
        every: float = 10.0,
    ) -> None:
        self.state, self.learner, self.lines, self.predictions = state, learner, lines, predictions
        self.say, self.report, self.checkpoint, self.every = say, report, checkpoint, every
        self._is_json: bool | None = None  # known from the first line that is not blank
        self._scratches = [Scratch(), Scratch()]
        self._work: Future[None] | None = None
        self._last = time.monotonic()

    def run(self, skip: int = 0) -> None:
        """Take all lines behind the first ``skip`` bytes, which must be those of the checkpoint."""
        lines = self.lines
        try:
            with lines.ended_by_signals():
                text = lines.skip(skip, self.state.checksum) if skip else b""
                while text or (text := lines.take()):
                    self._take(text)
                    text = b""
            self._wait()
        except InputError:
            with contextlib.suppress(InputError):  # the error at hand is the one to tell
                self._wait()
            with contextlib.suppress(InputError):
                if lines.consumed > skip:
                    self._save()
            raise
        if lines.consumed >= skip:  # else it ended while it skipped: the checkpoint stands
            self._save()

    def _take(self, text: bytes) -> None:
        """Predict and learn some lines; if one is wrong, those before it, and raise its error.

        If more can be read already, a thread learns, so that the next lines can be taken meanwhile; its
        error is raised by the next call.
        """
        line = self.lines.line
        if self._is_json is None and text.strip():
            self._is_json = self._starts_as_json(text.lstrip())
        if self._is_json is None:
            self.lines.line += text.count(b"\n")
            self.lines.done(text)
            return
        if self._is_json:
            block = read_json_lines(text, line, self.lines.shown)
        else:  # the thread may still use the last block, and its scratch
            self._scratches.reverse()
            block = read_svmlight_lines(text, line, self.lines.shown, self._scratches[0])
        self.lines.line = block.next_line
        self._wait()
        if len(text) < MIN_THREADED_BYTES or block.error is not None or not self.lines.ready():
            self._learn(text, line, block)
            return
        pool = ThreadPoolExecutor(1)
        self._work = pool.submit(self._learn, text, line, block)
        pool.shutdown(wait=False)  # the thread ends with its work

    def _starts_as_json(self, text: bytes) -> bool:
        """Tell JSON from svmlight; a line of a table would be one long label."""
        first = text.partition(b"\n")[0]
        if first[:1] == b"{":
            return True
        if b":" not in first and (b"," in first or b";" in first):
            raise InputError(
                f"{self.lines.shown}: a stream must be svmlight text (label 1:value 2:value …) or JSON "
                'lines ({"x": {name: value, …}, "y": label}). Got a table instead. Learn from it with '
                "maxmargin fit --model perceptron, or write its rows as JSON lines."
            )
        return False

    def _wait(self) -> None:
        """Wait for the thread, and raise its error."""
        work, self._work = self._work, None
        if work is not None:
            work.result()

    def _learn(self, text: bytes, line: int, block: Block) -> None:
        """Predict and learn the examples of a text that begins with this line."""
        tally = self.state.tally
        before = tally.examples
        try:
            for predicted, codes, labels in self.learner.take(block):
                self.predictions.add(predicted, codes, labels)
                for report in tally.add(predicted, codes, self.report):
                    self.say(report)
        except InputError:
            self._done_until(text, line, block, tally.examples - before)
            raise
        self.lines.done(text)
        self.predictions.file.flush()
        if self.checkpoint is not None and time.monotonic() - self._last >= self.every:
            try:
                self._save()
            except InputError as error:
                self.say(f"Warning: {error} The stream goes on, and tries again.")
            self._last = time.monotonic()

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        state, lines = self.state, self.lines
        state.written = self.predictions.secure()
        state.read, state.checksum = lines.consumed, lines.checksum
        write_state(state, self.checkpoint)

    def _done_until(self, text: bytes, line: int, block: Block, count: int) -> None:
        """Count as consumed the lines up to the example that was learned last."""
        self.predictions.file.flush()
        if not count:
            return
        place = 0
        for match in LINE.finditer(text):
            place, line = match.end(), line + 1
            if line > block.lines[count - 1]:
                break
        self.lines.done(text[:place])


def run(
    iterable: Iterable[tuple[Any, Any]],
    model: Any,
    classes: Any = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 10.0,
) -> Iterator[tuple[Any, bool | None]]:
    """Predict each example, then learn from it.

    Parameters
    ----------
    iterable : iterable of (x, y)
        Examples: x a vector or a dict, y its label, or None to predict only.
    model : Perceptron, or any model with ``predict_one`` and ``learn_one``
        It is learned in place.
    classes : array-like, optional
        All labels; needed for more than two.
    checkpoint : path, optional
        A file for the state of the model and the number of examples learned. If it exists, the model is
        brought into the state in it and as many examples of the iterable are skipped: the same examples
        from their beginning give the same bits as a run that was never interrupted.
    every : float ≥ 0, default 10
        Seconds between checkpoints; there is one more at the end. A checkpoint counts an example when
        the next one is asked for.

    Yields
    ------
    prediction : label
        None while no label is known.
    mistake : bool
        Whether it differs from y; None if there is no y. No prediction is a mistake.

    Examples
    --------
    >>> import maxmargin as mm
    >>> examples = [({"a": 1.0}, "yes"), ({"b": 2.0}, "no"), ({"a": 2.0}, "yes")]
    >>> list(mm.stream.run(examples, mm.Perceptron()))
    [(None, True), ('yes', True), ('yes', False)]
    """
    check_number("every", every, least=0)
    for method in ("predict_one", "learn_one"):
        if not hasattr(model, method):
            raise InputError(
                f"model must have predict_one and learn_one. Got {type(model).__name__} instead. "
                "Use a Perceptron."
            )
    if checkpoint is None:
        return (_step(x, y, model, classes) for x, y in iterable)
    return _checkpointed(iterable, model, classes, checkpoint, every)


def _step(x: Any, y: Any, model: Any, classes: Any) -> tuple[Any, bool | None]:
    prediction = model.predict_one(x)
    if y is None:
        return prediction, None
    if classes is None:
        model.learn_one(x, y)
    else:
        model.learn_one(x, y, classes)
    return prediction, bool(prediction is None or prediction != y)


def _checkpointed(
    iterable: Iterable[tuple[Any, Any]],
    model: Any,
    classes: Any,
    path: str | os.PathLike[str],
    every: float,
) -> Iterator[tuple[Any, bool | None]]:
    state = read_state(path)
    if state is None:
        state = StreamState(model)
    else:
        _bring(model, state, path)
    tally, last = state.tally, time.monotonic()
    examples = itertools.islice(iterable, tally.examples, None)
    for x, y in examples:
        answer = _step(x, y, model, classes)
        yield answer
        tally.examples += 1
        if answer[1] is not None:
            tally.labelled += 1
            tally.mistakes += answer[1]
        if time.monotonic() - last >= every:
            write_state(state, path)
            last = time.monotonic()
    write_state(state, path)


def _bring(model: Any, state: StreamState, path: str | os.PathLike[str]) -> None:
    """Bring a model into the state of a checkpoint, if it is one of the same parameters."""
    saved = state.model
    same = type(saved) is type(model) and repr(saved.get_params()) == repr(model.get_params())
    if not same:
        raise InputError(
            f"{path}: the checkpoint must be of this model, {model!r}. Got {saved!r} instead. Use the "
            "same parameters, or another file."
        )
    vars(model).clear()
    vars(model).update(vars(saved))
    state.model = model
