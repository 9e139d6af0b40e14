"""From classes to binary machines, and from machines back to one prediction.

One-vs-rest: machine k tells class k (+1) from all others (−1); predict the class with the largest
decision value z_k·x. One-vs-one: a machine per pair of classes, the larger class +1; predict the class
with most votes, ties decided by the sum of its decision values. With two classes both are the one
binary machine.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.core.errors import Message, Remedy, some
from maxmargin.core.history import History, Trace
from maxmargin.rows.training_data import TrainingData
from maxmargin.solvers.problem import Machine, Solution
from maxmargin.stopping import StopReason


@dataclass(frozen=True)
class BinaryMachine:
    """One fitted binary machine: its weights and how they came about.

    ``label`` is its class (one-vs-rest), its pair of classes (one-vs-one, the second is +1), or the
    positive class of a binary problem.
    """

    label: Hashable
    coef_: np.ndarray
    intercept_: float
    n_iter_: int
    n_mistakes_: int
    stop_reason_: StopReason
    history_: History
    trace_: Trace | None = None
    best_error_: float | None = None

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) = w·x + b for every row of X."""
        return np.asarray(X @ self.coef_) + self.intercept_


@dataclass
class Log:
    """What a machine remembers beside its weights."""

    label: Hashable
    reason: StopReason
    history: History
    mistakes: int
    trace: Trace | None = None
    best_error: float = float("nan")

    @classmethod
    def of(cls, label: Hashable, s: Solution) -> Log:
        """Return the log of a run."""
        return cls(label, s.reason, s.history, s.mistakes, s.trace, s.best_error)

    def copy(self) -> Log:
        """Return a log that can be written on without changing this one."""
        trace = None if self.trace is None else self.trace[:]
        return replace(self, history=self.history[:], trace=trace)

    def machine(self, z: np.ndarray) -> BinaryMachine:
        """Return the machine with its present weights."""
        return BinaryMachine(
            label=self.label,
            coef_=z[:-1].copy(),
            intercept_=float(z[-1]),
            n_iter_=self.history.passed,
            n_mistakes_=self.mistakes,
            stop_reason_=self.reason,
            history_=self.history,
            trace_=self.trace,
            best_error_=None if np.isnan(self.best_error) else self.best_error,
        )


def build_machines(
    classes: np.ndarray,
    codes: np.ndarray,
    multi_class: str,
    training_rows: np.ndarray,
    class_weight: np.ndarray,
) -> list[Machine]:
    """Return the machines of a problem; in one-vs-rest the rest has class weight 1."""
    trained = codes[training_rows]

    def machine(label: Hashable, positive: int, negative: int | None) -> Machine:
        members = training_rows
        if negative is not None and len(classes) > 2:
            members = training_rows[(trained == positive) | (trained == negative)]
        weight = class_weight
        if negative is None:
            weight = np.ones(len(classes))
            weight[positive] = class_weight[positive]
        return Machine(label, positive, negative, members, weight)

    labels = classes.tolist()
    if len(classes) == 2:
        return [machine(labels[1], 1, 0)]
    if multi_class == "ovr":
        return [machine(label, k, None) for k, label in enumerate(labels)]
    pairs = combinations(range(len(labels)), 2)
    return [machine((labels[a], labels[b]), b, a) for a, b in pairs]


def machines_of(data: TrainingData, multi_class: str, class_weight: np.ndarray) -> list[Machine]:
    """The machines of a problem; where rows are elsewhere, one row stands for each class."""
    if data.here is None:
        codes = members = np.arange(len(data.classes))
    else:
        codes, members = data.here.codes, np.arange(data.rows.n)
        if data.n < data.rows.n:
            members = np.flatnonzero(codes >= 0)
    return build_machines(data.classes, codes, multi_class, members, class_weight)


def machine_count(classes: int, multi_class: str) -> int:
    """How many machines so many classes need."""
    if classes <= 2:
        return 1
    return classes if multi_class == "ovr" else classes * (classes - 1) // 2


def machine_labels(classes: np.ndarray, multi_class: str) -> list[Hashable]:
    """The labels of the machines that :func:`build_machines` returns."""
    labels: list[Hashable] = classes.tolist()
    if len(labels) <= 2:
        return labels[-1:]
    return labels if multi_class == "ovr" else list(combinations(labels, 2))


def combined(F: np.ndarray, classes: int, multi_class: str) -> np.ndarray:
    """Decision values for the user from those of the machines, one row each."""
    return np.asarray(F[0]) if classes <= 2 else decide_multiclass(F, classes, multi_class)


def winners(f: np.ndarray) -> np.ndarray:
    """The class with the largest decision value; of two, the larger one where the value is positive."""
    return (f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)


def chosen(f: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Labels from decision values; 0, 1, … for classes without names."""
    winner = winners(f)
    if classes is None:
        return winner
    # A stream may have shown only one class so far.
    return np.asarray(classes[np.minimum(winner, len(classes) - 1)])


def decide_multiclass(F: np.ndarray, classes: int, multi_class: str) -> np.ndarray:
    """One column per class from one row of decision values per machine; the largest wins.

    For one-vs-one a column is votes + s, where s in (−½, ½) is the sum of the class's decision values
    in proportion to the largest such sum of the row.
    """
    if multi_class == "ovr":
        return np.ascontiguousarray(F.T)
    votes = np.zeros((F.shape[1], classes))
    total = np.zeros_like(votes)
    for f, (a, b) in zip(F, combinations(range(classes), 2), strict=True):
        votes[:, b] += f > 0
        votes[:, a] += f <= 0
        total[:, b] += f
        total[:, a] -= f
    largest = np.abs(total).max(axis=1, keepdims=True)
    return np.asarray(votes + total / (3.0 * np.where(largest > 0, largest, 1.0)))


def summarise(reasons: list[tuple[Hashable, StopReason]]) -> StopReason:
    """Return one reason for all machines: the reason itself, or how many stopped why."""
    if len(reasons) == 1:
        return reasons[0][1]
    groups: dict[str, list[Hashable]] = {}
    for label, reason in reasons:
        groups.setdefault(reason.rule, []).append(label)
    parts = []
    for rule, labels in groups.items():
        parts.append(f"{len(labels)} by {rule} ({some(labels, 3, repr)})")
    solved = all(reason.solved for _, reason in reasons)
    story = Remedy("see {} for the whole story", "machines_[label]")
    sentence = Message(f"{len(reasons)} machines stopped: {'; '.join(parts)}.", story)
    return StopReason(" + ".join(groups), sentence, solved)
