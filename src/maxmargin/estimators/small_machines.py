"""All machines of a fit with several classes in a few compiled calls, where they are small.

A machine on some dozens of rows takes less time than the Python around it. So all of them are laid out
as one batch (:mod:`maxmargin.kernels.many_problems`): which rows, with which signs and bounds. Planes,
multipliers, slacks and certificates stay in arrays, and a :class:`MarginMachine` is made of them when it
is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from threading import Event
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from maxmargin.certificates.certificate import Certificate
from maxmargin.core.history import current_stages
from maxmargin.estimators.margin_machine import MarginMachine, Options, Problem, RowValues
from maxmargin.kernels.many_problems import certify_problems
from maxmargin.kernels.small_memory import DUAL, MAX_ROUNDS, PASSES, PRIMAL
from maxmargin.rows import DenseRows
from maxmargin.rows.training_data import Part, TrainingData, machine_labels
from maxmargin.solvers.margin.small import SETTINGS, Batch, is_small, locked, solve_batch
from maxmargin.solvers.margin.tasks import Pass, in_threads

ROWS_AT_ONCE = 20_000  # in one call: a few milliseconds between looks at Ctrl-C


class Layout(NamedTuple):
    """Machines on rows of X: those of group first[k] … of the rows, and who is +1."""

    X: np.ndarray
    numbers: np.ndarray  # of the rows of X among the training rows
    codes: np.ndarray  # of their labels
    bounds: np.ndarray  # C_i without class weights
    starts: np.ndarray  # two lines: where two ranges of rows of X begin, for each machine
    sizes: np.ndarray  # likewise: how long they are
    positive: np.ndarray  # the class that is +1
    weights: np.ndarray  # two lines: class weights of the classes that are +1 and −1

    def batch(self, machines: slice) -> Batch:
        """Some of the machines, as they are solved."""
        starts, sizes = self.starts[:, machines].T.ravel(), self.sizes[:, machines].T.ravel()
        ends = np.cumsum(sizes)
        rows = np.arange(ends[-1]) + np.repeat(starts - ends + sizes, sizes)
        lengths = self.sizes[:, machines].sum(axis=0)
        plus = self.codes[rows] == np.repeat(self.positive[machines], lengths)
        factor = np.where(plus, *(np.repeat(w, lengths) for w in self.weights[:, machines]))
        first = np.concatenate([[0], np.cumsum(lengths)])
        return Batch(self.X, rows, first, 2.0 * plus - 1.0, self.bounds[rows] * factor)


def layout_of(part: Part, classes: int, multi_class: str, factors: np.ndarray, C: float) -> Layout:
    """Lay out one machine per class, on all rows, or one per pair, on rows that are sorted by class."""
    rows, codes, weight = part
    X = rows.X if isinstance(rows, DenseRows) else rows.take(np.arange(rows.n))
    counts = np.bincount(codes[codes >= 0], minlength=classes)
    if multi_class == "ovr":
        numbers = np.flatnonzero(codes >= 0)
        starts = np.zeros((2, classes), np.int64)
        sizes = np.array([np.full(classes, len(numbers)), starts[0]])
        positive, weights = np.arange(classes), np.array([factors, np.ones(classes)])
    else:
        numbers = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
        negative, positive = np.array(list(combinations(range(classes), 2))).T
        pairs, ends = np.array([negative, positive]), np.cumsum(counts)
        starts, sizes, weights = (ends - counts)[pairs], counts[pairs], factors[pairs[::-1]]
    if multi_class == "ovo" or len(numbers) < len(codes):
        X, codes, weight = X[numbers], codes[numbers], None if weight is None else weight[numbers]
    bounds = np.full(len(numbers), C) if weight is None else C * weight
    return Layout(locked(X), numbers, codes, bounds, starts, sizes, positive, weights)


class Entries(NamedTuple):
    """Values of several machines, one after the other; those of machine k end at ends[k + 1]."""

    ends: np.ndarray
    values: tuple[np.ndarray, ...]

    def of(self, k: int) -> list[np.ndarray]:
        """Those of a machine."""
        return [values[self.ends[k] : self.ends[k + 1]] for values in self.values]


class Piece(NamedTuple):
    """What was found of some machines."""

    Z: np.ndarray
    report: np.ndarray
    support: Entries  # training rows with α_i > 0, these, and whether α_i = C_i
    late: Entries  # training rows with ξ_i > 0, and these
    rounds: Entries  # passes, primal and dual value after each round

    def values(self, k: int) -> RowValues:
        """What a machine says of its rows, in ascending order."""
        (support, *multipliers), (late, slack) = self.support.of(k), self.late.of(k)
        order, late_order = np.argsort(support), np.argsort(late)
        dual, bound = (values[order] for values in multipliers)
        return RowValues(support[order], dual, bound, late[late_order], slack[late_order])

    def machine(self, k: int, label: Hashable, problem: Problem) -> MarginMachine:
        """A machine; the values of its rows follow when they are asked for."""
        primal, dual, _, passes, stationarity, imbalance, complementarity = self.report[k].tolist()
        residuals = stationarity, 0.0, imbalance, complementarity
        proof = Certificate(problem.name, primal, dual, *residuals, int(passes))
        (rounds,) = self.rounds.of(k)
        progress = [Pass(int(number), *values) for number, *values in rounds.tolist()]
        return MarginMachine.elsewhere(
            partial(self.values, k),
            label=label,
            coef_=self.Z[k, :-1].copy(),
            intercept_=float(self.Z[k, -1]),
            certificate_=proof,
            n_passes_=proof.n_passes,
            n_rows=problem.n_rows,
            progress_=(*progress, Pass(proof.n_passes, proof.primal, proof.dual)),
        )


def solve_piece(layout: Layout, machines: slice, options: Options) -> Piece:
    """Solve some machines, each with its certificate."""
    batch, pad = layout.batch(machines), float(options.fit_intercept)
    count = len(batch.first) - 1
    rounds = np.full((count, MAX_ROUNDS, 3), math.inf)
    found = solve_batch(batch, pad, SETTINGS.share_of_tol * options.tol, rounds)
    certify_problems(tuple(batch), options.fit_intercept, options.tol, *found)
    known = np.isfinite(rounds[:, :, 1])
    log = Entries(np.concatenate([[0], np.cumsum(known.sum(axis=1))]), (rounds[known],))
    places = [np.flatnonzero(values) for values in found.alpha]
    ends = [np.searchsorted(where, batch.first) for where in places]
    rows = [layout.numbers[batch.rows[where]] for where in places]
    dual, slack = (values[where] for values, where in zip(found.alpha, places, strict=True))
    support = Entries(ends[0], (rows[0], dual, dual >= batch.C[places[0]]))
    return Piece(found.Z, found.report, support, Entries(ends[1], (rows[1], slack)), log)


class SmallMachines(Mapping[Hashable, MarginMachine]):
    """Machines by their labels, made of arrays when they are asked for."""

    def __init__(self, labels: Sequence[Hashable], problem: Problem, pieces: Sequence[Piece]) -> None:
        self.places = {label: k for k, label in enumerate(labels)}
        self.problem, self.pieces = problem, pieces
        self.starts = np.cumsum([0, *(len(piece.Z) for piece in pieces)])
        self.Z = np.concatenate([piece.Z for piece in pieces])
        self.report = np.concatenate([piece.report for piece in pieces])
        self.made: dict[Hashable, MarginMachine] = {}

    @property
    def unsolved(self) -> list[int]:
        """The numbers of those that need another solver."""
        return np.flatnonzero(~np.isfinite(self.report[:, PRIMAL])).tolist()

    def update(self, machines: Mapping[Hashable, MarginMachine]) -> None:
        """Take machines that were solved otherwise."""
        for label, machine in machines.items():
            self.made[label], k, proof = machine, self.places[label], machine.certificate_
            self.Z[k] = np.append(machine.coef_, machine.intercept_)
            self.report[k, [PRIMAL, DUAL, PASSES]] = proof.primal, proof.dual, proof.n_passes

    @property
    def n_passes(self) -> int:
        """The most passes of a machine."""
        return int(self.report[:, PASSES].max())

    @property
    def worst(self) -> Hashable:
        """The label of the machine with the largest relative gap."""
        primal, dual = self.report[:, PRIMAL], self.report[:, DUAL]
        with np.errstate(invalid="ignore"):
            gaps = np.where(np.isfinite(primal) & (primal > 0.0), (primal - dual) / primal, math.inf)
        gaps[(primal == 0.0) & (dual == 0.0)] = 0.0
        return list(self.places)[int(np.argmax(gaps))]

    def __getitem__(self, label: Hashable) -> MarginMachine:
        k = self.places[label]
        if label not in self.made:
            number = int(np.searchsorted(self.starts, k, side="right")) - 1
            piece = self.pieces[number]
            self.made[label] = piece.machine(k - int(self.starts[number]), label, self.problem)
        return self.made[label]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return repr(dict(self))


def solve_small_machines(
    data: TrainingData, multi_class: str, factors: np.ndarray, options: Options
) -> SmallMachines | None:
    """Solve soft margins of several classes in a few calls; None if they are few, large or limited.

    Those that need another solver are ``unsolved``.
    """
    part, classes = data.here, len(data.classes)
    limited = options.max_passes is not None or options.max_seconds is not None
    if part is None or classes == 2 or options.C is None or options.solver != "auto" or limited:
        return None
    if current_stages.get() is not None or not are_small(data, part, multi_class):
        return None
    layout = layout_of(part, classes, multi_class, factors, options.C)
    ends = np.cumsum(layout.sizes.sum(axis=0))
    cuts = np.flatnonzero(np.diff(ends // ROWS_AT_ONCE)) + 1
    pieces = [slice(a, b) for a, b in pairwise([0, *cuts.tolist(), len(ends)])]
    jobs = effective_n_jobs(options.n_jobs)
    calls = [partial(solve_piece, layout, machines, options) for machines in pieces]
    found = in_threads(calls, jobs, Event())
    labels = machine_labels(data.classes, multi_class)
    return SmallMachines(labels, options.problem(part.rows.n), found)


def are_small(data: TrainingData, part: Part, multi_class: str) -> bool:
    """Whether each machine is one call, and the rows take little memory in dense form."""
    rows = part.rows
    if multi_class == "ovr" or not isinstance(rows, DenseRows):
        return is_small(rows)
    n = int(np.sort(data.counts[0])[-2:].sum())
    return is_small(rows, n)
