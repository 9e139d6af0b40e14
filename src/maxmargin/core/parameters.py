"""Checks of constructor parameters, in one voice; and the :class:`Deadline` of work that may take long.

A deadline is handed down to the loops, which look at it in every round; whoever set it catches
:class:`OutOfTimeError` and says what is known.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.core.errors import InputError, Remedy

# Products of weights and features must neither overflow nor underflow, whatever the number of rows.
LARGEST, SMALLEST = 2.0**400, 2.0**-400
LARGEST_STEP = 2.0**90


def complain(name: str, allowed: str, given: Any, *remedies: Remedy) -> InputError:
    """Build the error every check raises: allowed, given, remedies."""
    return InputError(f"{name} must be {allowed}. Got {given!r} instead.", *remedies)


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    remedy: Remedy | None = None,
) -> float:
    """Return ``value`` as a finite float > ``above``, ≥ ``least`` and < ``below``."""
    allowed = "a finite number"
    if above > -math.inf:
        allowed += f" > {above:g}"
    if least > -math.inf:
        allowed += f" ≥ {least:g}"
    if below < math.inf:
        allowed += f" and < {below:g}"
    remedies = () if remedy is None else (remedy,)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise complain(name, allowed, value, *remedies)
    number = float(value)
    if not math.isfinite(number) or number <= above or number < least or number >= below:
        raise complain(name, allowed, value, *remedies)
    return number


def check_step(name: str, value: Any, advice: str, remedy: Remedy | None = None) -> None:
    """Refuse steps with which products leave the range of doubles."""
    step = check_number(name, value, above=0, remedy=remedy)
    if not 1 / LARGEST_STEP <= step <= LARGEST_STEP:
        allowed = f"between {1 / LARGEST_STEP:.0e} and {LARGEST_STEP:.0e}"
        raise InputError(f"{name} must be {allowed}. Got {step!r} instead. {advice}")


def check_count(name: str, value: Any, *, least: int = 1, none: str = "") -> int | None:
    """Return ``value`` as an integer ≥ ``least``; None is allowed if ``none`` says what it means."""
    if value is None and none:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        allowed = f"an integer ≥ {least}" + (f", or None ({none})" if none else "")
        raise complain(name, allowed, value)
    return int(value)


def check_jobs(value: Any) -> int | None:
    """Return a number of threads, as joblib counts them."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) == 0:
        raise complain("n_jobs", "an integer ≥ 1, −1 (all cores) or None (one)", value)
    return int(value)


def check_bool(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise complain(name, "True or False", value)
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of the words in ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise complain(name, "one of " + ", ".join(map(repr, choices)), value)
    return value


def random_generator(name: str, value: Any) -> np.random.Generator:
    """Return a generator seeded by None, an integer or a RandomState, in scikit-learn's manner."""
    try:
        return np.random.default_rng(check_random_state(value).randint(2**31))
    except ValueError:
        allowed = "None, an integer from 0 to 4294967295 or a numpy.random.RandomState"
        raise complain(name, allowed, value) from None


class OutOfTimeError(Exception):
    """The time is over; never seen by users."""


@dataclass(frozen=True)
class Deadline:
    """When to end, on ``time.perf_counter``, and who is told how the work goes."""

    end: float = math.inf
    tell: Callable[[str], None] | None = None

    def check(self, doing: str = "") -> None:
        """End the work if the time is over."""
        if self.tell is not None:
            self.tell(doing)
        if self.over:
            raise OutOfTimeError

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() > self.end


NEVER = Deadline()
