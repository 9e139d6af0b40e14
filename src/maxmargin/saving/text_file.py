"""Model files as bytes and as text, and text line by line, with errors that name the line."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from maxmargin.core.errors import InputError

MOST = 1 << 28  # weights in all, at most: two gigabytes


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8, with or without a byte-order mark."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the model file cannot be read: it is not text in UTF-8.") from error


def read_bytes(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Return a model file, or its first bytes, at most so many."""
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: the model file cannot be read: {reason}.") from error


class Lines:
    """The lines of a text that are not empty, with their numbers."""

    def __init__(self, text: str, path: str | os.PathLike[str]) -> None:
        self.path = path
        self._lines = text.splitlines()
        self.number = 0

    def next(self) -> str | None:
        """Return the next line, without blanks around it; None at the end."""
        while self.number < len(self._lines):
            self.number += 1
            if line := self._lines[self.number - 1].strip():
                return line
        return None

    def fail(self, message: str) -> NoReturn:
        """Refuse the line read last."""
        raise InputError(f"{self.path}:{self.number}: {message}")

    def head(self, end: str, what: str, needed: Sequence[str], allowed: Sequence[str]) -> dict[str, str]:
        """Return the keys and values before the line ``end``: all that are needed, each once."""
        head: dict[str, str] = {}
        while (line := self.next()) != end:
            if line is None:
                self.fail(f"a {what} has a line {end!r} before its numbers. Got the end instead.")
            key, _, value = line.partition(" ")
            if key not in allowed or key in head:
                self.fail(f"a {what} has {', '.join(needed)} and {end}. Got {line[:40]!r} instead.")
            head[key] = value.strip()
        for key in needed:
            if key not in head:
                self.fail(f"a {what} has {', '.join(needed)}. Got no {key} instead.")
        return head

    def floats(self, words: list[str]) -> list[float]:
        """Return finite numbers."""
        return [self.float(word) for word in words]

    def float(self, word: str) -> float:
        """Return a finite number."""
        try:
            value = float(word) if "_" not in word else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail(f"numbers must be finite. Got {word[:40]!r} instead.")
        return value

    def integer(self, word: str, least: int = 0, most: int = 2**31 - 1) -> int:
        """Return an integer from ``least`` to ``most``."""
        if word.lstrip("+-").isascii() and word.lstrip("+-").isdigit() and len(word) < 20:
            value = int(word)
        else:
            value = least - 1
        if not least <= value <= most:
            self.fail(f"an integer from {least} to {most} is needed. Got {word[:40]!r} instead.")
        return value


def label_vector(values: list[float]) -> np.ndarray:
    """Labels as integers where they are whole numbers."""
    if all(value == int(value) and abs(value) < 2**53 for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    return np.array(values)
