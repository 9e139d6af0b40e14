"""Verdicts on rows that stay in partitions, of which only those that matter come here.

A verdict on some rows is put before all, and rows that contradict it join them, until none does. The
proof is about all rows: its fingerprint is taken partition by partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from maxmargin.certificates.proof import fingerprint_of, streams_of
from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import NEVER
from maxmargin.estimators.separability import Among, Options, ask, put_into_words, undecided
from maxmargin.rows.training_data import Machine, Part, Partitions, TrainingData
from maxmargin.solvers.exact.objections import decide_on_partitions
from maxmargin.solvers.margin.questions import BinaryTask


def judge_partitions(
    data: TrainingData,
    machines: Sequence[Machine],
    features: tuple[str, ...],
    options: Options,
) -> list[Verdict]:
    """The verdicts on machines whose rows stay where they are."""
    if options.numbers == "decimal":
        raise InputError(
            "numbers must be 'binary' for rows in partitions. Got 'decimal' instead. compute() rows "
            "that fit into memory."
        )
    rows, labels, pad = data.rows, data.classes.tolist(), float(options.fit_intercept)
    verdicts = []
    tasks = [BinaryTask(machine.positive, machine.negative, None, pad) for machine in machines]
    found = decide_on_partitions(data, tasks, options.tol, options.deadline)
    for machine, task, one in zip(machines, tasks, found, strict=True):
        pool, finding = one.pool, one.finding
        machine = replace(machine, members=rows.offsets[pool.part] + pool.number)
        on = [
            start + some for start, some in zip(rows.offsets, one.on, strict=False) if some is not None
        ]
        among = Among(
            one.n,
            data.reach,
            partial(fingerprint_of_partitions, rows, task, one.n),
            np.concatenate([np.empty(0, np.int64), *on]),
        )
        asking = ask(machine, pool.rows, pool.y, labels, features, options.fit_intercept)
        question = replace(asking, among=among)
        one.rows.deadline = NEVER
        if finding.kind == "undecided":
            verdicts.append(undecided(question, one.rows, replace(finding, guess=None)))
            continue
        finding.work.exact_rows = one.exact
        filtered = 0 if finding.plane is None else one.n - one.exact
        verdicts.append(put_into_words(question, one.rows, finding, one.answer, filtered))
    return verdicts


def fingerprint_of_partitions(rows: Partitions, task: BinaryTask, count: int) -> str:
    """The fingerprint of the rows of a machine, which are brought here partition by partition."""
    parts = (part for k in range(rows.parts) for part in rows.along(_streams, None, [k], [task]))
    return fingerprint_of(parts, count, rows.d)


def _streams(part: Part, task: BinaryTask, _: None) -> list[list[np.ndarray]]:
    which = task.members(part.codes)
    rows = part.rows if len(which) == part.rows.n else part.rows.select(which)
    return list(streams_of(rows, task.signs(part.codes[which])))
