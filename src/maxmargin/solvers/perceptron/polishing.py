"""Fewer errors for what is in the pocket.

Fifty steps of exact descent on the perceptron risk are tried. Then lines are searched: along a line the
number of errors is a step function whose best step is found exactly (``fewest_errors``), and rounds of
32 coordinate and random directions take turns until 20 of them bring less than 0.2 % fewer errors, 100
at most.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from maxmargin.core.params import LARGEST
from maxmargin.rows.room import room
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.judging import Pocket
from maxmargin.solvers.perceptron.linesearch import fewest_errors
from maxmargin.solvers.perceptron.risk import Bundle, Risk

__all__ = ["polish"]

DIRECTIONS = 32  # directions per round
DESCENT = 50  # steps of descent before the rounds
PATIENCE = 20  # rounds without an improvement worth the name
WORTH = 0.998  # … which is 0.2 % fewer errors
ROUNDS = 100  # and no more rounds than these
NEAREST = 4096  # breakpoints looked at along a direction


def polish(pocket: Pocket, rng: np.random.Generator, deadline: float = math.inf) -> None:
    """Improve the pocket: descend on the perceptron risk, then search lines for fewer errors."""
    _descend(pocket, deadline)
    _search_lines(pocket, rng, deadline)


def _descend(pocket: Pocket, deadline: float) -> None:
    """Put the best of some exact descent steps on the perceptron risk into the pocket."""
    risk = Risk(pocket.examples, [pocket.machine])
    bundles, z = [Bundle()], pocket.z[None]
    for _ in range(DESCENT):
        if pocket.errors == 0 or time.perf_counter() > deadline:
            return
        risk.look(z)
        z = risk.step(z, "exact", bundles)
        pocket.compare(z[0])


def _search_lines(pocket: Pocket, rng: np.random.Generator, deadline: float) -> None:
    """Walk along coordinate and random directions to wherever the errors are fewest."""
    ex, z = pocket.examples, pocket.z.copy()
    per_unit = _per_unit(ex, rng)
    waited, goal = 0, pocket.errors
    for turn in range(ROUNDS):
        if pocket.errors == 0 or waited == PATIENCE:
            return
        m = pocket.signs * ex.ordered_values(z[None])[0]
        V = _directions(turn, per_unit, rng)
        errors = float(pocket.weights @ (m <= 0))
        for v, q in _along(pocket, np.ascontiguousarray(V.T)):
            if time.perf_counter() > deadline:
                return
            t, fewer = fewest_errors(m, q, pocket.weights, NEAREST)
            with np.errstate(over="ignore", invalid="ignore"):
                there, then = z + t * v, m + t * q
            if not np.max(np.abs(there)) <= LARGEST or not np.all(np.isfinite(then)):
                continue
            if fewer <= errors and t != 0:  # moving along a plateau often opens the way down
                z, m, errors = there, then, fewer
        pocket.compare(z)
        waited += 1
        if pocket.errors < WORTH * goal:
            goal, waited = pocket.errors, 0


def _along(pocket: Pocket, V: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield directions, and how fast each row's margin grows along them; as many at once as fit."""
    several = max(1, room() // (4 * pocket.examples.rows.n))
    for start in range(0, len(V), several):
        part = V[start : start + several]
        Q = pocket.examples.ordered_values(part)
        Q *= pocket.signs
        yield from zip(part, Q, strict=True)


def _per_unit(ex: Examples, rng: np.random.Generator) -> np.ndarray:
    """1 / (typical size of a feature), from a sample of rows; 0 for the bias if it is not learned."""
    size = min(ex.rows.n, 256, (1 << 22) // ex.rows.d + 1)
    sample = np.abs(ex.rows.take(np.sort(rng.choice(ex.rows.n, size, replace=False)))).mean(axis=0)
    typical = np.where(sample > 1e-290, sample, 1.0)
    return np.append(1.0 / typical, ex.pad)


def _directions(turn: int, per_unit: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some directions as columns: coordinate axes and random ones in turn."""
    if turn % 2:
        return per_unit[:, None] * rng.standard_normal((len(per_unit), DIRECTIONS))
    axes = rng.permutation(np.flatnonzero(per_unit))[:DIRECTIONS]
    V = np.zeros((len(per_unit), len(axes)))
    V[axes, np.arange(len(axes))] = 1.0
    return V
