"""Margin machines on rows in partitions: solved in shared rounds, and certified where the rows are.

The partitions answer small questions; their rows stay where they are. A machine keeps a rule for its
multipliers, and the values of rows are computed when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificates.certificate import (
    Certificate,
    Point,
    Summary,
    factor,
    judge,
    summary,
    total,
)
from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import NEVER, Deadline, OutOfTimeError
from maxmargin.estimators.margin_machine import (
    Found,
    MarginMachine,
    Options,
    Problem,
    Report,
    RowValues,
    reported,
    row_values,
)
from maxmargin.estimators.question import ask
from maxmargin.estimators.separability import second_opinion
from maxmargin.rows.training_data import Machine, Partitions, TrainingData
from maxmargin.solvers.margin.partitions import SolvedOnPartitions, solve_on_partitions
from maxmargin.solvers.margin.questions import BinaryTask, Given, Question, View, ask_all
from maxmargin.solvers.margin.soft_margin_partitions import Closing
from maxmargin.solvers.margin.summaries import Rule, multipliers_of
from maxmargin.solvers.margin.tasks import Budget, MarginPoint, Pass, Solved


def solve_machines_on_partitions(
    data: TrainingData, machines: list[Machine], options: Options, report: Report | None = None
) -> list[Found]:
    """Solve machines on rows in partitions: all of them share their rounds."""
    if options.solver not in ("auto", "newton"):
        raise InputError(
            "solver must be 'auto' or 'newton' for Dask collections: coordinate descent needs all rows "
            f"in one place. Got {options.solver!r} instead."
        )
    deadline = options.deadline()
    rows, codes = data.rows, np.arange(len(data.classes))
    tasks = [
        BinaryTask(
            machine.positive,
            machine.negative if len(codes) > 2 else None,
            options.bounds(machine, codes),
            float(options.fit_intercept),
            start=options.before.plane(machine.label, rows.d),
        )
        for machine in machines
    ]
    no_planes = np.empty((0, rows.d + 1))  # to predict with, before all are certified

    def after_round(_: int, point: MarginPoint) -> bool:
        return report is not None and reported(report, "round", point, no_planes)

    problem = options.problem(rows.n)
    budgets = [Budget(options.passes, deadline, after_round)] * len(tasks)
    solved = solve_on_partitions(data, tasks, options.tol, budgets, closing_round(problem))
    verdicts: list[Verdict | None] = [None] * len(machines)
    for k, (machine, found) in enumerate(zip(machines, solved, strict=True)):
        if found.point.meets:
            with suppress(OutOfTimeError):  # then its certificate says that it separates nothing
                verdicts[k], solved[k] = exactly(
                    data, machine, *options.words(rows.d), found, Deadline(deadline)
                )
    if [verdict for verdict in verdicts if verdict is not None and not verdict.separable]:
        return [(verdict, None) for verdict in verdicts]
    fitted = certified_on_partitions(problem, rows, machines, solved)
    return list(zip(verdicts, fitted, strict=True))


def exactly(
    data: TrainingData,
    machine: Machine,
    labels: list[Any],
    names: tuple[str, ...],
    fit_intercept: bool,
    found: SolvedOnPartitions,
    deadline: Deadline = NEVER,
) -> tuple[Verdict, SolvedOnPartitions]:
    """What exact arithmetic says of rows that floating point could not separate.

    If they cannot be separated, neither can all rows; the proof is about these rows alone.
    """
    pool, weights = found.point.pool, found.point.weights
    assert weights is not None
    given = data.rows.offsets[pool.part] + pool.number
    order = np.argsort(given)
    few = pool if np.all(np.diff(given) > 0) else pool.some(order)
    machine = replace(machine, members=given[order])
    partial = pool.rows.n < data.rows.n
    question = ask(machine, few.rows, few.y, labels, names, fit_intercept, partial, deadline=deadline)
    first = Solved(found.w, found.b, weights[order], data.rows.rounds, meets=True)
    verdict, other = second_opinion(question, first)
    if other is None:
        return verdict, found
    scaling = found.task.scaling
    alpha = few.multipliers(other.alpha * scaling.scale**2, data.rows.parts)
    point = MarginPoint(*scaling.inside(other.w, other.b), alpha)
    return verdict, SolvedOnPartitions(found.task, point, other.w, other.b)


def certified_on_partitions(
    problem: Problem,
    rows: Partitions,
    machines: Sequence[Machine],
    solved: Sequence[SolvedOnPartitions],
) -> list[MarginMachine]:
    """The machines with their certificates: one round for all that have none yet.

    One more for those that might better be a little longer.
    """
    asked = [found for found in solved if found.point.proof is None]
    answers = iter(summaries(rows, asked) if asked else [])
    parts = [together(f.point.proof) if f.point.proof is not None else next(answers) for f in solved]
    best = [_judgement(problem, *one) for one in zip(solved, parts, strict=True)]
    growths = [factor(own, proof) for own, (_, proof) in zip(parts, best, strict=True)]
    some = [k for k, growth in enumerate(growths) if growth > 1.0]
    longer = [solved[k]._replace(w=growths[k] * solved[k].w, b=growths[k] * solved[k].b) for k in some]
    for k, found, own in zip(some, longer, summaries(rows, longer) if some else [], strict=True):
        best[k] = min(best[k], _judgement(problem, found, own), key=lambda one: one[1].primal)
    published = []
    for machine, (found, measured) in zip(machines, best, strict=True):
        proof = replace(measured, n_passes=rows.rounds)
        one = MarginMachine.elsewhere(
            partial(gathered_values, rows, found),
            label=machine.label,
            coef_=found.w,
            intercept_=found.b,
            certificate_=proof,
            n_passes_=proof.n_passes,
            n_rows=rows.n,
            progress_=(*found.log, Pass(proof.n_passes, proof.primal, proof.dual)),
            solver_="newton",
        )
        published.append(one)
    return published


def _judgement(
    problem: Problem, found: SolvedOnPartitions, own: Summary
) -> tuple[SolvedOnPartitions, Certificate]:
    hard = found.task.C is None
    return found, judge(own, found.w, hard, problem.fit_intercept, problem.name, 0)


def closing_round(problem: Problem) -> Closing:
    """The certificate as the last round of a solver, in the coordinates of the solver."""

    def solved(task: BinaryTask, point: MarginPoint) -> SolvedOnPartitions:
        return SolvedOnPartitions(task, point, *task.outside(point.w, point.b))

    def question(task: BinaryTask, point: MarginPoint) -> Question:
        return judging(solved(task, point))

    def values(task: BinaryTask, point: MarginPoint, answers: list[Any]) -> tuple[float, float]:
        w, unit = solved(task, point).w, task.scaling.scale**2
        proof = judge(together(answers), w, False, problem.fit_intercept, problem.name, 0)
        return proof.primal * unit, proof.dual * unit

    return Closing(question, values)


def summaries(
    rows: Partitions, solved: Sequence[SolvedOnPartitions], edge: float = 1.0
) -> list[Summary]:
    """What all partitions together contribute to the certificate of each machine: one round."""
    asked = [(machine.task, judging(machine, edge)) for machine in solved]
    return [together(answers) for answers in ask_all(rows, asked)]


def together(answers: Sequence[Summary | None]) -> Summary:
    """The sum over all partitions that have rows of the machine."""
    return total([answer for answer in answers if answer is not None])


def judging(machine: SolvedOnPartitions, edge: float = 1.0) -> Question:
    """What has to be asked for a certificate."""
    return _question(machine, _judged, edge)._replace(combine=total)


def gathered_values(rows: Partitions, machine: SolvedOnPartitions) -> RowValues:
    """The values of all rows: one more round."""
    (answers,) = ask_all(rows, [(machine.task, _question(machine, _values_of))])
    moved = [
        one._replace(support_=start + one.support_, late_=start + one.late_)
        for start, one in zip(rows.offsets[:-1].tolist(), answers, strict=True)
        if one is not None
    ]
    return RowValues(*[np.concatenate(column) for column in zip(*moved, strict=True)])


class Claim(NamedTuple):
    """A plane in the user's coordinates, and the rule for the multipliers, which are ``unit`` larger."""

    w: np.ndarray
    b: float
    edge: float
    unit: float
    rule: Rule | None

    def point(self, view: View, given: Given | None) -> Point:
        """What is to be judged in a partition."""
        alpha = multipliers_of(view.frame, view.C, view.numbers, self.rule, given)
        C = view.C / self.unit
        alpha = np.minimum(alpha / self.unit, C)
        return Point(self.w, self.b, view.frame.y, alpha, C, bool(view.frame.pad), self.edge)


def _question(machine: SolvedOnPartitions, function: Any, edge: float = 1.0) -> Question:
    rule, given = machine.point.alpha
    claim = Claim(machine.w, machine.b, edge, machine.task.scaling.scale**2, rule)
    return Question(function, (claim,), given)


def _judged(view: View, claim: Claim, given: Given | None) -> Summary:
    """Block by block: each is read once from memory, however often it is looked at."""
    parts = []
    for _, block in view.blocks():
        own = None if given is None else given.among(block.numbers)
        parts.append(
            summary(block.frame.rows, np.s_[:], claim.point(block, own), np.zeros(block.frame.n))
        )
    return total(parts)


def _values_of(view: View, claim: Claim, given: Given | None) -> RowValues:
    point, slack = claim.point(view, given), np.zeros(view.frame.n)
    summary(view.frame.rows, np.s_[:], point, slack)
    return row_values(view.numbers, point, slack)
