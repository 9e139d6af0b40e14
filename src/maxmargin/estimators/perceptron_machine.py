"""Perceptron machines: from labelled rows to what is solved, and what a machine keeps of its run.

A fit hands values down: :func:`prepare` makes a problem and its machines of labelled rows and
:class:`Options`; solvers get a :class:`Task` for machines that share their rows, and give a solution
each. Beside its weights a machine keeps a :class:`Log`, which learning from a stream goes on writing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import InputError, Message, Remedy, listed
from maxmargin.core.history import History, Trace
from maxmargin.core.parameters import LARGEST
from maxmargin.estimators.validation import feature_names
from maxmargin.rows.training_data import (
    Machine,
    TrainingData,
    build_machines,
    class_weights,
    machines_of,
)
from maxmargin.solvers.problem import Observer, Problem, Solution, examples_of, validation_of
from maxmargin.stopping import StoppingRule, StopReason

LONG_RUNS = 10  # times as long as in a random order


class Options(NamedTuple):
    """What a fit is asked for, beside rows and labels."""

    fit_intercept: bool
    normalize: bool
    multi_class: str
    class_weight: Any
    record: bool
    track_error: bool
    names: Sequence[str] | None  # of the features, if the rows came with some


class Task(NamedTuple):
    """Machines that share their rows, and how they are to learn."""

    problem: Problem[Any]
    machines: Sequence[Machine]
    start: np.ndarray | None  # (w, b) of each machine, if the user gave some
    stop: StoppingRule
    rng: np.random.Generator
    observer: Observer

    def alone(self) -> Iterator[Task]:
        """Return the task of each machine."""
        for k, machine in enumerate(self.machines):
            start = None if self.start is None else self.start[k : k + 1]
            yield self._replace(machines=[machine], start=start)

    def start_or_zero(self) -> np.ndarray:
        """Return (w, b) of each machine to start from."""
        if self.start is not None:
            return self.start
        return np.zeros((len(self.machines), self.problem.training.rows.d + 1))


def prepare(
    data: TrainingData,
    held_out: TrainingData | None,
    fraction: float | None,
    options: Options,
    rng: np.random.Generator,
) -> tuple[Problem[Any], list[Machine]]:
    """Return the problem of a fit and its machines.

    Validation rows are those given, or this ``fraction`` of the training rows.
    """
    pad, classes = float(options.fit_intercept), data.classes
    training = examples_of(data, pad, options.normalize, options.record)
    validation = None if held_out is None else validation_of(held_out, pad)
    counts = data.counts.sum(axis=0)
    factors = class_weights(options.class_weight, classes, np.arange(len(classes)), counts)
    machines = machines_of(data, options.multi_class, factors)
    partial = False
    if validation is None and fraction is not None:
        partial = True
        train, validation = training.hold_out(fraction, rng)
        machines = build_machines(classes, data.codes, options.multi_class, train, factors)

    def verdict(machine: Machine) -> Any:
        # Imported on use: a perceptron that is not asked for a proof does not wait for it.
        from maxmargin.estimators import separability

        features = feature_names(options.names, data.rows.d)
        asked = separability.Options(options.fit_intercept)
        rows = separability.provable(data)
        return separability.judge_machines(rows, [machine], features, asked, partial)[0]

    return Problem(training, validation, options.track_error, verdict=verdict), machines


def read_start(
    coef_init: Any, intercept_init: Any, shape: tuple[int, int], fit_intercept: bool
) -> np.ndarray | None:
    """Return the start z = (w, b) of each machine from ``coef_init`` and ``intercept_init``."""
    if coef_init is None and intercept_init is None:
        return None
    machines, d = shape
    start = np.zeros((machines, d + 1))
    if coef_init is not None:
        start[:, :-1] = _shaped("coef_init", coef_init, (machines, d))
    if intercept_init is not None:
        if not fit_intercept:
            raise InputError(
                "intercept_init must be None when fit_intercept=False. "
                f"Got {intercept_init!r} instead. Set fit_intercept=True, or leave it out."
            )
        start[:, -1:] = _shaped("intercept_init", intercept_init, (machines, 1))
    return start


def _shaped(name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.size != shape[0] * shape[1] or not np.all(np.abs(array) <= LARGEST):
        raise InputError(
            f"{name} must hold {shape[0]} × {shape[1]} finite numbers (machines × values), at most "
            f"{LARGEST:.1e} in size. Got {value!r} instead."
        )
    return array.reshape(shape)


def solve_machines(solve: Callable[[Task], list[Solution]], task: Task, record: bool) -> list[Solution]:
    """Solve machines together where they share their rows and nobody records their updates."""
    if task.problem.training.shared(task.machines) and not record:
        return solve(task)
    return [solution for one in task.alone() for solution in solve(one)]


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


def summarise(reasons: list[tuple[Hashable, StopReason]]) -> StopReason:
    """Return one reason for all machines: the reason itself, or how many stopped why."""
    if len(reasons) == 1:
        return reasons[0][1]
    groups: dict[str, list[Hashable]] = {}
    for label, reason in reasons:
        groups.setdefault(reason.rule, []).append(label)
    parts = []
    for rule, labels in groups.items():
        parts.append(f"{len(labels)} by {rule} ({listed(labels, 3, repr)})")
    solved = all(reason.solved for _, reason in reasons)
    story = Remedy("see {} for the whole story", "machines_[label]")
    sentence = Message(f"{len(reasons)} machines stopped: {'; '.join(parts)}.", story)
    return StopReason(" + ".join(groups), sentence, solved)


def told_of_budget(reason: StopReason, order: str, codes: np.ndarray | None) -> str | None:
    """Return what to say if the budget of epochs ended a fit; None if it did not.

    ``codes`` are the labels of rows that are here, which ``order`` may visit in long runs.
    """
    if "max_epochs" not in reason.rule.split(" + "):
        return None
    told = Message.of(reason.sentence)
    if order == "cyclic" and codes is not None and in_runs(codes):
        shuffled = Remedy("visit the rows in another order each epoch", "order", "shuffled")
        text = f"{told.facts} The labels come in long runs, so the last class counts most."
        told = Message(text, shuffled, *told.remedies)
    return str(told)


def in_runs(codes: np.ndarray) -> bool:
    """Whether rows of a class come in runs ten times as long as they would be in a random order."""
    codes = codes[codes >= 0]
    shares = np.bincount(codes) / len(codes)
    expected = len(codes) * (1.0 - shares @ shares)
    return bool(LONG_RUNS * (1 + np.count_nonzero(np.diff(codes))) < expected)
