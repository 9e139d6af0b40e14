"""A stress bank for the soft margin: more than two thousand fits on designs that people have.

``python -m benchmarks.stress`` fits every cell with the default tolerance and asks three things: is the
certified gap within the tolerance, did nothing raise, and is no cell slower than ten times the median of
its shape, in seconds of the processor? ``--solver`` and ``--tol`` change the estimator, ``--only`` takes
families by name and ``--every K`` one cell in K. The exit code says whether all held. Nothing is read
from disk.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import maxmargin as mm

Design = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]
PRICES = 1e-8, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6, 1e8
SMALL = (20, 1), (20, 50), (60, 5), (100, 20), (100, 200), (500, 2), (500, 20), (500, 200)
MIDDLE = (2_000, 20), (2_000, 60), (5_000, 10)
SLOWEST = 10.0  # against the median of the shape
UNMEASURED = 0.05  # seconds: shorter fits are not called slow, as this is the noise of a busy machine


class Cell(NamedTuple):
    """One fit: where the data comes from, its shape and C."""

    family: str
    n: int
    d: int
    C: float
    seed: int

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """X and y, the same each time."""
        rng = np.random.default_rng([self.seed, self.n, self.d])
        X, y = FAMILIES[self.family](rng, self.n, self.d)
        y = np.asarray(y, dtype=int)
        y[:2] = 0, 1  # both classes, whatever was drawn
        return np.ascontiguousarray(X, dtype=np.float64), y


class Outcome(NamedTuple):
    """What a fit came to: its certified relative gap (nan if it raised), seconds, and the error."""

    gap: float
    seconds: float
    error: str = ""


def _noisy(rng: np.random.Generator, X: np.ndarray, share: float = 0.1) -> np.ndarray:
    """Labels of a plane through the middle of the data, a share of them wrong."""
    Z = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-300)
    y = Z @ rng.normal(size=X.shape[1]) > 0
    return np.asarray(y ^ (rng.random(len(X)) < share))


def _standardised(design: Design) -> Design:
    def made(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = design(rng, n, d)
        spread = X.std(axis=0)
        return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), y

    return made


def _apart(scale: float) -> Design:
    """Two classes twelve standard deviations apart, in units of any size."""

    def made(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = rng.normal(size=(n, d)), np.arange(n) % 2 == 0
        X[y, 0] += 12.0
        return X * scale, y

    return made


def random_labels(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Nothing to be learned: many multipliers at their bounds, as many free as there are features."""
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)


def gaussian(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of one size, a tenth of the labels wrong."""
    X = rng.normal(size=(n, d))
    return X, _noisy(rng, X)


def ratings(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers from 1 to 5: many equal rows if there are few questions."""
    X = rng.integers(1, 6, size=(n, d))
    return X, _noisy(rng, X)


def counts(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Events, with rates from one in a hundred to thousands."""
    X = rng.poisson(10.0 ** rng.uniform(-2, 4, size=d), size=(n, d))
    return X, _noisy(rng, X)


def pixels(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth grey values from 0 to 255, half of them black."""
    X = np.cumsum(rng.normal(scale=40.0, size=(n, d)), axis=1)
    X = np.clip(np.round(X), 0, 255)
    return X, _noisy(rng, X, 0.02)


def money(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Incomes and prices beside ages and shares."""
    X = np.where(
        np.arange(d) % 2 == 0, rng.lognormal(10.0, 1.5, (n, d)).round(2), rng.uniform(size=(n, d))
    )
    return X, _noisy(rng, X)


def money_separable(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The same, told apart by one amount."""
    X, _ = money(rng, n, d)
    y = X[:, 0] > np.median(X[:, 0])
    X[y, 0] *= 1.5
    return X, y


def one_hot(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels of factors as dummy columns, all of them: each group adds to one."""
    groups = np.array_split(np.arange(d), max(1, d // 6))
    X = np.zeros((n, d))
    for group in groups:
        X[np.arange(n), rng.choice(group, size=n)] = 1.0
    return X, _noisy(rng, X)


def rank_deficient(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Totals, differences, a change of units and a constant beside the features they come from."""
    X = rng.normal(size=(n, d))
    if d >= 5:
        X[:, -1], X[:, -2], X[:, -3] = X[:, 0] + X[:, 1], 1.8 * X[:, 0] + 32.0, 3.0
    return X, _noisy(rng, X)


def duplicates(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """A twentieth of the rows, each many times, with labels that contradict."""
    X = rng.normal(size=(max(2, n // 20), d))[rng.integers(0, max(2, n // 20), n)]
    return X, _noisy(rng, X)


def rare_class(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Thirteen rows of a class, not far from the others."""
    X, y = rng.normal(size=(n, d)), np.arange(n) < 13
    X[y] += 1.0
    return X, y


def uneven(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of 1e6 beside features of 1e-6."""
    X = rng.normal(size=(n, d))
    return X * 10.0 ** rng.integers(-6, 7, size=d), _noisy(rng, X)


def time_stamps(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds since 1970 in one column: far from the origin, with little spread."""
    X = rng.normal(size=(n, d))
    y = _noisy(rng, X)
    X[:, 0] = 1.7e9 + 86_400.0 * X[:, 0]
    return X, y


def heavy_tails(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Cauchy: a few rows are thousands of times as long as the others."""
    X = rng.standard_cauchy(size=(n, d))
    return X, np.asarray((X[:, 0] > 0) ^ (rng.random(n) < 0.1))


def curves(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth curves with a hill or a valley, each on a level of its own, up to 1e5."""
    t, y = np.linspace(0.0, 1.0, d), rng.random(n) < 0.5
    level = 10.0 ** rng.uniform(0, 5, size=(n, 1))
    bump = np.exp(-(((t - rng.uniform(0.2, 0.8, size=(n, 1))) / 0.1) ** 2))
    return level * (1.0 + np.where(y, 0.2, -0.2)[:, None] * bump), y


def words(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit length, nearly all entries zero, as a dense matrix."""
    X = (rng.random((n, d)) < 0.03) * rng.exponential(size=(n, d))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    return X, _noisy(rng, X, 0.02)


FAMILIES: dict[str, Design] = {
    **{f"apart × {scale:g}": _apart(scale) for scale in (1.0, 30.0, 1e3, 1e5, 1e-5)},
    "random labels": random_labels,
    "gaussian": gaussian,
    "ratings": ratings,
    "ratings, standardised": _standardised(ratings),
    "counts": counts,
    "counts, standardised": _standardised(counts),
    "pixels": pixels,
    "pixels, standardised": _standardised(pixels),
    "money": money,
    "money, standardised": _standardised(money),
    "money, separable": money_separable,
    "one-hot": one_hot,
    "one-hot, standardised": _standardised(one_hot),
    "rank-deficient": rank_deficient,
    "rank-deficient, standardised": _standardised(rank_deficient),
    "duplicates": duplicates,
    "rare class": rare_class,
    "rare class, uneven": lambda rng, n, d: (uneven(rng, n, d)[0], np.arange(n) < 13),
    "uneven": uneven,
    "time stamps": time_stamps,
    "heavy tails": heavy_tails,
    "heavy tails, standardised": _standardised(heavy_tails),
    "curves": curves,
    "words": words,
}
RATIOS = 1.0, 1.5, 2.0, 3.0, 4.0  # rows against features, for random labels
WIDE = (300, 3_000), (1_500, 2_000), (3_000, 1_000)
LONG = (20_000, 5), (20_000, 40)


def cells() -> Iterator[Cell]:
    """All cells, the small ones first.

    Curves with C beyond 100 are left out: multipliers up to 1e17 cancel to 1e-10 of themselves there.
    """
    return (cell for cell in _cells() if cell.family != "curves" or cell.C <= 1e2)


def _cells() -> Iterator[Cell]:
    for family in FAMILIES:
        for n, d in SMALL:
            yield from (Cell(family, n, d, C, seed) for C in PRICES for seed in range(1))
    for d in (100, 300, 600):
        for ratio in RATIOS:
            yield from (Cell("random labels", int(ratio * d), d, C, 1) for C in (1e-2, 1.0, 1e2, 1e4))
    for family in FAMILIES:
        for n, d in MIDDLE:
            yield from (Cell(family, n, d, C, 0) for C in (1e-8, 1e-2, 1.0, 1e4, 1e8))
    for family in (
        "rare class",
        "rare class, uneven",
        "counts",
        "counts, standardised",
        "money",
        "gaussian",
    ):
        for n, d in LONG:
            yield from (Cell(family, n, d, C, 0) for C in (1e-4, 1.0, 1e2, 1e6))
    for family in ("gaussian", "pixels", "words", "uneven", "random labels", "apart × 1000"):
        for n, d in WIDE:
            yield from (Cell(family, n, d, C, 0) for C in (1e-2, 1.0, 1e4))


def fit(
    cell: Cell, tol: float = 1e-6, solver: str = "auto", max_seconds: float | None = None
) -> Outcome:
    """Fit one cell."""
    X, y = cell.data()
    model = mm.SoftMarginSVC(C=cell.C, tol=tol, solver=solver, max_seconds=max_seconds)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        try:
            model.fit(X, y)
        except Exception as error:  # whatever it is, it is counted and shown
            return Outcome(float("nan"), time.process_time() - began, f"{type(error).__name__}: {error}")
    return Outcome(model.certificate_.relative_gap, time.process_time() - began)


def main() -> int:
    """Fit the bank, print the cells that fall short, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--only", nargs="*", default=None, metavar="FAMILY")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    chosen = [c for c in cells() if options.only is None or c.family in options.only][:: options.every]
    for cell in (chosen[0], Cell("words", 300, 3_000, 1.0, 1)):  # kernels of dense and of sparse rows
        fit(cell, options.tol, options.solver)  # are compiled now, if they have to be
    outcomes: dict[Cell, Outcome] = {}
    for cell in chosen:
        out = outcomes[cell] = fit(cell, options.tol, options.solver, max_seconds=120.0)
        if not out.gap <= options.tol:
            print(f"{cell}: {out.error or f'gap {out.gap:.1e}'}, {out.seconds:.2f} s", flush=True)
    shapes: dict[tuple[int, int], list[float]] = {}
    for cell, out in outcomes.items():
        shapes.setdefault((cell.n, cell.d), []).append(out.seconds)
    medians = {shape: statistics.median(times) for shape, times in shapes.items()}
    slow = 0
    for cell, out in outcomes.items():
        median = medians[cell.n, cell.d]
        if out.seconds > max(SLOWEST * median, UNMEASURED):
            slow += 1
            print(f"{cell}: slow, {out.seconds:.2f} s where the median is {median:.3f} s")
    raised = sum(bool(out.error) for out in outcomes.values())
    short = sum(not out.gap <= options.tol for out in outcomes.values()) - raised
    seconds = sum(out.seconds for out in outcomes.values())
    print(
        f"{len(outcomes)} cells in {seconds:.0f} s: {short} above the tolerance of {options.tol:g}, "
        f"{raised} raised, {slow} slower than {SLOWEST:g} × the median of their shape"
    )
    return int(short + raised + slow > 0)


if __name__ == "__main__":
    sys.exit(main())
