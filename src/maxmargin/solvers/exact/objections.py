"""Separable, touching or overlapping, on partitions: decide on a pool of rows, and hear objections.

What :mod:`maxmargin.solvers.exact.separability` finds for some of the rows is put before all of them:

- *separable* by z: a row with a_i·z ≤ 0 objects; so does a row that is nearer to the plane than those of
  the pool, as long as the bounds on the largest margin are not close.
- *touching* with z: a row with a_i·z < 0 objects, and one with a_i·z = 0 outside the span of the face.
- *overlapping*: a row outside the span of the face objects.

All signs are exact. The worst of the rows that object join the pool, and the pool is decided on again. A
witness of some rows is one of all rows, so when no row objects, the verdict holds for all. Every round
brings rows that were not there, so there is an end.

It is apart from its twin since exact arithmetic needs its rows in one place: of rows in partitions only
those that matter come here, and the others are asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import Deadline, OutOfTimeError
from maxmargin.rows import Rows, as_rows
from maxmargin.rows.survey import sample
from maxmargin.rows.training_data import TrainingData, matrix_of, stacked
from maxmargin.solvers.exact.face import Face
from maxmargin.solvers.exact.hard_margin import Separated, separated
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, exponents_of
from maxmargin.solvers.exact.separability import Finding, find_verdict
from maxmargin.solvers.exact.signs import DoublePlane, attained, from_doubles, signs
from maxmargin.solvers.margin.hard_margin import max_sent
from maxmargin.solvers.margin.partitions import pool_of
from maxmargin.solvers.margin.questions import (
    Asking,
    BinaryTask,
    Pool,
    Question,
    Sent,
    View,
    gathered,
    run_rounds,
)


@dataclass(frozen=True)
class Settings:
    """How much of rows in partitions is brought here."""

    max_numbers_here: int = 1 << 21  # data of so few numbers is decided on here
    max_first_numbers: int = 1 << 21  # of the first pool
    min_first_rows: int = 400
    first_rows_per_feature: int = 40
    max_pool_numbers: int = 1 << 25


SETTINGS = Settings()


class Columns(NamedTuple):
    """What all rows have in common."""

    exponents: np.ndarray  # k_j with |x_ij| ≤ 2^k_j, in two bytes
    used: np.ndarray  # whether some x_ij is not zero

    def exact(self, rows: Rows, y: np.ndarray, pad: float) -> ExactRows:
        """Some of the rows in exact arithmetic."""
        return ExactRows(rows, y, pad, self.exponents.astype(np.int64), self.used)


class Decided(NamedTuple):
    """A verdict on all rows."""

    n: int  # rows of the machine
    pool: Pool
    rows: ExactRows  # of the pool
    finding: Finding
    answer: Separated | None
    on: list[np.ndarray | None]  # the rows of each partition on the plane, if the classes touch
    exact: int  # rows whose signs were decided in integers


class Claim(NamedTuple):
    """What is put before a partition."""

    columns: Columns
    pad: float
    plane: Sequence[Number] | DoublePlane | None  # in whole numbers, or in doubles of the user
    strict: bool
    nearest: float  # value of the nearest row of the pool
    face: tuple[Any, np.ndarray] | None  # rows that span it, and their sides


class Objections(NamedTuple):
    """What a partition says to it."""

    against: int  # rows that contradict the verdict
    lower: float  # the margin of the plane on these rows, if it separates them
    on: np.ndarray
    exact: int
    worst: np.ndarray  # of the rows that are sent: smaller is worse
    rows: Sent


def decide_on_partitions(
    data: TrainingData, tasks: Sequence[BinaryTask], tol: float, deadline: Deadline
) -> list[Decided]:
    """Decide on machines, which share their rounds; data of more numbers than are decided on here."""
    rows, totals, codes = data.rows, data.counts.sum(axis=0), np.arange(len(data.classes))
    numbers_per_row = max(1, data.entries // rows.n)
    size = min(
        SETTINGS.first_rows_per_feature * (rows.d + 1), SETTINGS.max_first_numbers // numbers_per_row
    )
    drawn = sample(data, max(SETTINGS.min_first_rows, size))
    columns = Columns(exponents_of(data.reach).astype(np.int16), data.reach > 0)
    machines = []
    for task in tasks:
        count = int(totals[task.members(codes)].sum())
        machines.append(_decide(task, pool_of(drawn, task), rows.parts, count, columns, tol, deadline))
    return run_rounds(rows, tasks, machines)


def _decide(
    task: BinaryTask,
    pool: Pool,
    parts: int,
    count: int,
    columns: Columns,
    tol: float,
    deadline: Deadline,
) -> Asking[Decided]:
    """Decide on a machine with ``count`` rows, beginning with a pool.

    If the time ends first, what is known of the pool comes back, undecided.
    """
    size = pool.rows.n
    most = max_sent(size, parts)
    none: list[np.ndarray | None] = [None] * parts
    while True:
        pool = pool.some(np.lexsort((pool.number, pool.part)))
        rows = columns.exact(pool.rows, pool.y, task.pad)
        rows.deadline = deadline
        finding, answer = find_verdict(rows, tol), None
        if finding.kind == "separable" and not deadline.over:
            with suppress(OutOfTimeError):
                answer = separated(rows, finding, tol)
        if finding.kind == "undecided" or deadline.over:
            early = Finding("undecided", witness=finding.witness, guess=finding.guess, work=finding.work)
            return Decided(count, pool, rows, early, None, none, finding.work.exact_rows)
        if pool.rows.n == count:
            here = _numbers_on_plane(pool, finding, parts)
            return Decided(count, pool, rows, finding, answer, here, finding.work.exact_rows)
        claim = _claim(columns, rows, finding, answer)
        if claim is None:
            return Decided(count, pool, rows, finding, answer, none, finding.work.exact_rows)
        answers = yield Question(_objections, (claim, most), pool.known(parts))
        said: list[Objections] = [a for a in answers if a is not None]
        fresh = gathered([None if a is None else a.rows for a in answers])
        if answer is not None and not any(a.against for a in said):
            answer = answer._replace(lower=min(a.lower for a in said))
            fresh = None if answer.upper <= (1.0 + tol) * answer.lower else fresh
        if fresh is None:
            on = [None if a is None else a.on for a in answers]
            return Decided(count, pool, rows, finding, answer, on, sum(a.exact for a in said))
        worst = np.concatenate([a.worst for a in said])
        if len(worst) > size:
            fresh = fresh.some(np.sort(np.argpartition(worst, size)[:size]))
        pool = pool.joined(fresh)
        if pool.rows.entries > SETTINGS.max_pool_numbers:
            raise InputError(
                f"rows in partitions must be decided by few of them. Got {pool.rows.n:,} of {count:,} "
                "rows that matter, and no end. Ask about fewer features, or about a file on one machine "
                "(open_rows)."
            )


def _numbers_on_plane(pool: Pool, finding: Finding, parts: int) -> list[np.ndarray | None]:
    """For each partition the rows on the plane, of a pool that holds all rows."""
    on = finding.on_plane
    return [pool.number[on[pool.part[on] == k]] for k in range(parts)]


def _claim(
    columns: Columns, rows: ExactRows, finding: Finding, answer: Separated | None
) -> Claim | None:
    """What other rows could contradict; None if that is nothing."""
    if answer is not None:
        nearest = float(signs(rows, answer.plane).values.min())
        plane = (answer.w, answer.b) if answer.doubles else answer.plane
        return Claim(columns, rows.pad, plane, True, nearest, None)
    face = finding.face
    assert face is not None
    if finding.kind == "overlapping" and not np.any(rows.used[face.Q]):
        return None  # all rows are in the span
    span = np.array(face.free, dtype=np.int64)
    held = matrix_of(rows.given.select(span)), rows.y[span]
    return Claim(columns, rows.pad, finding.plane, False, -math.inf, held)


def _objections(view: View, claim: Claim, most: int, known: np.ndarray) -> Objections:
    """Hear one partition."""
    rows = claim.columns.exact(view.frame.rows, view.frame.y, claim.pad)
    worst, lower, on, exact = np.full(rows.n, math.inf), math.inf, np.empty(0, np.int64), 0
    fresh = ~np.isin(view.numbers, known)
    if claim.plane is None:
        outside, exact = _outside(rows, claim)
        worst[outside] = 0.0
        against = len(outside)
    else:
        plane = claim.plane
        if isinstance(plane, tuple):
            plane = from_doubles(rows, *plane)
        found = signs(rows, plane)
        bad = found.of <= 0 if claim.strict else found.of < 0
        worst[bad] = np.minimum(found.values[bad], 0.0)
        against, exact = int(np.count_nonzero(bad)), found.exact
        if claim.strict:
            lower = 0.0 if against else attained(rows, plane, found)
            near = fresh & ~bad & (found.values < claim.nearest)
            worst[near] = found.values[near]
        else:
            zero = np.flatnonzero(found.of == 0)
            on, zero = view.numbers[zero], zero[fresh[zero]]
            if len(zero):
                outside = zero[_seem_outside(rows.given.select(zero), rows.y[zero], claim)]
                worst[outside] = 0.0
                against += len(outside)
    which = np.flatnonzero(fresh & (worst < math.inf))
    if len(which) > most:
        which = np.sort(which[np.argpartition(worst[which], most)[:most]])
    X = matrix_of(view.frame.rows.select(which))
    sent = Sent(view.numbers[which], view.frame.y[which], view.C[which], X)
    return Objections(against, lower, on, exact, worst[which], sent)


def _seem_outside(rows: Rows, y: np.ndarray, claim: Claim) -> np.ndarray:
    """The rows outside the span of the face; some of many that are next to it may be missed.

    Then the plane of a verdict contains more rows than it needs to; it is no less true.
    """
    assert claim.face is not None
    X, sides = claim.face
    k = len(sides)
    both = stacked([X, matrix_of(rows)])
    exact = claim.columns.exact(both, np.append(sides, y), claim.pad)
    face = Face(exact, dict.fromkeys(range(k), 1))
    return face.outside(np.arange(k, both.n)) - k


def _outside(rows: ExactRows, claim: Claim) -> tuple[np.ndarray, int]:
    """The rows outside the span of the face, exactly; and how many signs were decided in integers."""
    assert claim.face is not None
    X, y = claim.face
    held = claim.columns.exact(as_rows(X), y, claim.pad)
    inside, exact = np.arange(rows.n), 0
    for plane in Face(held, dict.fromkeys(range(held.n), 1)).flats():
        if not len(inside):
            break
        found = signs(rows if len(inside) == rows.n else rows.restricted(inside), plane)
        inside, exact = inside[found.of == 0], max(exact, found.exact)
    return np.setdiff1d(np.arange(rows.n), inside), exact
