"""The state of the laboratory as the page sends it: read and checked once, here.

It is all that a link holds: points with classes and roles, the algorithm with its options, where it
starts, which machine is watched. What only the page needs (``view``, ``time``, ``past``) is passed over.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError

# How much a message may hold, and how large its numbers may be.

LIMITS = {
    "points": 2_000,
    "classes": 5,
    "updates": 5_000,
    "epochs": 10_000,
    "seed": 2**32 - 1,
    "table_rows": 20_000,
    "table_columns": 200,
    "message": 4 << 20,
    "seconds": 10,
}
MAX_NUMBER = (
    1e30  # of any number in a message: products of some of them stay within the range of doubles
)
MIN_COORDINATE = 1 / MAX_NUMBER  # of coordinates that are not 0, for the same reason
MAX_NAME = 60  # letters of a name


# Checks of what a message holds, in one voice: what is allowed, what was given, what to do.

_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxother, _REPR.maxlist, _REPR.maxdict = 2, 60, 60, 4, 4


def shortened(value: Any) -> str:
    """A short text of whatever was given."""
    return _REPR.repr(value)


def complain(name: str, allowed: str, given: Any) -> InputError:
    """Build the error every check raises: allowed, and given."""
    return InputError(f"{name} must be {allowed}. Got {shortened(given)} instead.")


def check_keys(name: str, value: Any, known: Sequence[str]) -> Mapping[str, Any]:
    """Return a dict whose keys are all among ``known``."""
    if not isinstance(value, Mapping):
        raise complain(name, "an object with named entries", value)
    for key in value:
        if key not in known:
            raise InputError(
                f"{name} must hold only the entries {', '.join(known)}. Got {shortened(key)} instead. "
                "Leave it out."
            )
    return value


def read_number(name: str, value: Any, *, least: float = -MAX_NUMBER, most: float = MAX_NUMBER) -> float:
    """Return a number, neither infinite nor nan, within bounds that are part of the range."""
    allowed = f"a number from {least:g} to {most:g}"
    if type(value) not in (int, float):
        raise complain(name, allowed, value)
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if not least <= number <= most:
        raise complain(name, allowed, value)
    return number


def read_count(name: str, value: Any, *, least: int, most: int) -> int:
    """Return an integer from ``least`` to ``most``."""
    if type(value) is not int or not least <= value <= most:
        raise complain(name, f"an integer from {least} to {most}", value)
    return value


def read_bool(name: str, value: Any) -> bool:
    """Return true or false."""
    if type(value) is not bool:
        raise complain(name, "true or false", value)
    return value


def read_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise complain(name, "one of " + ", ".join(choices), value)
    return value


def check_list(name: str, value: Any, allowed: str, least: int, most: int) -> Sequence[Any]:
    """Return a list of ``least`` to ``most`` entries."""
    if not isinstance(value, list | tuple):
        raise complain(name, allowed, value)
    if not least <= len(value) <= most:
        raise InputError(f"{name} must be {allowed}. Got a list of {len(value)} instead.")
    return value


def check_text(name: str, value: Any, most: int) -> str:
    """Return a text of at most so many letters that UTF-8 can hold."""
    if not isinstance(value, str) or len(value) > most:
        raise complain(name, f"a text of at most {most:,} letters", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise complain(name, "a text without half characters (lone surrogates)", value) from None
    return value


def read_vector(name: str, value: Any, length: int) -> list[float]:
    """Return a list of so many numbers."""
    entries = check_list(name, value, f"a list of {length} numbers", length, length)
    return [read_number(f"{name}[{k}]", v) for k, v in enumerate(entries)]


def check_window(name: str, value: Any, pairs: int) -> list[float]:
    """Return lo, hi, lo, hi … with lo < hi, far enough apart for doubles."""
    ends = read_vector(name, value, 2 * pairs)
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        if not high - low > 1e-12 * max(abs(low), abs(high), 1e-30):
            raise complain(name, "pairs of a lower and a larger upper end", value)
    return ends


# The options of an algorithm, read and checked.

ORDERS = ("cyclic", "shuffled", "random")
SCHEMES = ("ovr", "ovo")
STEP_RANGE = 1e-9, 1e9  # sizes of steps and prices of slack


@dataclass(frozen=True)
class Options:
    """The algorithm's options; each is used by the algorithms it means something to.

    ``updates`` is not None where the user asks for so many: otherwise data that no plane separates has
    a budget that keeps a drag fluent.
    """

    intercept: bool = True
    threshold: float = 0.0
    rate: float = 1.0
    order: str = "cyclic"
    averaged: bool = False
    step: float | str = "exact"
    C: float = 1.0
    scheme: str = "ovr"
    epochs: int = 100
    seed: int = 0
    polish: bool = True
    updates: int | None = None


def _read_step(name: str, value: Any) -> float | str:
    least, most = STEP_RANGE
    if not isinstance(value, str):
        return read_number(name, value, least=least, most=most)
    if value != "exact":
        raise complain(name, f"'exact' or a number from {least:g} to {most:g}", value)
    return value


def _read_updates(name: str, value: Any) -> int | None:
    return None if value is None else read_count(name, value, least=1, most=LIMITS["updates"])


_read_size = partial(read_number, least=STEP_RANGE[0], most=STEP_RANGE[1])
READ_OPTION: dict[str, Callable[[str, Any], Any]] = {
    "step": _read_step,
    "updates": _read_updates,
    "intercept": read_bool,
    "threshold": partial(read_number, least=0.0, most=MAX_NUMBER),
    "rate": _read_size,
    "order": partial(read_choice, choices=ORDERS),
    "averaged": read_bool,
    "C": _read_size,
    "scheme": partial(read_choice, choices=SCHEMES),
    "epochs": partial(read_count, least=1, most=LIMITS["epochs"]),
    "seed": partial(read_count, least=0, most=LIMITS["seed"]),
    "polish": read_bool,
}


def read_options(value: Any) -> Options:
    """Check options and fill in what they leave out."""
    given = check_keys("state.options", value, list(Options.__dataclass_fields__))
    read = {key: read(f"options.{key}", given[key]) for key, read in READ_OPTION.items() if key in given}
    return Options(**read)


ALGORITHMS = ("perceptron", "batch", "pocket", "hard", "soft")
STATE_KEYS = (
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
    given = check_keys("state", value, STATE_KEYS)
    if given.get("v", 1) != 1 or type(given.get("v", 1)) is not int:
        raise complain("state.v", "1, the version of this laboratory", given["v"])
    labels = _read_labels(given.get("labels", LABELS))
    points, classes, held_out = _read_points(given.get("points", ()), len(labels))
    names = check_list("state.names", given.get("names", NAMES), "a list of two names", 2, 2)
    first, second = (check_text(f"state.names[{k}]", name, MAX_NAME) for k, name in enumerate(names))
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
    labels = tuple(check_text(f"state.labels[{k}]", label, MAX_NAME) for k, label in enumerate(given))
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
            read_count(f"{where}[2], the class,", code, least=0, most=classes - 1)
        codes[i] = code
        if type(role) is not int or role not in (0, 1):
            raise complain(f"{where}[3], the role,", "0 (training) or 1 (validation)", role)
        roles[i] = role == 1
    return X, codes, roles


def _coordinate(name: str, value: Any) -> float:
    number = value if type(value) is float else read_number(name, value)
    if number != 0.0 and not MIN_COORDINATE <= abs(number) <= MAX_NUMBER:  # nan included
        raise complain(name, f"0, or a number from {MIN_COORDINATE:g} to {MAX_NUMBER:g} in size", value)
    return number + 0.0  # −0.0 is 0.0


def _read_weights(name: str, value: Any) -> tuple[float, float, float] | None:
    if value is None:
        return None
    a, b, c = read_vector(name, value, 3)
    return a, b, c
