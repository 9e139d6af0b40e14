"""A clock that counts how often it is read: budgets of seconds that are the same on every machine."""

import contextlib
import itertools
import math
import time

import pytest

HOUR = 3600.0


class Clock:
    """Stands in for ``time.perf_counter``: an hour passes whenever it is read, and at no other time."""

    def __init__(self):
        # A whole number, so that differences of readings are whole hours, without rounding.
        self._began, self._counter = float(math.ceil(time.perf_counter())), itertools.count(1)
        self.hours = 0  # how often it was read

    def __call__(self):
        self.hours = next(self._counter)
        return self._began + HOUR * self.hours

    @contextlib.contextmanager
    def ticking(self):
        """Let it be the library's clock."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "perf_counter", self)
            yield self


@pytest.fixture
def clock():
    """The library's clock in a test."""
    with Clock().ticking() as found:
        yield found
