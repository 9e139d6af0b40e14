"""The lectures' pseudo-code in plain Python: slow, obvious, and independent of the package.

Rows are lists of floats and labels are ±1. Sums go from left to right, the bias comes last, so that
the iterates can be compared bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

__all__ = [
    "Pocket",
    "Run",
    "batch",
    "decision",
    "errors",
    "method_of_multipliers",
    "naive_average",
    "one_vs_one",
    "one_vs_rest",
    "online",
    "pocket",
    "risk",
    "risk_gradient",
    "unit_scale",
    "z_of",
]


def decision(w, b, x):
    """f(x) = w·x + b, summed from left to right."""
    total = 0.0
    for wj, xj in zip(w, x, strict=True):
        total += wj * xj
    return total + b


def unit_scale(x, pad=1.0):
    """1/‖(x, pad)‖, or 1 for a row of zeros."""
    total = 0.0
    for xj in x:  # from left to right: sum() corrects its rounding from Python 3.12 on
        total += xj * xj
    length = math.sqrt(total + pad * pad)
    return 1.0 / length if length > 0 else 1.0


@dataclass
class Run:
    """All that the online perceptron did: weights (w, b) after every step, and its updates."""

    z: list
    seen: int = 0
    made: int = 0
    updates: list = field(default_factory=list)  # (step, row, margin before, weights after)
    iterates: list = field(default_factory=list)  # the weights after every step
    per_epoch: list = field(default_factory=list)  # updates in each epoch
    ends: list = field(default_factory=list)  # weights at the end of each epoch


def online(
    X,
    y,
    epochs,
    *,
    delta=0.0,
    eta=1.0,
    start=None,
    pad=1.0,
    normalize=False,
    weight=None,
    row_weight=None,
    until_clean=True,
    max_updates=math.inf,
):
    """Run the perceptron over ``epochs``, an iterable of visiting orders.

    It stops after a pass without a mistake (unless ``until_clean`` is off) or when the updates run
    out. ``weight`` maps ±1 to a factor on the step, ``row_weight`` has one for each row.
    """
    X, y = [[float(v) for v in x] for x in X], [float(v) for v in y]
    z = [0.0] * (len(X[0]) + 1) if start is None else [float(v) for v in start]
    run = Run(z)
    for order in epochs:
        before = run.made
        for i in order:
            if run.made >= max_updates:
                break
            run.seen += 1
            s = unit_scale(X[i], pad) if normalize else 1.0
            margin = s * (y[i] * decision(z[:-1], pad * z[-1], X[i]))
            if margin <= delta:
                step = eta * (weight[int(y[i])] if weight else 1.0) * y[i] * s
                step *= row_weight[i] if row_weight is not None else 1.0
                for j, xj in enumerate(X[i]):
                    z[j] += step * xj
                z[-1] += step * pad
                run.made += 1
                run.updates.append((run.seen, int(i), margin, list(z)))
            run.iterates.append(list(z))
        run.per_epoch.append(run.made - before)
        run.ends.append(list(z))
        if run.made >= max_updates or (until_clean and run.made == before):
            break
    return run


def naive_average(run):
    """The mean of the weights after each step, by adding them all up."""
    return [math.fsum(column) / run.seen for column in zip(*run.iterates, strict=True)]


def errors(X, y, w, b):
    """Rows with y·f(x) ≤ 0: a row on the boundary is an error."""
    return sum(yi * decision(w, b, x) <= 0 for x, yi in zip(X, y, strict=True))


@dataclass
class Pocket:
    """The best weights, their errors, after which update they were found, and the last iterate."""

    z: list
    errors: int
    found_at: int
    last: list
    made: int


def pocket(X, y, horizon, order, start=None):
    """Run ``horizon`` updates and count the errors after every one; a tie never replaces."""
    X = [[float(v) for v in x] for x in X]
    z = [0.0] * (len(X[0]) + 1) if start is None else [float(v) for v in start]
    best = Pocket(list(z), errors(X, y, z[:-1], z[-1]), 0, z, 0)
    before = -1
    while before < best.made:
        before = best.made
        for i in order:
            if best.made == horizon:
                return best
            if y[i] * decision(z[:-1], z[-1], X[i]) <= 0:
                for j, xj in enumerate(X[i]):
                    z[j] += float(y[i]) * xj
                z[-1] += float(y[i])
                best.made += 1
                wrong = errors(X, y, z[:-1], z[-1])
                if wrong < best.errors:
                    best.z, best.errors, best.found_at = list(z), wrong, best.made
    return best


def risk(A, z, weights=None):
    """R(z) = Σ_{i∈V} −a_i·z over the misclassified rows V = {i : a_i·z ≤ 0}."""
    c = weights or [1.0] * len(A)
    margins = [decision(z, 0.0, a) for a in A]
    return math.fsum(-ci * m for ci, m in zip(c, margins, strict=True) if m <= 0)


def risk_gradient(A, z):
    """−Σ_{i∈V} a_i."""
    V = [a for a in A if decision(z, 0.0, a) <= 0]
    return [-math.fsum(column) for column in zip(*V, strict=True)] if V else [0.0] * len(z)


def batch(A, z, step, steps):
    """Gradient descent on R with a fixed step: the weights after every step, until V is empty."""
    z, path = [float(v) for v in z], []
    for _ in range(steps):
        gradient = risk_gradient(A, z)
        z = [zj - step * gj for zj, gj in zip(z, gradient, strict=True)]
        path.append(list(z))
        if all(decision(z, 0.0, a) > 0 for a in A):
            break
    return path


def one_vs_rest(machines, x):
    """The label with the largest decision value; ``machines`` maps labels to (w, b)."""
    return max(sorted(machines), key=lambda k: decision(*machines[k], x))


def one_vs_one(machines, x):
    """Majority vote, ties by the sum of decision values; ``machines`` maps pairs to (w, b)."""
    labels = sorted({k for pair in machines for k in pair})
    votes, total = dict.fromkeys(labels, 0), dict.fromkeys(labels, 0.0)
    for a, b in combinations(labels, 2):
        f = decision(*machines[a, b], x)
        votes[b if f > 0 else a] += 1
        total[b] += f
        total[a] -= f
    return max(labels, key=lambda k: (votes[k], total[k]))


def z_of(model):
    """(w, b) of a fitted model of two classes, in the form of a twin's."""
    return [*model.coef_[0].tolist(), float(model.intercept_[0])]


def method_of_multipliers(X, y, C, pad, rounds=14):
    """The soft margin by Newton steps on the augmented Lagrangian: w, b and α."""
    n, d = X.shape
    Z = y[:, None] * np.column_stack([X, np.full(n, pad)])
    D = np.diag(np.append(np.ones(d), 0.0 if pad else 1.0))
    z, a, sigma = np.zeros(d + 1), np.zeros(n), 0.25 * C

    def lagrangian(z):
        alpha = np.clip(a + sigma * (1.0 - Z @ z), 0.0, C)
        return 0.5 * z @ D @ z + np.sum(alpha * (1.0 - Z @ z) - (alpha - a) ** 2 / (2.0 * sigma))

    for _ in range(rounds):
        for _ in range(100):
            alpha = np.clip(a + sigma * (1.0 - Z @ z), 0.0, C)
            gradient = D @ z - alpha @ Z
            band = (alpha > 0.0) & (alpha < C)
            H = D + (sigma[band, None] * Z[band]).T @ Z[band] + 1e-12 * np.eye(d + 1)
            step = -np.linalg.solve(H, gradient)
            t, now = 1.0, lagrangian(z)
            while lagrangian(z + t * step) > now and t > 1e-12:
                t *= 0.5
            if t <= 1e-12 or np.linalg.norm(step) <= 1e-12 * np.linalg.norm(z):
                break
            z = z + t * step
        a, sigma = np.clip(a + sigma * (1.0 - Z @ z), 0.0, C), 4.0 * sigma
    return z[:-1], z[-1], a
