"""Streams for the tests: text, the same examples one by one, and processes that are killed."""

import io
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np


def svmlight(n, d=40, k=12, classes=2, seed=0):
    """Lines with k of d features each, and labels 0, 1, … that depend on them."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((classes, d))
    lines = []
    for _ in range(n):
        where = np.sort(rng.choice(d, k, replace=False))
        x = np.round(rng.standard_normal(k), 3)
        y = int(np.argmax(W[:, where] @ x + rng.standard_normal(classes)))
        lines.append(f"{y} " + " ".join(f"{j + 1}:{v}" for j, v in zip(where, x.tolist(), strict=True)))
    return lines


def example(line):
    """The example in a line, as ``learn_one`` takes it."""
    label, *pairs = line.split()
    x = {name: float(value) for name, value in (pair.split(":") for pair in pairs)}
    return x, int(label)


class Pieces(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a pipe does."""

    def __init__(self, content, seed, largest=4000):
        self.file, self.random, self.largest = io.BytesIO(content), random.Random(seed), largest

    def read1(self, size=-1):
        return self.file.read(self.random.randint(1, self.largest))


def keep_killing(folder, seed, options, slow):
    """Run a stream to its end, killing it at random moments; return how often, and when it wrote."""
    from maxmargin.cli.stream import run

    folder, chance = Path(folder), random.Random(seed)
    content = (folder / "input.svm").read_bytes()
    quiet = {**options, "checkpoint": None, "out": None}
    run(**quiet, stdin=Pieces(content[:20_000], 0), stdout=io.BytesIO())  # compile before forking
    kills = writing = 0
    longest = 0.1
    while True:
        child = os.fork()
        if not child:
            if slow:
                delay_writes()
            sys.stderr = io.StringIO()
            code = run(**options, stdin=Pieces(content, chance.random()))
            os._exit(code)
        time.sleep(chance.uniform(0.0, longest))
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            return kills, writing
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return kills, writing
        kills += 1
        longest = min(longest * 1.05, 2.0)  # so that it ends, however slow the machine is
        writing += any(p.is_dir() for p in folder.iterdir())


def delay_writes():
    """Make every step of a write take a while, so that many are killed in the middle of one."""
    sync, replace = os.fsync, os.replace

    def slow_sync(number):
        time.sleep(0.004)
        sync(number)
        time.sleep(0.004)

    def slow_replace(old, new):
        time.sleep(0.004)
        replace(old, new)
        time.sleep(0.004)

    os.fsync, os.replace = slow_sync, slow_replace
