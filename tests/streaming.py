"""Streams for the tests: text, the same examples one by one, and processes that are killed."""

import io
import itertools
import os
import random
import signal
import sys
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


def keep_killing(folder, seed, options):
    """Run a stream until it ends; return how often it was killed, and how often in a write."""
    from maxmargin.cli.stream import run

    folder, chance = Path(folder), random.Random(seed)
    content = (folder / "input.svm").read_bytes()
    lasting = {"input.svm", Path(options["checkpoint"]).name, Path(options["out"]).name}
    quiet = {**options, "checkpoint": None, "out": None}
    run(**quiet, stdin=Pieces(content[:20_000], 0), stdout=io.BytesIO())  # compile before forking
    kills = writing = 0
    while True:
        moment = chance.randint(1, 40)
        child = os.fork()
        if not child:
            die_at(moment)
            sys.stderr = io.StringIO()
            code = run(**options, stdin=Pieces(content, chance.random()))
            os._exit(code)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return kills, writing
        assert os.WTERMSIG(status) == signal.SIGKILL
        kills += 1
        writing += any(p.name not in lasting for p in folder.iterdir())


def die_at(moment):
    """Have this process killed at a moment, counted by what changes files for good: before and after it.

    A checkpoint takes some four such calls, so eight moments.
    """
    moments = itertools.count(1)

    def pass_moment():
        if next(moments) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(change):
        def watched_change(*given):
            pass_moment()
            change(*given)
            pass_moment()

        return watched_change

    os.fsync, os.replace = watched(os.fsync), watched(os.replace)
