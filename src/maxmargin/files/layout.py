"""Which column of a table is the label, and which are features; whether the first line is a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from maxmargin.core.errors import InputError
from maxmargin.core.phrases import some
from maxmargin.files.numbers import is_index, read_float
from maxmargin.files.options import Options

__all__ = ["ONE_COLUMN", "Layout", "check_names", "choose", "is_header"]

ONE_COLUMN = "There is one column: fields are separated by commas (in .tsv by tabs)."


class Layout(NamedTuple):
    """Places of the columns that are read; ``named`` if the file names them."""

    names: list[str]
    named: bool
    label_at: int | None
    features_at: list[int]

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.names[k] for k in self.features_at]

    def source(self) -> dict[str, object]:
        """Where the label and the features are, in words that tell which column is meant."""
        # A name that is repeated, or looks like a number, does not tell.
        clear = len(set(self.names)) == len(self.names) and not any(map(is_index, self.names))
        label = None if self.label_at is None else self.label_at
        return {
            "label": label if label is None else self.names[label] if clear else str(label),
            "columns": self.features if clear else list(map(str, self.features_at)),
        }


def choose(path: object, names: list[str], named: bool, options: Options) -> Layout:
    """Find the label and the features among the columns of a table."""

    def place(name: str) -> int:
        if names.count(name) == 1:
            return names.index(name)
        if is_index(name) and int(name) < len(names):
            return int(name)
        if name[:1] == "-" and is_index(name[1:]) and 0 < int(name[1:]) <= len(names):
            return len(names) - int(name[1:])
        raise InputError(
            f"{path}: a column must be one of {some(names, 20)}, or a number from 0 to "
            f"{len(names) - 1}. Got {name[:40]!r}, which this file does not have."
        )

    label = options.label
    label_at = None if label is False else len(names) - 1 if label is None else place(str(label))
    if label_at is not None and label_at in map(place, options.drop):
        last = ", which is the last one" if label is None else ""
        raise InputError(
            f"{path}: only features can be left out. Got the label column {names[label_at]!r}{last}. "
            "Name another label (label=…)."
        )
    out = {label_at, *map(place, options.drop)}
    features = [place(name) for name in options.columns] or list(range(len(names)))
    if options.columns and label_at in features:
        raise InputError(
            f"{path}: the label column {names[label_at or 0]!r} must not be a feature. "
            "Leave it out of the columns, or name another label."
        )
    if len(set(features)) < len(features):
        twice = next(names[k] for k in features if features.count(k) > 1)
        raise InputError(f"{path}: columns must name a column once. Got {twice!r} twice instead.")
    features = [k for k in features if k not in out]
    if not features:
        raise InputError(
            f"{path}: must have at least one feature besides the label. Got none. {_more_columns(names)}"
        )
    return Layout(names, named, label_at, features)


def _more_columns(names: list[str]) -> str:
    """What to do with a table that has too few columns."""
    if len(names) > 1:
        return "Name another label (label=…), or a file with more columns."
    return f"{ONE_COLUMN} Name a file with more columns."


def check_names(place: object, layout: Layout) -> None:
    """Refuse two features of one name: rows of another file could not be matched to them."""
    names = layout.features
    if layout.named and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        places = [k for k in layout.features_at if layout.names[k] == twice]
        raise InputError(
            f"{place}: columns must have different names. Got {twice!r} as columns {places[0]} and "
            f"{places[1]}. Rename one, or leave it out by its number (drop=[{places[1]}])."
        )


def is_header(where: str, first: Sequence[str], label: str | bool | None, second: Sequence[str]) -> bool:
    """Whether the first line, at ``where``, holds names."""
    own = -1 if label is False else len(first) - 1
    if isinstance(label, str):
        own = first.index(label) if label in first else int(label) if is_index(label) else own
    features = [field for k, field in enumerate(first) if k != own and field]
    numbers = sum(read_float(field) is not None for field in features)
    if 0 < numbers < len(features):
        raise InputError(
            f"{where}: the first line must hold names, or a row. Got names and numbers instead. "
            "Say what it is (header=True or False)."
        )
    if not numbers:
        return bool(features)
    if isinstance(label, str) and label in first and not is_index(label):
        return True
    here, below = (line[own] if 0 <= own < len(line) else "" for line in (first, second))
    return read_float(here) is None and read_float(below) is not None
