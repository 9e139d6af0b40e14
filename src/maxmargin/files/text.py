"""Text files, a megabyte at a time, cut at line ends; the number of any line, and numbers in text.

While some lines are worked on, a thread decompresses the next; what is not compressed, the operating
system reads ahead by itself. Numbers are read as Python reads them, or refused with their place.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import numpy as np

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import allowance
from maxmargin.kernels.text import number_texts
from maxmargin.rows.on_disk import THREAD_BYTES

CHUNK_BYTES = 1 << 20  # bytes
MAX_LINE_BYTES = 1 << 28  # bytes of a line
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")  # bytes that no text has
OTHER_FORMATS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "a file compressed with gzip",
}
LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")


def at_line(path: object, line: int) -> str:
    """The place of a mistake in text, as editors understand it; standard input is ``-``."""
    return f"{path}:{line}"


class TextSource:
    """Whole lines of a file in ``text``; the next ones replace them.

    Parameters
    ----------
    path : Path
        A file in UTF-8 (or ASCII); compressed with gzip if it begins so.
    shown : object
        Its name in errors.
    """

    def __init__(self, path: Path, shown: object) -> None:
        self.path, self.shown = path, shown
        self.text = b""
        self.ends = 0  # of lines in the text
        self._line = self.first = 1  # of the place counted to last, and of the text
        self._place = 0
        self._file: IO[bytes] | gzip.GzipFile = path.open("rb")
        if self._file.read(2) == b"\x1f\x8b":
            self._file.close()
            self._file = gzip.GzipFile(path)
        else:
            self._file.seek(0)
        self._pool: ThreadPoolExecutor | None = None
        self._coming: Future[bytes] | None = None

    def __enter__(self) -> TextSource:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown()
        self._file.close()

    @property
    def array(self) -> np.ndarray:
        """The text as the kernels read it."""
        return np.frombuffer(self.text, np.uint8)

    def advance(self) -> bool:
        """Go on to the next lines; False if there are none."""
        start = not self._place and not self.text
        self.first += self.ends
        self.text, self._line, self._place = self._take(), self.first, 0
        self.ends = line_ends(self.text, 0, len(self.text))
        if start:
            check_encoding(self.text, self.shown)
            self.text = self.text.removeprefix(b"\xef\xbb\xbf")
        return bool(self.text)

    def extend(self) -> bool:
        """Add the next lines to these; False if there are none."""
        more = self._take()
        self.text += more
        self.ends += line_ends(more, 0, len(more))
        return bool(more)

    def _take(self) -> bytes:
        """The next whole lines; those after them may be on their way."""
        part = self._read() if self._coming is None else self._coming.result()
        if self._pool is None and len(part) >= CHUNK_BYTES and isinstance(self._file, gzip.GzipFile):
            left = allowance()
            self._pool = ThreadPoolExecutor(1) if left is None or left >= THREAD_BYTES else None
        self._coming = self._pool.submit(self._read) if self._pool else None
        return part

    def _read(self) -> bytes:
        """Read the next whole lines; the last one may lack its end."""
        try:
            part = self._file.read(CHUNK_BYTES)
            if not part or part.endswith(b"\n"):
                return part
            rest = self._file.readline(MAX_LINE_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{self.shown}: the compressed file is broken or cut off. Copy it again."
            ) from error
        if len(rest) == MAX_LINE_BYTES:
            raise InputError(
                f"{self.shown}: a line must have at most {MAX_LINE_BYTES:,} bytes. Got more. "
                "Is this a file of text?"
            )
        return part + rest

    def line_at(self, place: int) -> int:
        """The number of the line that holds this byte of the text."""
        if place < self._place:
            self._line, self._place = self.first, 0
        self._line += line_ends(self.text, self._place, place)
        self._place = place
        return self._line

    def where(self, place: int) -> str:
        """The place of a mistake, in words."""
        return at_line(self.shown, self.line_at(place))

    def decode(self, raw: bytes, place: int) -> str:
        """Text of bytes that stand at this place."""
        return as_text(raw, lambda: self.where(place))

    def lines(self, place: int) -> Iterator[tuple[int, str]]:
        """The lines from this place on, and where each of them ends; more is read if need be."""
        while True:
            while place >= len(self.text):
                if not self.extend():
                    return
            match = LINE.match(self.text, place)
            line = match.group() if match else b""
            decoded = self.decode(line, place)
            place += len(line)
            yield place, decoded

    def distinct(self, places: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Tell equal texts from others: those of bytes ``places[i, 0]`` … ``places[i, 1]`` − 1.

        Returns codes and the texts they stand for.
        """
        codes, firsts = distinct(self.text, places)
        spans = places[firsts].tolist()
        return codes, [self.decode(self.text[low:high], low) for low, high in spans]


def check_encoding(start: bytes, shown: object) -> None:
    """Refuse a text that begins as none in UTF-8 does."""
    for mark, kind in OTHER_FORMATS.items():
        if start.startswith(mark):
            raise InputError(f"{shown}: must be text in UTF-8. Got {kind}. Save it as UTF-8.")


def distinct(text: bytes, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the texts at these places, equal ones alike, and tell where each appears first."""
    codes = np.empty(len(places), dtype=np.int64)
    firsts = np.empty(len(places), dtype=np.int64)
    found = number_texts(np.frombuffer(text, np.uint8), places, codes, firsts)
    return codes, firsts[:found]


def as_text(raw: bytes, where: Callable[[], str]) -> str:
    """Decode UTF-8 without control characters; ``where`` tells the place if it is something else."""
    try:
        text, strange = raw.decode("utf-8"), CONTROL.search(raw)
        if strange is None:
            return text
        start = strange.start()
    except UnicodeDecodeError as error:
        start = error.start
    raise InputError(
        f"{where()}: must be text in UTF-8. Got the bytes {raw[start : start + 12]!r} instead. "
        "Save the file as UTF-8, or name a file of text."
    )


def line_ends(text: bytes, start: int, stop: int) -> int:
    """How many lines end in bytes start … stop − 1; a carriage return and a newline are one end."""
    part = np.frombuffer(text, np.uint8)[start:stop]
    ends = int(np.count_nonzero(part == 10))
    if text.find(b"\r", start, stop) >= 0:
        ends += text.count(b"\r", start, stop) - text.count(b"\r\n", start, stop)
    return ends


class Scratch:
    """Space by name; an array is good until the same name is asked for again."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, size: int, dtype: Any = np.float64) -> np.ndarray:
        """Return an array of this size; what is in it does not matter."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size, dtype=dtype)
        return self._arrays[name][:size]


MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "."))  # in lower case


def short(text: str) -> str:
    """The text in quotes, cut so that an error stays one line."""
    return repr(text[:40])


def read_float(text: str) -> float | None:
    """Return the double nearest to a decimal text; Python's float would also take 1_0 for 10."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def is_index(text: str) -> bool:
    """Whether a text is a whole number of at most ten digits."""
    return text.isascii() and text.isdigit() and len(text) <= 10


def read_number(text: str, where: str, name: str, *, column: bool = False) -> float:
    """Return the value of feature ``name``: finite, and no whole number that would be rounded.

    Of a ``column`` of a table an error says how to do without it.
    """
    value = read_float(text)
    if value is not None and abs(value) >= 2**53 and _is_whole(text) and int(text) != value:
        raise InputError(
            f"{where}: feature {name} must be a number that a double holds. Got {short(text)} instead, "
            "which would be rounded. Subtract an offset, or write it with an exponent."
        )
    if value is not None and math.isfinite(value):
        return value
    if text.strip().lower() in MISSING:
        raise missing_number(text, where, name, column=column)
    remedies = [Remedy("correct the file")]
    if column and value is None:
        remedies.append(Remedy("encode its column", "one_hot", True))
    if column:
        remedies.append(Remedy("leave the column out", "drop", [...]))
    raise InputError(
        f"{where}: feature {name} must be a finite number. Got {short(text)} instead.", *remedies
    )


FILL_COLUMN = (
    Remedy("fill it in"),
    Remedy("leave out the row"),
    Remedy("leave out the column", "drop", [...]),
)


def missing_number(text: str, where: str, name: str, *, column: bool = False) -> InputError:
    """Return the error of a value that is missing, in a column of a table or in a line of text."""
    remedies = FILL_COLUMN if column else (Remedy("fill it in"), Remedy("leave out the line"))
    facts = f"{where}: feature {name} must not be missing. Got {short(text)} instead."
    return InputError(facts, *remedies)


def _is_whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdigit() and len(text) < 4_000
