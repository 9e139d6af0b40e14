"""A whole stream of text: lines in, predictions out, checkpoints now and then.

What is learned does not depend on how the lines arrive, nor on when checkpoints are written: a stream
that was killed and is fed the same input again ends in the same state, bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from maxmargin.core.errors import InputError
from maxmargin.files.textsource import LINE
from maxmargin.stream import jsonlines, svmlight
from maxmargin.stream.block import Block
from maxmargin.stream.learner import Learner
from maxmargin.stream.source import Lines
from maxmargin.stream.state import StreamState, write_state
from maxmargin.stream.writing import Predictions

__all__ = ["Session"]

WORTH = 1 << 16  # bytes from which on a thread is worth its start


class Session:
    """One stream from its beginning, or from a checkpoint, to its end.

    Parameters
    ----------
    state : StreamState
        Where it is.
    learner : Learner
        Of the model in the state.
    lines : Lines
        The input.
    predictions : Predictions
        The output.
    say : callable
        Told of reports, and of checkpoints that failed.
    report : int
        Labelled examples between reports; 0 for none.
    checkpoint : path, optional
        The file for the state.
    every : float
        Seconds between checkpoints.
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
        self._read: Callable[[bytes, int, str], Block] | None = None
        self._work: Future[None] | None = None
        self._last = time.monotonic()

    def take(self, text: bytes) -> None:
        """Predict and learn some lines; if one is wrong, those before it, and raise its error.

        If more can be read already, a thread learns, so that the next lines can be taken meanwhile; its
        error is raised by the next call.
        """
        read, line = self._reader(text), self.lines.line
        if read is None:
            self.lines.line += text.count(b"\n")
            self.lines.done(text)
            return
        block = read(text, line, self.lines.shown)
        self.lines.line = block.next_line
        self._wait()
        if len(text) < WORTH or block.error is not None or not self.lines.ready():
            self._learn(text, line, block)
            return
        pool = ThreadPoolExecutor(1)
        self._work = pool.submit(self._learn, text, line, block)
        pool.shutdown(wait=False)  # the thread ends with its work

    def save(self) -> None:
        """Write a checkpoint after all that was taken."""
        try:
            self._wait()
        except InputError:
            self._save()
            raise
        self._save()

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
        self.predictions.flush()
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

    def _reader(self, text: bytes) -> Callable[[bytes, int, str], Block] | None:
        """Tell JSON from svmlight by the first line that is not blank."""
        if self._read is None:
            start = text.lstrip()
            if start:
                self._refuse_table(start.partition(b"\n")[0])
                self._read = jsonlines.read_lines if start[:1] == b"{" else svmlight.line_reader()
        return self._read

    def _refuse_table(self, first: bytes) -> None:
        """A line of a table would be one long label."""
        if first[:1] != b"{" and b":" not in first and any(mark in first for mark in (b",", b";")):
            raise InputError(
                f"{self.lines.shown}: a stream must be svmlight text (label 1:value 2:value …) or JSON "
                'lines ({"x": {name: value, …}, "y": label}). Got a table instead. Learn from it with '
                "maxmargin fit --model perceptron, or write its rows as JSON lines."
            )

    def _done_until(self, text: bytes, line: int, block: Block, count: int) -> None:
        """Count as consumed the lines up to the example that was learned last."""
        self.predictions.flush()
        if not count:
            return
        place = 0
        for match in LINE.finditer(text):
            place, line = match.end(), line + 1
            if line > block.lines[count - 1]:
                break
        self.lines.done(text[:place])
