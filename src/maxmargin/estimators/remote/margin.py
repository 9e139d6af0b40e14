"""``fit`` of the margin machines on Dask collections.

A margin machine that was fitted to partitions; what it says of every row is computed on demand.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import Point, Summary, factor, judge, summary, total
from maxmargin.certificates.verdict import Verdict
from maxmargin.cluster.collections import labelled, names_of
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import NEVER, Deadline, OutOfTimeError
from maxmargin.estimators.exact_optimum import second_opinion
from maxmargin.estimators.margin_classifier import MarginMachine, Slab
from maxmargin.estimators.multiclass import build_machines
from maxmargin.estimators.progress import Watch
from maxmargin.estimators.proofs import ask
from maxmargin.estimators.separability import feature_names
from maxmargin.estimators.validation import check_survey, known_features
from maxmargin.rows.partitions import Partitions
from maxmargin.rows.survey import Surveyed, survey
from maxmargin.solvers.margin.tasks import Pass, Solved
from maxmargin.solvers.problem import Machine
from maxmargin.solvers.remote.machines import RemoteSolved, RemoteTask, outside, solve_remote
from maxmargin.solvers.remote.rounds import (
    Closing,
    Given,
    Limits,
    Multipliers,
    Plane,
    Query,
    RemotePoint,
    Rule,
    Side,
    View,
    ask_all,
    multipliers_of,
)

PER_ROW = {
    "support_",
    "support_dual_",
    "support_bound_",
    "late_",
    "late_slack_",
    "dual_",
    "slack_",
    "free_support_",
    "bound_support_",
}


class RemoteMachine(Slab):
    """As :class:`MarginMachine`; what it has per row is computed where the rows are, when asked for.

    A copy, or a machine that is pickled, holds these numbers itself.
    """

    def __init__(
        self,
        rows: Partitions,
        solved: RemoteSolved,
        label: Hashable,
        certificate: Certificate,
        progress: tuple[Pass, ...],
    ) -> None:
        self._rows, self._solved = rows, solved
        self.label, self.coef_, self.intercept_ = label, solved.w, solved.b
        self.certificate_, self.n_passes_, self.n_rows = certificate, certificate.n_passes, rows.n
        self.progress_, self.solver_ = progress, "newton"

    @cached_property
    def gathered(self) -> MarginMachine:
        """The same with support, multipliers and slacks of all rows here: one more round."""
        ((answers),) = ask_all(self._rows, [(self._solved.side, _question(self._solved, _rows_of))])
        found: list[tuple[int, _Rows]] = [
            (start, answer)
            for start, answer in zip(self._rows.offsets[:-1].tolist(), answers, strict=True)
            if answer is not None
        ]
        return MarginMachine(
            label=self.label,
            coef_=self.coef_,
            intercept_=self.intercept_,
            support_=np.concatenate([start + rows.support for start, rows in found]),
            support_dual_=np.concatenate([rows.alpha for _, rows in found]),
            support_bound_=np.concatenate([rows.bound for _, rows in found]),
            late_=np.concatenate([start + rows.late for start, rows in found]),
            late_slack_=np.concatenate([rows.slack for _, rows in found]),
            certificate_=self.certificate_,
            n_passes_=self.n_passes_,
            n_rows=self.n_rows,
            progress_=self.progress_,
            solver_=self.solver_,
        )

    def __getattr__(self, name: str) -> Any:
        if name in PER_ROW:
            return getattr(self.gathered, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.gathered,)


def _itself(machine: MarginMachine) -> MarginMachine:
    return machine


class _Rows(NamedTuple):
    """Rows of a partition with multipliers or slacks."""

    support: np.ndarray
    alpha: np.ndarray
    bound: np.ndarray
    late: np.ndarray
    slack: np.ndarray


def summaries(rows: Partitions, solved: Sequence[RemoteSolved], edge: float = 1.0) -> list[Summary]:
    """What all partitions together contribute to the certificate of each machine: one round."""
    asked = [(machine.side, judging(machine, edge)) for machine in solved]
    return [together(answers) for answers in ask_all(rows, asked)]


def together(answers: Sequence[Summary | None]) -> Summary:
    """The sum over all partitions that have rows of the machine."""
    return total(answer for answer in answers if answer is not None)


def judging(machine: RemoteSolved, edge: float = 1.0) -> Query:
    """What has to be asked for a certificate."""
    return _question(machine, _judged, edge)._replace(combine=total)


def _question(machine: RemoteSolved, function: Any, edge: float = 1.0) -> Query:
    rule, given = machine.point.multipliers
    return Query(function, (machine.w, machine.b, edge, machine.side.scene.scale**2, rule), given)


def _point(
    view: View,
    w: np.ndarray,
    b: float,
    edge: float,
    unit: float,
    rule: Rule | None,
    given: Given | None,
) -> Point:
    """What is to be judged in a partition, in the user's coordinates."""
    frame = view.frame
    alpha = multipliers_of(frame, view.C, view.numbers, rule, given)
    C = view.C / unit
    alpha = np.minimum(alpha / unit, C)
    return Point(w, b, frame.y, alpha, C, bool(frame.pad), edge)


def _judged(
    view: View,
    w: np.ndarray,
    b: float,
    edge: float,
    unit: float,
    rule: Rule | None,
    given: Given | None,
) -> Summary:
    """Block by block: each is read once from memory, however often it is looked at."""
    parts = []
    for _, block in view.blocks():
        own = None if given is None else given.among(block.numbers)
        point = _point(block, w, b, edge, unit, rule, own)
        slack = np.zeros(block.frame.n)
        parts.append(summary(block.frame.rows, slice(0, block.frame.n), point, slack))
    return total(parts)


def _rows_of(view: View, *small: Any) -> _Rows:
    point = _point(view, *small)
    slack = np.zeros(view.frame.n)
    summary(view.frame.rows, slice(0, view.frame.n), point, slack)
    support, late = np.flatnonzero(point.alpha), np.flatnonzero(slack)
    alpha = point.alpha[support]
    bound = alpha >= point.C[support]
    return _Rows(view.numbers[support], alpha, bound, view.numbers[late], slack[late])


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
    starts, options = _starts(model, machines, data), model._options()
    tasks = [
        RemoteTask(m.positive, m.negative if len(codes) > 2 else None, options.bounds(m, codes, ones), s)
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
        proof = judge(together(answers), w, False, model.fit_intercept, model._options().problem, 0)
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
    few = pool if np.all(np.diff(given) > 0) else pool.some(order)
    machine = replace(machine, members=given[order])
    partial = pool.rows.n < data.rows.n
    question = ask(machine, few.rows, few.y, labels, names, fit_intercept, partial, deadline=deadline)
    weights = found.point.weights
    assert weights is not None
    first = Solved(found.w, found.b, weights[order], data.rows.rounds, meets=True)
    verdict, other = second_opinion(question, first)
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
        return judge(own, found.w, hard, model.fit_intercept, model._options().problem, data.rows.rounds)

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
