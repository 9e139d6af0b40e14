"""Text as it arrives: lines, without waiting for more than there are, and the examples in them.

A line is svmlight text, or JSON: ``{"x": {"name": number, …}, "y": label}``, or ``"x": [number, …]``,
whose members are called "0", "1", …; other entries of the object are left alone. A line without a label
(in svmlight also with ``?``, in JSON without ``y`` or with null) is only to be predicted. Each label is
what it says, since nobody knows yet what the others will be.
"""

from __future__ import annotations

import contextlib
import json
import math
import select
import signal
import socket
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import LARGEST
from maxmargin.files.svmlight import Parsed
from maxmargin.files.text import (
    CHUNK_BYTES,
    MAX_LINE_BYTES,
    Scratch,
    at_line,
    check_encoding,
    line_ends,
    read_float,
    short,
)
from maxmargin.saving.sealed import no_number

NO_LABEL = -1
END_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # end the input, not the work
SET_PIPE_SIZE = 1031  # fcntl.F_SETPIPE_SZ, on Linux


class Lines:
    """The whole lines that are there of a binary stream with ``read1``; it waits only if there are none.

    ``checked`` keeps the checksum of what was consumed.
    """

    def __init__(self, file: Any, checked: bool = False) -> None:
        name = getattr(file, "name", None)
        self.shown = name if isinstance(name, str) and name != "<stdin>" else "-"
        self.line = 1  # number of the next line
        self.consumed = 0  # bytes of the lines that are done
        self.checksum = 0
        self._alarm: socket.socket | None = None  # receives the numbers of signals
        self._file, self._checked = file, checked
        self._parts: list[bytes] = []  # of a line whose end is not there yet
        self._held = 0
        self._begun = self._ended = self._stopped = False
        with contextlib.suppress(Exception):  # larger pieces cost less; a pipe of any size will do
            import fcntl

            fcntl.fcntl(file.fileno(), SET_PIPE_SIZE, CHUNK_BYTES)

    def take(self) -> bytes:
        """Return the next lines, the last of the stream perhaps without its end; nothing at the end.

        A signal is an end, too: a line that has only begun is left out.
        """
        while not self._ended:
            if self._signalled():
                return b""
            part = self._read()
            self._ended = not part
            end = part.rfind(b"\n") + 1
            if end:
                text = b"".join((*self._parts, memoryview(part)[:end]))
                self._parts, self._held = [part[end:]], len(part) - end
                return self._without_mark(text)
            self._parts.append(part)
            self._held += len(part)
            if self._held > MAX_LINE_BYTES:
                raise InputError(
                    f"{at_line(self.shown, self.line)}: a line must have at most {MAX_LINE_BYTES:,} "
                    "bytes. Got more. Is this text?"
                )
        text = b"".join(self._parts)
        self._parts = []
        return self._without_mark(text)

    def _without_mark(self, text: bytes) -> bytes:
        """Refuse what is no UTF-8; its mark at the start is made blank, so that places stay."""
        if self._begun:
            return text
        self._begun = True
        check_encoding(text, self.shown)
        return b"   " + text[3:] if text.startswith(b"\xef\xbb\xbf") else text

    def ready(self) -> bool:
        """Whether there is something to read already, or the end of it."""
        return self._has_more() is not False

    def done(self, text: bytes) -> None:
        """Count these lines as consumed."""
        self.consumed += len(text)
        if self._checked:
            self.checksum = zlib.crc32(text, self.checksum)

    def skip(self, size: int, checksum: int) -> bytes:
        """Go on behind the first bytes, which the checksum must confirm; return lines behind them."""
        while self.consumed < size:
            text = self.take()
            if self._stopped:
                return b""
            if not text:
                break
            rest = text[size - self.consumed :] if self.consumed + len(text) > size else b""
            known = text[: len(text) - len(rest)]
            self.line += line_ends(known, 0, len(known))
            self.done(known)
            if rest:
                self._agree(size, checksum)
                return rest
        self._agree(size, checksum)
        return b""

    def _agree(self, size: int, checksum: int) -> None:
        if self.consumed != size or self.checksum != checksum:
            raise InputError(
                f"{self.shown}: must begin with the {size:,} bytes that the checkpoint has learned "
                "from. Got others instead. Feed the same input again; or say --resume go-on if this "
                "input follows them, or --resume never to begin anew."
            )

    def _signalled(self) -> bool:
        """Wait until there is something to read; return whether a signal ended the input instead."""
        while self._alarm is not None and not self._stopped:
            try:
                there = select.select([self._file.fileno(), self._alarm], [], [])[0]
            except (AttributeError, OSError, ValueError):  # not a file of the system: no wait
                there = select.select([self._alarm], [], [], 0)[0]
            if self._alarm not in there:
                break
            self._stopped = any(number in END_SIGNALS for number in self._alarm.recv(4096))
        return self._stopped

    @contextlib.contextmanager
    def ended_by_signals(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM end the input instead of the work: nothing is left half learned.

        A signal need not interrupt the wait for input: another thread may receive it, or it comes just
        before the wait. So it rings an alarm that is waited for as well.
        """
        alarm, bell = socket.socketpair()
        with alarm, bell:
            bell.setblocking(False)
            before, fd = {}, -1
            with contextlib.suppress(ValueError):  # signals are for the main thread
                fd = signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
                before = {number: signal.signal(number, lambda *_: None) for number in END_SIGNALS}
                self._alarm = alarm
            try:
                yield
            finally:
                self._alarm = None
                for number, handler in before.items():
                    signal.signal(number, handler)
                if before:
                    signal.set_wakeup_fd(fd)

    def _read(self) -> bytes:
        """Read what is there, up to a megabyte or so; wait only for the first bytes."""
        parts: list[bytes] = [self._file.read1(CHUNK_BYTES)]
        size = len(parts[0])
        while parts[-1] and size < CHUNK_BYTES and self._has_more():
            parts.append(self._file.read1(CHUNK_BYTES))
            size += len(parts[-1])
        return b"".join(parts)

    def _has_more(self) -> bool | None:
        """Whether there is something to read, or the end of it; None if it is no file of the system."""
        try:
            file = self._file.fileno()
        except (AttributeError, OSError):
            return None
        try:
            return bool(select.select([file], [], [], 0)[0])
        except (OSError, ValueError):
            return False


@dataclass
class Block:
    """Examples in order; if a line could not be read, those before it, and the error."""

    data: np.ndarray  # values of all entries
    numbers: np.ndarray | None  # their features as numbers, if the text numbers them,
    names: list[str] | None  # … else their names
    indptr: np.ndarray  # where the entries of each example begin and end
    labels: list[Any]  # the distinct labels
    codes: np.ndarray  # which of them each example has, or NO_LABEL
    lines: np.ndarray  # the line of each example
    next_line: int  # the line after the text, if all of it was read
    shown: str  # the name of the source
    error: InputError | None = None

    def where(self, i: int) -> str:
        """The place of example i, for errors."""
        return at_line(self.shown, int(self.lines[i]))

    def __len__(self) -> int:
        return len(self.codes)


def read_json_lines(text: bytes, line: int, shown: str = "-") -> Block:
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
        found = json.loads(raw, parse_constant=no_number)
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
        if type(value) not in (float, int, bool) or not abs(value) <= LARGEST:
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


def label_of_text(text: str) -> Any:
    """A whole number, a number, or the text itself."""
    text = canonical(text)
    value = read_float(text)
    if value is None or not abs(value) < 2**53:
        return text
    return int(value) if value.is_integer() else value


def text_of_label(label: Any) -> str:
    """The text that stands for a label on the command line."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and math.isfinite(label) and not label.is_integer():
        return repr(label)
    return canonical(str(label))


def read_svmlight_lines(
    text: bytes, line: int, shown: str = "-", scratch: Scratch | None = None
) -> Block:
    """Read whole lines, the first of which has this number; the block lives as long as its scratch."""
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
