"""Kernels compile and run where no directory is writable for their cache."""

import numpy as np

from maxmargin.kernels import jit


def add(a, b):
    return a + b


def test_without_a_writable_directory_kernels_are_compiled_in_memory(monkeypatch):
    compiled = []
    njit = jit.njit

    def no_directory(**options):
        compiled.append(dict(options))
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(jit, "njit", no_directory)
    for make in (jit.jit, jit.jit_any_order):
        assert make(add)(np.float64(1.5), 2.0) == 3.5
    assert [("cache" in options) for options in compiled] == [True, False, True, False]


def test_kernels_release_the_lock_and_are_cached():
    kernel = jit.jit(add)
    assert kernel.targetoptions["nogil"]
    assert kernel.stats.cache_path
