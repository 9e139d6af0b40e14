"""The state of the laboratory as the page sends it: read and checked once, here.

It is all that a link holds: points with classes and roles, the algorithm with its options, where it
starts, which machine is watched. What only the page needs (``view``, ``time``, ``past``) is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.laboratory.checks import (
    check_keys,
    check_list,
    check_text,
    complain,
    read_choice,
    read_count,
    read_number,
    read_vector,
)
from maxmargin.laboratory.limits import LARGEST, LIMITS, NAME, SMALLEST
from maxmargin.laboratory.options import Options, read_options

__all__ = ["ALGORITHMS", "State", "read_state"]

ALGORITHMS = ("perceptron", "batch", "pocket", "hard", "soft")
KEYS = (
    *("v", "points", "labels", "names", "algorithm", "options"),
    *("start", "past", "watch", "hand", "time", "view"),
)
NAMES = ("x₁", "x₂")
LABELS = ("−1", "+1")


@dataclass(frozen=True)
class State:
    """Points and what is to be done with them."""

    points: np.ndarray  # (n, 2)
    classes: np.ndarray  # (n,) of 0 … 4
    held_out: np.ndarray  # (n,) of bool: validation points
    labels: tuple[str, ...]
    names: tuple[str, str]
    algorithm: str
    options: Options
    start: tuple[float, float, float] | None
    watch: int
    hand: tuple[float, float, float] | None

    @cached_property
    def trained(self) -> np.ndarray:
        """Rows that are fitted."""
        return np.flatnonzero(~self.held_out)

    @cached_property
    def validating(self) -> np.ndarray:
        """Rows that are only judged."""
        return np.flatnonzero(self.held_out)


def read_state(value: Any) -> State:
    """Check a state and fill in what it leaves out."""
    given = check_keys("state", value, KEYS)
    if given.get("v", 1) != 1 or type(given.get("v", 1)) is not int:
        raise complain("state.v", "1, the version of this laboratory", given["v"], "Start anew.")
    labels = _read_labels(given.get("labels", LABELS))
    points, classes, held_out = _read_points(given.get("points", ()), len(labels))
    names = check_list("state.names", given.get("names", NAMES), "a list of two names", 2, 2)
    first, second = (check_text(f"state.names[{k}]", name, NAME) for k, name in enumerate(names))
    watch = given.get("watch", 0)
    return State(
        points=points,
        classes=classes,
        held_out=held_out,
        labels=labels,
        names=(first, second),
        algorithm=read_choice("state.algorithm", given.get("algorithm", "perceptron"), ALGORITHMS),
        options=read_options(given.get("options", {})),
        start=_read_weights("state.start", given.get("start")),
        watch=read_count("state.watch", 0 if watch is None else watch, least=0, most=9),
        hand=_read_weights("state.hand", given.get("hand")),
    )


def _read_labels(value: Any) -> tuple[str, ...]:
    most = LIMITS["classes"]
    given = check_list("state.labels", value, f"a list of 2 to {most} different names", 2, most)
    labels = tuple(check_text(f"state.labels[{k}]", label, NAME) for k, label in enumerate(given))
    if len(set(labels)) < len(labels):
        raise complain("state.labels", f"a list of 2 to {most} different names", list(labels))
    return labels


def _read_points(value: Any, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    most = LIMITS["points"]
    allowed = f"a list of at most {most:,} points [x₁, x₂, class, role]"
    given = check_list("state.points", value, allowed, 0, most)
    X = np.empty((len(given), 2))
    codes = np.empty(len(given), dtype=np.int64)
    roles = np.empty(len(given), dtype=bool)
    for i, point in enumerate(given):
        where = f"state.points[{i}]"
        form = "a list [x₁, x₂, class, role]"
        x, y, code, role = check_list(where, point, form, 4, 4)
        X[i] = _coordinate(f"{where}[0]", x), _coordinate(f"{where}[1]", y)
        if type(code) is not int or not 0 <= code < classes:
            codes[i] = read_count(f"{where}[2], the class,", code, least=0, most=classes - 1)
        codes[i] = code
        if type(role) is not int or role not in (0, 1):
            raise complain(f"{where}[3], the role,", "0 (training) or 1 (validation)", role)
        roles[i] = role == 1
    return X, codes, roles


def _coordinate(name: str, value: Any) -> float:
    number = value if type(value) is float else read_number(name, value)
    if number != 0.0 and not SMALLEST <= abs(number) <= LARGEST:  # nan included
        raise complain(name, f"0, or a number from {SMALLEST:g} to {LARGEST:g} in size", value)
    return number + 0.0  # −0.0 is 0.0


def _read_weights(name: str, value: Any) -> tuple[float, float, float] | None:
    if value is None:
        return None
    a, b, c = read_vector(name, value, 3)
    return a, b, c
