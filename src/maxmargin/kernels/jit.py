"""Compile with Numba: cached on disk where a directory is writable, in memory where none is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["jit", "jit_any_order"]

F = TypeVar("F", bound=Callable[..., Any])

# Lets the compiler sum in any order and fuse multiply-add, and nothing else: nan and inf stay exact.
ANY_ORDER = {"reassoc", "contract", "nsz"}


def jit(function: F) -> F:
    """Compile ``function`` without the GIL; never fail at import for want of a cache directory."""
    return _compile(function, fastmath=False)


def jit_any_order(function: F) -> F:
    """Compile a function whose sums may be taken in any order."""
    return _compile(function, fastmath=ANY_ORDER)


def _compile(function: F, **options: Any) -> F:
    try:
        return njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no writable directory for the cache
        return njit(nogil=True, **options)(function)
