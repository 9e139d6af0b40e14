"""What is fitted: the training points of a state, and the machines that tell their classes apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.laboratory.state import State
from maxmargin.rows import as_rows
from maxmargin.rows.training_data import Machine, build_machines
from maxmargin.solvers.problem import Examples


@dataclass(frozen=True)
class Side:
    """One machine as the page sees it: rows of the state and their signs."""

    state: State
    positive: tuple[int, ...]  # classes that count as +1
    negative: tuple[int, ...]
    label: str

    @cached_property
    def signs(self) -> np.ndarray:
        """±1 for every point of the state; 0 for classes the machine does not know."""
        codes = self.state.classes
        up, down = np.isin(codes, self.positive), np.isin(codes, self.negative)
        return np.asarray(up.astype(np.float64) - down)

    @cached_property
    def rows(self) -> np.ndarray:
        """Its training rows."""
        return np.flatnonzero((self.signs != 0) & ~self.state.held_out)

    @cached_property
    def validating(self) -> np.ndarray:
        """Its validation rows."""
        return np.flatnonzero((self.signs != 0) & self.state.held_out)

    @property
    def pad(self) -> float:
        """The fictitious coordinate: 1 if the bias is learned, else 0."""
        return 1.0 if self.state.options.intercept else 0.0

    @cached_property
    def X(self) -> np.ndarray:
        """Its training points."""
        return np.asarray(self.state.points[self.rows])

    @cached_property
    def y(self) -> np.ndarray:
        """1 for its positive training points, 0 for the others."""
        return np.asarray(self.signs[self.rows] > 0, dtype=np.int64)

    def normals(self) -> np.ndarray:
        """a_i = y_i (x_i, 1) of the training points; the last entry is 0 without a bias."""
        padded = np.column_stack([self.X, np.full(len(self.X), self.pad)])
        return np.asarray(self.signs[self.rows, None] * padded)

    def margins(self, Z: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """y_i f(x_i) of some rows for each z of Z: the library's sums, bit for bit."""
        if not len(rows):
            return np.empty((len(Z), 0))
        examples = Examples(as_rows(self.state.points[rows]), np.empty(0), self.pad)
        return np.asarray(self.signs[rows] * examples.ordered_values(np.ascontiguousarray(Z)))


@dataclass(frozen=True)
class Task:
    """Training points, their labels, and the machines; ``why`` says why there are none."""

    state: State
    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    sides: tuple[Side, ...]
    why: str

    @property
    def watch(self) -> int:
        """The machine that is watched: the first, if the state means one that is not there."""
        return self.state.watch if self.state.watch < len(self.sides) else 0

    @property
    def watched(self) -> Side:
        """The machine that is watched."""
        if not self.sides:
            raise InputError(self.why)
        return self.sides[self.watch]


def read_task(state: State) -> Task:
    """Find the machines of a state."""
    rows = state.trained
    X, y = state.points[rows], state.classes[rows]
    classes = np.unique(y)
    if len(classes) < 2:
        return Task(state, X, y, classes, (), _why(state, classes))
    machines = build_machines(
        classes,
        np.searchsorted(classes, y),
        state.options.scheme,
        np.arange(len(y)),
        np.ones(len(classes)),
    )
    sides = tuple(_side(state, machine, classes) for machine in machines)
    return Task(state, X, y, classes, sides, "")


def _side(state: State, machine: Machine, classes: np.ndarray) -> Side:
    up = int(classes[machine.positive])
    if machine.negative is not None:
        down: tuple[int, ...] = (int(classes[machine.negative]),)
        against = state.labels[down[0]]
    else:
        down = tuple(k for k in range(len(state.labels)) if k != up)
        against = "the rest"
    return Side(state, (up,), down, f"{state.labels[up]} against {against}")


def _why(state: State, classes: np.ndarray) -> str:
    if not len(state.classes):
        return "There must be points of two classes. There is none yet: add some."
    if not len(classes):
        return "There must be training points of two classes. All points are held out: train on some."
    only = state.labels[int(classes[0])]
    return f"There must be training points of two classes. All are of class {only}: add another class."
