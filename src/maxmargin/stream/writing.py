"""Predictions as they are made: one line each, to standard output or to a file that can be resumed."""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.stream.block import NO_LABEL
from maxmargin.stream.labels import text_of_label

__all__ = ["Predictions", "open_predictions"]

NOTHING = "?"  # what is written when no label is known yet


class Predictions:
    """Lines of predictions.

    Parameters
    ----------
    file : binary stream
        Where they go.
    as_json : bool
        Write objects with prediction, label and mistake, instead of the prediction alone.
    lasting : bool
        It is a file whose length counts.
    ours : bool
        It was opened here, and is closed here.
    """

    def __init__(self, file: BinaryIO, as_json: bool, lasting: bool, ours: bool = True) -> None:
        self.file, self.as_json, self.lasting, self.ours = file, as_json, lasting, ours

    def add(self, predicted: np.ndarray, codes: np.ndarray, labels: list[Any]) -> None:
        """Write some predictions; codes stand for labels."""
        width = len(labels) + 1  # NO_LABEL is the last
        if self.as_json:
            table = [_object(p, c, labels) for c in _codes(labels) for p in _codes(labels)]
            chosen = (codes % width) * width + predicted % width
        else:
            table = [NOTHING if p == NO_LABEL else text_of_label(labels[p]) for p in _codes(labels)]
            chosen = predicted % width
        lines = [(line + "\n").encode("utf-8") for line in table]
        lengths = np.array(list(map(len, lines)))
        letters = np.array(lines).view(np.uint8).reshape(len(lines), -1)
        used = np.arange(letters.shape[1]) < lengths[:, None]
        self.file.write(letters[chosen][used[chosen]].tobytes())

    def __enter__(self) -> Predictions:
        return self

    def __exit__(self, *_: object) -> None:
        if self.ours:
            self.file.close()

    def flush(self) -> None:
        """Pass on what was written."""
        self.file.flush()

    def secure(self) -> int | None:
        """Bring what was written to the disk; return its length, if this is a file."""
        self.file.flush()
        if not self.lasting:
            return None
        os.fsync(self.file.fileno())
        return self.file.tell()


def _codes(labels: list[Any]) -> list[int]:
    return [*range(len(labels)), NO_LABEL]


def _object(predicted: int, code: int, labels: list[Any]) -> str:
    # Before the first label is learned nothing is predicted, and the label is not among the classes.
    label = None if code == NO_LABEL else labels[code]
    content = {
        "prediction": None if predicted == NO_LABEL else labels[predicted],
        "label": label,
        "mistake": None if code == NO_LABEL else predicted != code,
    }
    return json.dumps(content, ensure_ascii=False)


def open_predictions(path: str | None, stdout: BinaryIO, as_json: bool, length: int) -> Predictions:
    """Write to a file, of which the first ``length`` bytes are kept, or to standard output."""
    if path is None:
        return Predictions(stdout, as_json, lasting=False, ours=False)
    try:
        there = os.path.getsize(path) if length else 0
        if there < length:
            raise InputError(
                f"{path}: must hold the {length:,} bytes of predictions that the checkpoint knows of. "
                f"Got {there:,} instead. Restore the file, or begin anew with --resume never."
            )
        file = open(path, "r+b" if length else "wb")  # noqa: SIM115  (open until the stream ends)
        lasting = os.path.isfile(path)  # a device or a pipe keeps nothing
        if lasting:
            file.truncate(length)
            file.seek(length)
    except OSError as error:
        raise InputError(
            f"{path}: the predictions cannot be written: {error.strerror or error}. "
            "Choose another place."
        ) from error
    return Predictions(file, as_json, lasting=lasting)
