"""A fitted margin machine, with its certificate: from what a solver has found, to what is published.

The certificate is measured on the rows themselves, in one more pass. Where all rows are here, their
multipliers and slacks are kept with the machine. Where they are in partitions, the machine keeps a rule
for its multipliers, and the values of rows are computed when they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import Point, Summary, certificate, factor, judge, summary, total
from maxmargin.rows import Rows
from maxmargin.rows.partitions import Partitions
from maxmargin.solvers.margin.partitions import SolvedOnPartitions
from maxmargin.solvers.margin.questions import BinaryTask, Given, Question, View, ask_all
from maxmargin.solvers.margin.soft_margin_partitions import Closing
from maxmargin.solvers.margin.summaries import Rule, multipliers_of
from maxmargin.solvers.margin.tasks import MarginPoint, Pass, Solved, Task
from maxmargin.solvers.problem import Machine


class Slab:
    """The slab between the two edges of a machine, by its weights."""

    coef_: np.ndarray
    intercept_: float

    @property
    def margin_(self) -> float:
        """The geometric margin 1/‖w‖; inf if w = 0."""
        length = float(np.linalg.norm(self.coef_))
        return 1.0 / length if length > 0.0 else math.inf

    @property
    def slab_width_(self) -> float:
        """The width 2/‖w‖ of the slab between the two edges."""
        return 2.0 * self.margin_

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) = w·x + b for every row of X."""
        return np.asarray(X @ self.coef_) + self.intercept_


class RowValues(NamedTuple):
    """What a machine says of its training rows: of those where it is not zero."""

    support_: np.ndarray  # training rows with α_i > 0
    support_dual_: np.ndarray  # their α_i
    support_bound_: np.ndarray  # whether α_i = C_i
    late_: np.ndarray  # training rows with ξ_i > 0
    late_slack_: np.ndarray  # their ξ_i


@dataclass(frozen=True)
class MarginMachine(Slab):
    """One binary margin machine, with its multipliers and its certificate.

    ``label`` is its class (one-vs-rest), its pair of classes (one-vs-one, the second is +1), or the
    positive class of a binary problem.
    """

    label: Hashable
    coef_: np.ndarray
    intercept_: float
    support_: np.ndarray  # and so on, see RowValues
    support_dual_: np.ndarray
    support_bound_: np.ndarray
    late_: np.ndarray
    late_slack_: np.ndarray
    certificate_: Certificate
    n_passes_: int
    n_rows: int
    progress_: tuple[Pass, ...] = ()  # primal and dual value after each pass, the last as certified
    solver_: str = "newton"  # "newton", "descent" or "mixed"

    @property
    def dual_(self) -> np.ndarray:
        """α_i for every training row."""
        return self._spread(self.support_, self.support_dual_)

    @property
    def slack_(self) -> np.ndarray:
        """ξ_i = max(0, 1 − y_i f(x_i)) for every training row."""
        return self._spread(self.late_, self.late_slack_)

    @property
    def free_support_(self) -> np.ndarray:
        """Training rows with 0 < α_i < C_i: they lie on the edges of the slab."""
        return np.asarray(self.support_[~self.support_bound_])

    @property
    def bound_support_(self) -> np.ndarray:
        """Training rows with α_i = C_i: inside the slab, or on the wrong side."""
        return np.asarray(self.support_[self.support_bound_])

    def _spread(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        whole = np.zeros(self.n_rows)
        whole[rows] = values
        return whole

    @classmethod
    def elsewhere(cls, per_row: Callable[[], RowValues], **known: Any) -> MarginMachine:
        """A machine whose rows are in partitions: ``per_row`` brings their values here, when needed."""
        machine = object.__new__(cls)
        vars(machine).update(known, _per_row=per_row)
        return machine

    def __getattr__(self, name: str) -> Any:
        if name in RowValues._fields and "_per_row" in vars(self):
            vars(self).update(vars(self).pop("_per_row")()._asdict())
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or a machine that is pickled, holds the values of its rows itself."""
        return vars(replace(self))


class Problem(NamedTuple):
    """What the certificates of a fit are about."""

    name: str
    fit_intercept: bool
    n_rows: int  # in all; a machine may be about some of them


def certified(
    problem: Problem, rows: Rows, machine: Machine, task: Task, result: Solved
) -> MarginMachine:
    """A solution, with its certificate measured on ``rows``, those of the machine."""
    bounds = np.broadcast_to(math.inf, rows.n) if task.C is None else task.C
    point = Point(result.w, result.b, task.y, result.alpha, bounds, problem.fit_intercept)
    proof, slack, growth = certificate(rows, point, problem.name, result.passes)
    if growth > 1.0:  # slack that is rounding alone, and dear
        longer = point._replace(w=growth * point.w, b=growth * point.b)
        other, less, _ = certificate(rows, longer, problem.name, proof.n_passes)
        if other.primal < proof.primal:
            point, proof, slack = longer, other, less
        proof = replace(proof, n_passes=other.n_passes)
    values = row_values(machine.members, point, slack)
    return MarginMachine(
        label=machine.label,
        coef_=point.w,
        intercept_=point.b,
        **values._asdict(),
        certificate_=proof,
        n_passes_=proof.n_passes,
        n_rows=problem.n_rows,
        progress_=(*result.log, Pass(proof.n_passes, proof.primal, proof.dual)),
        solver_=result.solver,
    )


def row_values(numbers: np.ndarray, point: Point, slack: np.ndarray) -> RowValues:
    """The values of rows, which are called by their ``numbers``."""
    support, late = np.flatnonzero(point.alpha), np.flatnonzero(slack)
    alpha = point.alpha[support]
    bound = alpha >= point.C[support]
    return RowValues(numbers[support], alpha, bound, numbers[late], slack[late])


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
