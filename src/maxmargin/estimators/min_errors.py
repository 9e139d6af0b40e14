"""The fewest training errors of any plane, proven; an interval whenever time ends first."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin.checker import signed
from maxmargin.checker.errors import SWEPT_BITS, SWEPT_ROWS
from maxmargin.core.parameters import OutOfTimeError, random_generator
from maxmargin.estimators.error_bounds import (
    ErrorBounds,
    Errors,
    Fork,
    Leaf,
    Lower,
    errors_of,
    quick_bounds,
)
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.separability import Options, asked, question_of, read_labelled
from maxmargin.rows.survey import gather
from maxmargin.solvers.errors.branching import Search
from maxmargin.solvers.errors.sweep import MAX_COORDINATES, sweep
from maxmargin.solvers.errors.witnesses import Points

MAX_SEARCHED = 5_000  # different rows for fractional packings, which take the square of it in memory
WRITING_SHARE = 0.04  # of the time that is left, for what the proof needs at the end
MAX_WITNESSES = 1_000  # disjoint ones, of more rows than that


def min_errors(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    numbers: str = "binary",
    max_seconds: float | None = 60.0,
    random_state: Any = 0,
    verbose: int = 0,
) -> ErrorBounds:
    """Find the plane with the fewest training errors, and prove that no plane makes fewer.

    The problem is NP-hard, but often the fewest errors are few. Every set of rows that cancel with
    positive weights, a witness, has a row wrong for every plane; a fractional packing of witnesses is a
    lower bound, and where it is not tight, a row is chosen that is either wrong or right, and both cases
    are bounded. In up to three coordinates all planes are gone through. A row on the plane is an error.

    Parameters
    ----------
    X, y : array-like
        Training rows and labels of two classes.
    sample_weight : array-like of shape (n,), optional
        What an error on each row costs, exactly; then the least total cost is sought.
    fit_intercept : bool, default True
        Allow for any plane; otherwise only planes through the origin.
    numbers : "binary" or "decimal", default "binary"
        The doubles as they are stored, or the numbers as they are written: see
        :func:`maxmargin.separability`.
    max_seconds : float or None, default 60
        Budget of time. If it ends first, the bounds are those found so far, with their proof.
    random_state : int, RandomState or None, default 0
        Seed of the pocket algorithm and of the search for witnesses.
    verbose : int, default 0
        1 shows the bounds after half a second.

    Returns
    -------
    ErrorBounds

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = mm.min_errors(X[50:], y[50:])
    >>> found.upper, found.proven, found.given_up.tolist()
    (1, True, [33])
    >>> found.proof.verify(X[50:], y[50:])
    True
    """
    with time_limit("min_errors", max_seconds, verbose) as deadline:
        options = Options(fit_intercept, numbers=numbers, deadline=deadline)
        return fewest_errors(errors_of(X, y, sample_weight, options, "min_errors"), random_state)


def fewest_errors_of(
    X: Any,
    y: Any,
    options: Options,
    names: Sequence[str] | None = None,
    sides: tuple[Hashable, Hashable] | None = None,
) -> ErrorBounds:
    """The fewest errors for the classes asked for, (one, other), None: all others, as a command asks.

    ``names`` are those of the features. Rows of a file are read into memory.
    """
    data, features = read_labelled(X, y, options.numbers)
    features, (machine, *_) = features if names is None else tuple(names), asked(data, sides)
    if data.here is None:
        data = gather(data)
        machine = machine.on(data.codes)
    question = question_of(data, machine, features, options)
    return fewest_errors(Errors(question, [Fraction(1)] * question.rows.n), random_state=0)


def fewest_errors(errors: Errors, random_state: Any) -> ErrorBounds:
    """The fewest errors, or the bounds that there is time for."""
    plane = errors.without_errors()
    if plane is not None:
        return errors.bounds(plane, Lower())
    points, deadline = Points(errors.rows, errors.costs), errors.question.deadline
    if points.n > MAX_SEARCHED:
        return quick_bounds(errors, MAX_WITNESSES, random_state)
    start = points.of_rows(errors.first_wrong(random_state))
    swept, max_nodes = None, np.inf
    if _can_be_swept(errors, points):
        with suppress(OutOfTimeError):
            cost, start = sweep(points, errors.unit, deadline)
            swept = cost + points.unavoidable
            max_nodes = 0  # a packing of all witnesses is tried, and no branches
    rng = random_generator("random_state", random_state)
    end = deadline.end - WRITING_SHARE * (deadline.end - time.perf_counter())
    budget = replace(deadline, end=end) if deadline.end < math.inf else deadline
    search = Search(points, errors.wrong_side, start, budget, rng, max_nodes)
    search.run()
    lower = _lower(points, search)
    if swept is not None and lower.bound < swept:
        lower = replace(lower, bound=swept, swept=True)
    wrong = points.rows_of(np.append(search.best.wrong, -1))  # rows of no point are right by chance
    plane = errors.plane_without(wrong)
    open_yet = lower.bound < errors.cost(np.union1d(plane.wrong, plane.on))
    return errors.bounds(plane, lower, limited=open_yet, late=open_yet)


def _can_be_swept(errors: Errors, points: Points) -> bool:
    """Whether all planes can be gone through; by the checker, too, for which free rows count."""
    n, D = len(points.different), errors.rows.D
    if D > MAX_COORDINATES or n > SWEPT_ROWS:
        return False
    X = errors.question.rows.take(points.different).astype(np.float64)
    longest = 0
    for x in np.column_stack([X, np.ones((n, D - X.shape[1]))]):
        here = np.flatnonzero(x).tolist()
        _, integers, _ = signed(1, here, x[here].tolist(), errors.question.decimal)
        longest = max([longest, *[v.bit_length() for v in integers]])
    return bool(longest**2 * n ** (D - 1) <= SWEPT_BITS)


def _lower(points: Points, search: Search) -> Lower:
    """What the search has proven, in rows in place of points."""
    bound = search.lower()
    branches, nodes = search.tree(bound)
    used = {s: k for k, s in enumerate(dict.fromkeys(s for node in nodes for s in node.exact))}
    witnesses = [search.witnesses.weights(s) for s in used]
    always = dict[int, Fraction]()
    if len(points.zero):  # no plane has them right
        always = {len(witnesses): points.unavoidable}
        witnesses.append({int(points.zero[0]): 1})
    leaves = [Leaf((), always)]
    if nodes:
        leaves = [
            Leaf(
                tuple(points.rows_of(np.array(node.wrong, dtype=np.int64)).tolist()),
                {used[s]: x for s, x in node.exact.items()} | always,
            )
            for node in nodes
        ]
    forks = [Fork(int(points.first[b.point]), b.wrong, b.right) for b in branches]
    return Lower(bound + points.unavoidable, witnesses, forks, leaves)
