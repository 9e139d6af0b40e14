"""Which columns of a table are the label and the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.laboratory.checks import complain, shown
from maxmargin.laboratory.limits import LIMITS
from maxmargin.laboratory.reading import Column

__all__ = ["choose_features", "choose_label", "in_order"]

PROJECTION = "projection"


def choose_label(columns: Sequence[Column], wanted: Any) -> int:
    """The column of the label: as wanted, or the last of few words, or one of few numbers at an end."""
    if wanted is not None:
        place = find_column("label", columns, wanted)
        _check_label(columns[place])
        return place
    fitting = [k for k, column in enumerate(columns) if _can_be_label(column)]
    words = [k for k in fitting if not columns[k].numeric]
    others = [k for k, column in enumerate(columns) if not column.numeric]
    ends = [k for k in (len(columns) - 1, 0) if k in fitting]
    place = words[-1] if words else others[-1] if others else ends[0] if ends else len(columns) - 1
    _check_label(columns[place])
    return place


def in_order(label: Column) -> list[str]:
    """The classes, sorted as numbers if they are, else as text: of two, the last is the positive one."""
    try:
        return sorted(label.distinct, key=lambda text: (float(text.replace("−", "-")), text))
    except ValueError:
        return sorted(label.distinct)


def choose_features(columns: Sequence[Column], label: int, wanted: Any) -> tuple[list[int], bool]:
    """Two columns, or all of them to be projected; by default the first two of numbers."""
    numeric = [k for k, column in enumerate(columns) if column.numeric and k != label]
    if not numeric:
        raise InputError(
            "a table must have a column of numbers besides the label. Got none. Choose another label."
        )
    if wanted is None:
        return numeric[:2], False
    if wanted == PROJECTION:
        if len(numeric) < 2:
            raise InputError("a projection needs at least two columns of numbers. Got one.")
        return numeric, True
    if not isinstance(wanted, list | tuple) or len(wanted) != 2:
        raise complain("features", f"two columns or '{PROJECTION}'", wanted)
    places = [find_column("features", columns, one) for one in wanted]
    if places[0] == places[1] or label in places:
        raise complain("features", "two different columns, neither of them the label", wanted)
    return places, False


def find_column(name: str, columns: Sequence[Column], wanted: Any) -> int:
    """The place of a column, given by its place or its name."""
    names = [column.name for column in columns]
    if type(wanted) is int and 0 <= wanted < len(columns):
        return wanted
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise InputError(
        f"{name} must name a column: {some}, or a number from 0 to {len(names) - 1}. "
        f"Got {shown(wanted)} instead."
    )


def _can_be_label(column: Column) -> bool:
    """Whether it has few different values; gaps are refused later, with their line."""
    many = len(column.distinct)
    return many >= 2 and many - ("" in column.distinct) <= LIMITS["classes"]


def _check_label(column: Column) -> None:
    most = LIMITS["classes"]
    if "" in column.distinct:
        line = column.lines[column.texts.index("")]
        raise InputError(
            f"line {line}: the label {column.name} must not be empty. Leave the line out, or fill it in."
        )
    if not 2 <= len(column.distinct) <= most:
        raise InputError(
            f"the label must have 2 to {most} different values. Got {len(column.distinct)} in "
            f"{column.name} instead. Choose another column."
        )
