"""``maxmargin stream`` against River's perceptron and Vowpal Wabbit, on svmlight rows of 75 features.

Ours is the whole command, from the bytes of the input to the bytes of the output. River's perceptron
predicts and learns the same rows, from text and (its best case) as dicts made beforehand; Vowpal Wabbit
reads them in its own format from a file.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, at_least, best_of
from maxmargin.cli.stream import run

N = 20_000


def lines(d: int, k: int = 75) -> list[str]:
    """Rows with k of d features, and labels ±1."""
    rng = np.random.default_rng(7)
    w = rng.standard_normal(d + 1)
    made = []
    for _ in range(N):
        where = np.sort(rng.choice(d, k, replace=False)) + 1
        x = np.round(rng.standard_normal(k), 4)
        y = 1 if w[where] @ x + rng.standard_normal() > 0 else -1
        pairs = zip(where.tolist(), x.tolist(), strict=True)
        made.append(f"{y} " + " ".join(f"{j}:{v}" for j, v in pairs))
    return made


def ours(text: bytes) -> Callable[[], object]:
    def work() -> int:
        with contextlib.redirect_stderr(io.StringIO()):
            return run(stdin=io.BytesIO(text), stdout=io.BytesIO())

    return work


def example(line: str) -> tuple[dict[str, float], bool]:
    label, *pairs = line.split()
    return {name: float(v) for name, v in (pair.split(":") for pair in pairs)}, label == "1"


def river(rows: list[str], ready: bool) -> Callable[[], object]:
    """Predict and learn with River, on dicts that are ready or made as the lines come."""
    from river import linear_model

    made = [example(line) for line in rows] if ready else None

    def work() -> int:
        model, mistakes = linear_model.Perceptron(), 0
        for x, y in made if made is not None else map(example, rows):
            mistakes += model.predict_one(x) != y
            model.learn_one(x, y)
        return mistakes

    return work


def vowpal(rows: list[str], folder: str) -> Callable[[], object]:
    """Vowpal Wabbit with hinge loss, one pass, no cache, predictions to a file."""
    import vowpalwabbit

    path = Path(folder) / "rows.vw"
    path.write_text("".join(line.replace(" ", " | ", 1) + "\n" for line in rows))
    words = f"--quiet --loss_function hinge --binary --no_stdin -d {path} -p {path}.out"
    return lambda: vowpalwabbit.Workspace(words).finish()


def rows() -> Iterator[Row]:
    """All lines of the table."""
    have = {name: importlib.util.find_spec(name) is not None for name in ("river", "vowpalwabbit")}
    for d in (75, 50_000):
        made = lines(d)
        work = f"stream, {N:,} svmlight rows, 75 of {d:,} features"
        contestants = {"ours": ours(("\n".join(made) + "\n").encode())}
        with tempfile.TemporaryDirectory() as folder:
            if have["river"]:
                contestants["River, same lines"] = river(made, ready=False)
                contestants["River, ready dicts"] = river(made, ready=True)
            if have["vowpalwabbit"]:
                contestants["Vowpal Wabbit"] = vowpal(made, folder)
            times = best_of(contestants, rounds=5)
        mine = times.pop("ours")
        for peer, theirs in times.items():
            row = at_least(work, mine, peer, theirs, 5)
            if "lines" not in peer:  # no like for like: told beside it
                row.target, row.met = "is told", True
            yield row
