"""Lines as they arrive: all that are there, without waiting for more."""

from __future__ import annotations

import contextlib
import select
import zlib
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.files.options import at_line
from maxmargin.files.textsource import line_ends

__all__ = ["Lines"]

CHUNK = 1 << 20  # bytes
LONGEST = 1 << 28  # bytes of a line
MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "a file compressed with gzip"}
SET_PIPE_SIZE = 1031  # fcntl.F_SETPIPE_SZ, on Linux


class Lines:
    """The whole lines of a binary stream that can be had now; it waits only if there are none.

    Parameters
    ----------
    file : binary stream
        With ``read1``, such as ``sys.stdin.buffer``. If it has the name of a file, errors tell it.
    checked : bool
        Keep the checksum of what was consumed.
    """

    def __init__(self, file: Any, checked: bool = False) -> None:
        name = getattr(file, "name", None)
        self.shown = name if isinstance(name, str) and name != "<stdin>" else "-"
        self.line = 1  # number of the next line
        self.consumed = 0  # bytes of the lines that are done
        self.checksum = 0
        self._file, self._checked = file, checked
        self._parts: list[bytes] = []  # of a line whose end is not there yet
        self._held = 0
        self._begun = self._ended = False
        with contextlib.suppress(Exception):  # larger pieces cost less; a pipe of any size will do
            import fcntl

            fcntl.fcntl(file.fileno(), SET_PIPE_SIZE, CHUNK)

    def take(self) -> bytes:
        """Return the next lines, the last of the stream perhaps without its end; nothing at the end."""
        while not self._ended:
            part = self._read()
            self._ended = not part
            end = part.rfind(b"\n") + 1
            if end:
                text = b"".join((*self._parts, memoryview(part)[:end]))
                self._parts, self._held = [part[end:]], len(part) - end
                return self._without_mark(text)
            self._parts.append(part)
            self._held += len(part)
            if self._held > LONGEST:
                raise InputError(
                    f"{at_line(self.shown, self.line)}: a line must have at most {LONGEST:,} bytes. "
                    "Got more. Is this text?"
                )
        text = b"".join(self._parts)
        self._parts = []
        return self._without_mark(text)

    def _without_mark(self, text: bytes) -> bytes:
        """Refuse what is no UTF-8; its mark at the start is made blank, so that places stay."""
        if self._begun:
            return text
        self._begun = True
        for mark, kind in MARKS.items():
            if text.startswith(mark):
                raise InputError(f"{self.shown}: must be text in UTF-8. Got {kind}. Convert it.")
        return b"   " + text[3:] if text.startswith(b"\xef\xbb\xbf") else text

    def ready(self) -> bool:
        """Whether there is something to read already, or the end of it."""
        try:
            file = self._file.fileno()
        except (AttributeError, OSError):  # it is in memory
            return True
        try:
            return bool(select.select([file], [], [], 0)[0])
        except (OSError, ValueError):
            return False

    def done(self, text: bytes) -> None:
        """Count these lines as consumed."""
        self.consumed += len(text)
        if self._checked:
            self.checksum = zlib.crc32(text, self.checksum)

    def skip(self, size: int, checksum: int) -> bytes:
        """Go on behind the first bytes, which the checksum must confirm; return lines behind them."""
        while self.consumed < size:
            text = self.take()
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

    def _read(self) -> bytes:
        """Read what is there, up to a megabyte or so; wait only for the first bytes."""
        first: bytes = self._file.read1(CHUNK)
        if not first or len(first) >= CHUNK:
            return first
        parts, size = [first], len(first)
        with contextlib.suppress(Exception):  # not a file of the system
            while size < CHUNK and select.select([self._file.fileno()], [], [], 0)[0]:
                part = self._file.read1(CHUNK)
                if not part:
                    break
                parts.append(part)
                size += len(part)
        return b"".join(parts)
