"""A margin machine that was fitted to partitions; what it says of every row is computed on demand."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import Point, Summary, summary, total
from maxmargin.estimators.marginmachine import MarginMachine, Slab
from maxmargin.rows.remote import RemoteRows
from maxmargin.solvers.margin.tasks import Pass
from maxmargin.solvers.remote.machines import RemoteSolved
from maxmargin.solvers.remote.rounds import Query, View, ask_all
from maxmargin.solvers.remote.rule import Given, Rule, multipliers_of

__all__ = ["RemoteMachine", "judging", "summaries", "together"]

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
        rows: RemoteRows,
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


def summaries(rows: RemoteRows, solved: Sequence[RemoteSolved], edge: float = 1.0) -> list[Summary]:
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
