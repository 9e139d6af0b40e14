"""``fit`` of the margin machines on Dask collections."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import Summary, factor, judge
from maxmargin.certificates.verdict import Verdict
from maxmargin.cluster.collections import labelled, names_of
from maxmargin.core.deadline import NEVER, Deadline, OutOfTimeError
from maxmargin.core.errors import InputError
from maxmargin.estimators.door import check_survey, known_features
from maxmargin.estimators.exactly import second_opinion
from maxmargin.estimators.machines import build_machines
from maxmargin.estimators.progress import Watch
from maxmargin.estimators.question import ask, feature_names
from maxmargin.estimators.remote.machine import RemoteMachine, judging, summaries, together
from maxmargin.rows.survey import Surveyed, survey
from maxmargin.solvers.margin.tasks import Pass
from maxmargin.solvers.problem import Machine
from maxmargin.solvers.remote.machines import RemoteSolved, RemoteTask, outside, solve_remote
from maxmargin.solvers.remote.point import Closing, Limits, RemotePoint
from maxmargin.solvers.remote.rounds import Query, Side
from maxmargin.solvers.remote.rule import Multipliers, Plane

__all__ = ["exactly", "fit_margins", "fit_surveyed"]


def fit_margins(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a margin machine to a Dask collection, or to files in partitions."""
    if model.solver not in ("auto", "newton"):
        raise InputError(
            "solver must be 'auto' or 'newton' for Dask collections: coordinate descent needs all rows "
            f"in one place. Got {model.solver!r} instead."
        )
    data = check_survey(survey(labelled(X, y, sample_weight)))
    known_features(model, data.rows.d, data.names or names_of(X), reset=True)
    fit_surveyed(model, data, X, y)


def fit_surveyed(model: Any, data: Surveyed, X: Any = None, y: Any = None) -> None:
    """Fit a margin machine to rows in partitions."""
    classes = data.rows.classes
    assert classes is not None
    codes, ones = np.arange(len(classes)), np.ones(len(classes))
    factors = model._class_weights(classes, codes, data.weights)
    machines = build_machines(classes, codes, model.multi_class, codes, factors)
    model.classes_ = classes
    starts = _starts(model, machines, data)
    tasks = [
        RemoteTask(m.positive, m.negative if len(codes) > 2 else None, model._bounds(m, codes, ones), s)
        for m, s in zip(machines, starts, strict=True)
    ]
    logs: list[list[Pass]] = [[] for _ in machines]
    deadline = math.inf if model.max_seconds is None else time.perf_counter() + model.max_seconds
    with Watch(model, X, y, None, lambda Z: None) as watch:
        reports = [_report(model, data, log, watch) for log in logs]
        limits = [Limits(model.tol, deadline, report, _closing(model)) for report in reports]
        solved = solve_remote(data, tasks, model._pad, limits)
    verdicts: list[Verdict | None] = [None] * len(machines)
    names = feature_names(model, data.rows.d)
    for k, (machine, found) in enumerate(zip(machines, solved, strict=True)):
        if found.point.meets is not None:
            asked = (
                data,
                machine,
                classes.tolist(),
                names,
                model.fit_intercept,
                found,
                Deadline(deadline),
            )
            with suppress(OutOfTimeError):  # then its certificate says that it separates nothing
                verdicts[k], solved[k] = exactly(*asked)
    model._refuse(machines, verdicts)
    model._publish(_certified(model, data, machines, solved, logs))
    model.bytes_moved_ = data.rows.bytes_moved
    model._warn()


def _starts(model: Any, machines: Sequence[Machine], data: Surveyed) -> list[Plane | None]:
    """The planes of the last fit, if the estimator begins there."""
    old = getattr(model, "machines_", {}) if getattr(model, "warm_start", False) else {}
    known = [old.get(machine.label) for machine in machines]
    return [
        None if one is None or len(one.coef_) != data.rows.d else Plane(one.coef_, one.intercept_)
        for one in known
    ]


def _report(model: Any, data: Surveyed, log: list[Pass], watch: Watch) -> Any:
    most = math.inf if model.max_passes is None else model.max_passes

    def report(point: RemotePoint) -> bool:
        rounds = data.rows.rounds
        log.append(Pass(rounds, point.primal, point.dual))
        note = f"gap {point.gap:.1e}" if point.gap < math.inf else "no plane yet"
        stop = watch.step("round", rounds, note, lambda: np.empty((0, data.rows.d + 1)))
        return stop or rounds >= most

    return report


def _closing(model: Any) -> Closing:
    """The certificate as the last round of a solver, in the coordinates of the solver."""

    def solved(side: Side, point: RemotePoint) -> RemoteSolved:
        return RemoteSolved(side, point, *outside(side, point))

    def question(side: Side, point: RemotePoint) -> Query:
        return judging(solved(side, point))

    def values(side: Side, point: RemotePoint, answers: list[Any]) -> tuple[float, float]:
        w, unit = solved(side, point).w, side.scene.scale**2
        proof = judge(together(answers), w, False, model.fit_intercept, model._problem(), 0)
        return proof.primal * unit, proof.dual * unit

    return Closing(question, values)


def exactly(
    data: Surveyed,
    machine: Machine,
    labels: list[Any],
    names: tuple[str, ...],
    fit_intercept: bool,
    found: RemoteSolved,
    deadline: Deadline = NEVER,
) -> tuple[Verdict, RemoteSolved]:
    """What exact arithmetic says of rows that floating point could not separate.

    If they cannot be separated, neither can all rows; the proof is about these rows alone.
    """
    pool = found.point.meets
    assert pool is not None
    given = data.rows.offsets[pool.part] + pool.number
    order = np.argsort(given)
    few = pool.some(order)
    machine = replace(machine, members=given[order])
    partial = pool.rows.n < data.rows.n
    question = ask(machine, few.rows, few.y, labels, names, fit_intercept, partial, deadline=deadline)
    verdict, other = second_opinion(question, data.rows.rounds)
    if other is None:
        return verdict, found
    plane = Plane(*found.side.scene.inside(other.w, other.b))
    alpha = few.given(other.alpha * found.side.scene.scale**2, data.rows.parts)
    point = RemotePoint(plane, Multipliers(None, alpha))
    return verdict, RemoteSolved(found.side, point, other.w, other.b)


def _certified(
    model: Any,
    data: Surveyed,
    machines: Sequence[Machine],
    solved: Sequence[RemoteSolved],
    logs: Sequence[list[Pass]],
) -> list[RemoteMachine]:
    """The machines with their certificates: one round for all that have none yet.

    One more for those that might better be a little longer.
    """
    asked = [found for found in solved if found.point.proof is None]
    answers = iter(summaries(data.rows, asked) if asked else [])
    parts = [together(f.point.proof) if f.point.proof is not None else next(answers) for f in solved]

    def judged(found: RemoteSolved, own: Summary) -> Certificate:
        hard = found.side.C is None
        return judge(own, found.w, hard, model.fit_intercept, model._problem(), data.rows.rounds)

    best = [(found, judged(found, own)) for found, own in zip(solved, parts, strict=True)]
    factors = [factor(own, proof) for own, (_, proof) in zip(parts, best, strict=True)]
    some = [k for k, t in enumerate(factors) if t > 1.0]
    longer = [solved[k]._replace(w=factors[k] * solved[k].w, b=factors[k] * solved[k].b) for k in some]
    for k, found, own in zip(some, longer, summaries(data.rows, longer) if some else [], strict=True):
        proof = judged(found, own)
        if proof.primal < best[k][1].primal:
            best[k] = found, proof
    published = []
    for machine, (found, measured), log in zip(machines, best, logs, strict=True):
        proof = replace(measured, n_passes=data.rows.rounds)
        unit = found.side.scene.scale**2
        passes = [Pass(line.n_passes, line.primal / unit, line.dual / unit) for line in log]
        last = Pass(proof.n_passes, proof.primal, proof.dual)
        published.append(RemoteMachine(data.rows, found, machine.label, proof, (*passes, last)))
    return published
