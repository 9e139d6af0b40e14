"""One thread for small matrices: two would wait for each other longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread(if_small: bool = True) -> Iterator[None]:
    """Run matrix products on one thread in this block."""
    if not if_small:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield
