"""Is data in partitions linearly separable? The verdict of a local run, with its proof."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from maxmargin.certificates.proof import fingerprint_of, streams_of
from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.cluster.collections import labelled, names_of
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import NEVER
from maxmargin.estimators.proofs import Among, ask
from maxmargin.estimators.separability import (
    Labelled,
    Options,
    answered,
    asked,
    decide_labelled,
    distinct_labels,
    put_into_words,
    undecided,
)
from maxmargin.estimators.validation import check_exact_survey
from maxmargin.rows.survey import sample, survey
from maxmargin.rows.training_data import Part, Partitions, TrainingData
from maxmargin.solvers.exact.integer_rows import exponents_of
from maxmargin.solvers.exact.objections import Columns, Decided, remote_verdict
from maxmargin.solvers.margin.hard_margin import SETTINGS
from maxmargin.solvers.margin.partitions import SETTINGS as PARTITIONS
from maxmargin.solvers.margin.partitions import pool_of
from maxmargin.solvers.margin.questions import BinaryTask, run_rounds
from maxmargin.solvers.problem import Machine

PER_FEATURE = 40  # rows of the first pool


def decide_remote(
    X: Any,
    y: Any,
    options: Options,
    names: Sequence[str] | None,
    sides: tuple[Hashable, Hashable] | None,
) -> Verdict | MulticlassVerdict:
    """Decide for a Dask collection, or for files in partitions."""
    data = survey(labelled(X, y))
    return decide_surveyed(data, names or data.names or names_of(X), options, sides)


def decide_surveyed(
    data: TrainingData,
    names: Sequence[str] | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
    sides: tuple[Hashable, Hashable] | None = None,
) -> Verdict | MulticlassVerdict:
    """Decide for rows in partitions; data of few numbers is decided on here."""
    rows, classes = check_exact_survey(data).rows, data.rows.classes
    assert classes is not None
    distinct_labels(classes.tolist())
    features = tuple(names or [f"x{j}" for j in range(rows.d)])
    few = data.entries <= PARTITIONS.max_numbers_sent
    dense = max(1, data.entries // rows.n)
    size = max(
        SETTINGS.min_pool_rows, min(PER_FEATURE * (rows.d + 1), PARTITIONS.max_numbers_sent // dense)
    )
    drawn = sample(data, rows.n if few else size)
    if few:
        here = Labelled(drawn.rows, classes, drawn.codes, features)
        return decide_labelled(here, options, sides)
    if options.numbers == "decimal":
        raise InputError(
            "numbers must be 'binary' for rows in partitions. Got 'decimal' instead. compute() rows "
            "that fit into memory."
        )
    machines = asked(classes, np.arange(len(classes)), sides)
    pad = float(options.fit_intercept)
    columns = Columns(exponents_of(data.reach).astype(np.int16), data.reach > 0)
    totals = data.counts.sum(axis=0)
    seats = [BinaryTask(machine.positive, machine.negative, None, pad) for machine in machines]
    counts = [int(totals[side.members(np.arange(len(classes)))].sum()) for side in seats]
    courses = [
        remote_verdict(
            side, pool_of(drawn, side), rows.parts, count, columns, options.tol, options.deadline
        )
        for side, count in zip(seats, counts, strict=True)
    ]
    found = run_rounds(rows, seats, courses)
    verdicts = [
        _verdict(data, machine, side, count, decided, features, options)
        for machine, side, count, decided in zip(machines, seats, counts, found, strict=True)
    ]
    return answered(verdicts, classes)


def _verdict(
    data: TrainingData,
    machine: Machine,
    side: BinaryTask,
    count: int,
    decided: Decided,
    features: tuple[str, ...],
    options: Options,
) -> Verdict:
    """Put what was decided into words and proof."""
    rows, pool, finding = data.rows, decided.pool, decided.finding
    assert rows.classes is not None
    members = rows.offsets[pool.part] + pool.number
    machine = replace(machine, members=members)
    labels = rows.classes.tolist()
    plain = ask(machine, pool.rows, pool.y, labels, features, options.fit_intercept)
    starts = rows.offsets[:-1].tolist()
    on = [start + some for start, some in zip(starts, decided.on, strict=True) if some is not None]
    among = Among(
        count,
        data.reach,
        partial(_fingerprint, rows, side, count),
        np.concatenate([np.empty(0, np.int64), *on]),
    )
    question = replace(plain, among=among)
    decided.rows.deadline = NEVER
    if finding.kind == "undecided":
        return undecided(question, decided.rows, replace(finding, guess=None))
    finding.work.exact_rows = decided.exact
    filtered = 0 if finding.plane is None else count - decided.exact
    return put_into_words(question, decided.rows, finding, decided.answer, filtered)


def _fingerprint(rows: Partitions, side: BinaryTask, count: int) -> str:
    """The fingerprint of the rows of a machine, which are brought here partition by partition."""
    parts = (part for k in range(rows.parts) for part in rows.along(_streams, None, [k], [side]))
    return fingerprint_of(parts, count, rows.d)


def _streams(part: Part, side: BinaryTask, _: None) -> list[list[np.ndarray]]:
    which = side.members(part.codes)
    rows = part.rows if len(which) == part.rows.n else part.rows.select(which)
    return list(streams_of(rows, side.signs(part.codes[which])))
