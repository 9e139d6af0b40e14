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


def test_without_a_writable_directory_stages_are_compiled_in_memory_once(monkeypatch):
    compiled, cfunc = [], jit.cfunc

    def no_directory(signature, cache=False, **options):
        compiled.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return cfunc(signature, **options)

    def doubled(work, numbers, most, n, d, k, value, pad):
        work[0] = 2.0 * value
        return n

    @jit.jit
    def call(address, work, numbers):
        return jit.run_stage(address, jit.at(work, 0), jit.at(numbers, 0), 0, 7, 0, 0, 1.5, 0.0)

    monkeypatch.setattr(jit, "cfunc", no_directory)
    stage, work = jit.stage(doubled), np.zeros(1)
    assert stage() == stage() and compiled == [True, False]
    assert call(stage(), work, np.zeros(1, np.int64)) == 7 and work[0] == 3.0


def test_kernels_release_the_lock_and_are_cached():
    kernel = jit.jit(add)
    assert kernel.targetoptions["nogil"]
    assert kernel.stats.cache_path
