"""A time at which work has to end, handed down to the loops that may take long.

They look at it in every round; whoever set it catches :class:`OutOfTimeError` and says what is known.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

__all__ = ["NEVER", "Deadline", "OutOfTimeError"]


class OutOfTimeError(Exception):
    """The time is over; never seen by users."""


@dataclass(frozen=True)
class Deadline:
    """When to end, on ``time.perf_counter``."""

    end: float = math.inf

    def check(self, expected: float = 0.0) -> None:
        """End the work if the time is over, or if what comes next is expected to take longer."""
        if time.perf_counter() + expected > self.end:
            raise OutOfTimeError


NEVER = Deadline()
