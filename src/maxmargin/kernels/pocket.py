"""The pocket: after every update of the perceptron the errors of the new weights are counted.

A count ends as soon as it reaches the errors of the weights in the pocket, so rows that these get wrong,
or nearly so, come first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import jit, jit_inner
from maxmargin.kernels.perceptron import (
    LEFT,
    MADE,
    SEEN,
    Labels,
    Lines,
    Memory,
    Rule,
    decide_one,
    norm,
    repeated,
    steps,
)
from maxmargin.kernels.rows import dot, dot_in_order

ROWS_BETWEEN = 16  # before a count asks whether it has reached its limit: branches cost as much as rows
LEVELS = 256  # that margins are told apart by when rows are ranked
FEWER = 1.0 - 1e-12  # less of the errors than rounding of their sum can account for


class Pocket(NamedTuple):
    """The weights of one machine with the fewest errors so far."""

    z: np.ndarray
    errors: np.ndarray  # [Σ c_i over its errors]
    found_at: np.ndarray  # [the update that found it]
    weight: np.ndarray  # c_i
    ranking: np.ndarray  # the rows, those with the smallest y f(x_i) first
    ranked_at: np.ndarray  # [the update that found the weights they are ranked by]


@jit_inner
def rank(rows: Any, labels: Labels, positive: int, pad: float, pocket: Pocket) -> None:
    """Rank the rows by y f(x_i) of the weights in the pocket, as far as levels tell them apart."""
    n, codes, size = pocket.ranking.shape[0], labels.codes, 0.0
    margins, level = np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        pocket.ranking[i] = i
    decide_one(rows, pocket.ranking, pocket.z, pad, 0, margins)
    for i in range(n):
        size += abs(margins[i]) / n
        if codes[i] != positive:
            margins[i] = -margins[i]
    first = np.zeros(LEVELS + 1, np.int64)
    for i in range(n):
        place = (margins[i] / size + 2.0) * (LEVELS / 8)
        level[i] = int(min(place, LEVELS - 1.0)) if place > 0.0 else 0
        first[level[i] + 1] += 1
    for k in range(LEVELS):
        first[k + 1] += first[k]
    for i in range(n):
        pocket.ranking[first[level[i]]] = i
        first[level[i]] += 1
    pocket.ranked_at[0] = pocket.found_at[0]


@jit_inner
def count_weight(
    rows: Any, labels: Labels, positive: int, z: Any, pad: float, pocket: Pocket, limit: float
) -> float:
    """Return Σ c_i over the rows with y f(x_i) ≤ 0, or a part of it that is ``limit`` or more."""
    codes, weight, ranking = labels.codes, pocket.weight, pocket.ranking
    w, bias, n, total = z[:-1], pad * z[-1], ranking.shape[0], 0.0
    for start in range(0, n, ROWS_BETWEEN):
        for t in range(start, min(start + ROWS_BETWEEN, n)):
            i = ranking[t]
            product, error = dot(rows, i, w)
            f = product + bias
            if abs(f) <= error + 4e-16 * abs(bias):
                f = dot_in_order(rows, i, w) + bias
            y = 1.0 if codes[i] == positive else -1.0
            total += weight[i] * (y * f <= 0.0)
        if total >= limit:
            break
    return total


@jit_inner
def pocket_steps(
    rows: Any, labels: Labels, positive: int, order: Any, machine: Memory, rule: Rule, pocket: Pocket
) -> None:
    """Visit rows as ``steps`` does; after every update weights with fewer errors go into the pocket."""
    z, count, n = machine.z, machine.counts, order.shape[0]
    begun = count[SEEN]
    while count[SEEN] - begun < n and count[LEFT] > 0:
        if pocket.ranked_at[0] != pocket.found_at[0]:
            rank(rows, labels, positive, rule.pad, pocket)
        rest, left = order[count[SEEN] - begun :], count[LEFT]
        count[LEFT] = 1
        steps(rows, labels, positive, rest, z, machine.u, count, rule, rule.rates[0])
        made = 1 - count[LEFT]
        count[LEFT] = left - made
        if made:
            limit = pocket.errors[0] * FEWER
            errors = count_weight(rows, labels, positive, z, rule.pad, pocket, limit)
            if errors < limit:
                for j in range(z.shape[0]):
                    pocket.z[j] = z[j]
                pocket.errors[0] = errors
                pocket.found_at[0] = count[MADE]


@jit
def pocket_epochs(
    rows: Any,
    labels: Labels,
    positive: int,
    orders: Any,
    machine: Memory,
    rule: Rule,
    repeats: bool,
    pocket: Pocket,
    lines: Lines,
) -> tuple[int, int]:
    """Run epochs as ``kernels.perceptron.epochs`` does; they also end with a pocket without errors."""
    z, count = machine.z, machine.counts
    for e in range(lines.mistakes.shape[0]):
        made = count[MADE]
        order = orders[e % orders.shape[0]]
        pocket_steps(rows, labels, positive, order, machine, rule, pocket)
        running = count_weight(rows, labels, positive, z, rule.pad, pocket, np.inf)
        lines.errors[e], lines.running[e] = pocket.errors[0], running
        lines.mistakes[e] = count[MADE] - made
        lines.norm[e] = norm(pocket.z)
        if lines.mistakes[e] == 0 or pocket.errors[0] == 0.0:
            return e + 1, 0
        period = repeated(z, machine.earlier, machine.clock) if repeats else 0
        if period > 0 or count[LEFT] <= 0:
            return e + 1, period
    return lines.mistakes.shape[0], 0
