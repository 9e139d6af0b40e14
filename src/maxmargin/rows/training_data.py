"""What a fit is given: labelled rows, in this process or in partitions, and what is known of them.

Labels come in, codes are used inside: the code of a label is its place among the sorted classes, and the
larger class is +1 in a binary problem.

Solvers see :class:`Partitions`, wherever the rows are. In this process there is one, without copies.
Matrices become rows here, and rows matrices that can travel.

A :class:`Machine` is one binary problem on shared rows. Its class ``positive`` counts as +1;
``negative`` is the class that counts as −1, or None for "all the rest". Binary, one-vs-rest and
one-vs-one problems are all lists of machines on the same rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from maxmargin.core.errors import InputError
from maxmargin.rows.base import DenseRows, Rows
from maxmargin.rows.on_disk import PartedRows
from maxmargin.rows.sparse import CsrRows

MAX_SCANNED_CLASSES = 8  # classes that are found one by one
# Class weights scale steps, whose products must stay in range.
MIN_CLASS_WEIGHT, MAX_CLASS_WEIGHT = 1e-9, 1e9


def find_classes(y: Any) -> np.ndarray:
    """Return the sorted classes of ``y``: two or more."""
    few = few_distinct(np.asarray(y))
    if few is not None:
        return few
    try:
        if np.asarray(y).dtype.kind not in "biuSU":  # integers and strings are labels as they are
            check_classification_targets(y)
        classes = np.unique(y)
    except (TypeError, ValueError) as error:
        check_no_gaps(y, error)
        if isinstance(error, ValueError):
            raise
        raise unsortable(error) from error
    if len(classes) < 2:
        raise InputError(
            f"y must hold at least two classes. Got 1 class instead: {classes.tolist()[0]!r}. "
            "A classifier needs examples of both sides."
        )
    return np.asarray(classes)


def plain_labels(y: Any) -> Any:
    """Return labels that are all integers or all booleans as such, where they came as objects."""
    if getattr(y, "dtype", None) != np.dtype(object) or getattr(y, "ndim", 0) != 1:
        return y
    kinds = {type(label) for label in y}
    whole = all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)
    return np.array(list(y)) if kinds and (whole or kinds <= {bool, np.bool_}) else y


def unsortable(error: TypeError) -> InputError:
    """Return the error of labels that cannot be compared."""
    return InputError(
        "y must hold labels that can be sorted (all numbers, all strings, …). "
        f"Got labels that cannot be compared: {error}. Convert them to strings."
    )


def unlabelled() -> InputError:
    """Return the error of rows that are to be learned from, or judged, without labels."""
    return InputError("rows without labels need y. Got None instead. Name the label in open_rows.")


def check_no_gaps(y: Any, error: Exception | None = None) -> None:
    """Refuse a label that is missing: None, NaN or NA, with its row."""
    labels = np.asarray(y, dtype=object)
    for i, label in enumerate(labels.tolist() if labels.ndim == 1 else ()):
        missing = label is None or type(label).__name__ in ("NAType", "NaTType")
        if missing or (isinstance(label, Real) and math.isnan(label)):
            raise InputError(
                "y must hold a label for every row. Got "
                f"{'NaN' if isinstance(label, Real) else label} in row {i} instead. Leave the row out, "
                "or fill the gap."
            ) from error


def few_distinct(y: np.ndarray) -> np.ndarray | None:
    """Return the sorted classes if they are two to eight whole numbers, without sorting all of y."""
    if y.ndim != 1 or y.dtype.kind not in "biuf":
        return None
    if not len(y):
        return None
    ends = np.array([y.min(), y.max()])
    if np.all(ends == np.floor(ends)) and np.all((y == ends[0]) | (y == ends[1])) and ends[0] < ends[1]:
        return ends.astype(y.dtype)
    classes: list[Any] = []
    rest = y
    while len(rest) and len(classes) < MAX_SCANNED_CLASSES:
        first = rest[0]
        if y.dtype.kind == "f" and first != np.floor(first):  # nan and inf - inf included
            return None
        classes.append(first)
        rest = rest[rest != first]
    return np.sort(np.array(classes, dtype=y.dtype)) if not len(rest) and len(classes) > 1 else None


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each label in the sorted ``classes``."""
    if len(classes) == 2:
        codes = y == classes[1]
        if np.all(codes | (y == classes[0])):
            return np.asarray(codes, dtype=np.int32)
    codes = np.searchsorted(classes, y)
    known = classes[np.minimum(codes, len(classes) - 1)] == y
    if not np.all(known):
        strange = np.asarray(y)[~known][0]
        raise InputError(
            f"labels must be among the classes {list(classes)}. Got {strange!r} instead. "
            "Name all classes in the first call (classes=…), or fit anew."
        )
    return codes.astype(np.int32)


def class_weights(
    class_weight: Any,
    classes: np.ndarray,
    codes: np.ndarray | None = None,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """Return one weight per class; ``counts`` says how many rows each of the ``codes`` stands for.

    Without ``codes``, in a stream, classes may be named before they are seen, and nothing can be
    balanced.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        if codes is None:
            raise InputError(
                "class_weight must be None or a dict when learning from a stream. "
                "Got 'balanced' instead. Compute the weights beforehand and pass them as a dict."
            )
        rows = np.bincount(codes, counts, minlength=len(classes))
        there = rows > 0  # a class of an earlier fit may have no rows
        balanced = rows.sum() / (np.count_nonzero(there) * np.where(there, rows, 1.0))
        return np.where(there, balanced, 1.0)
    if not isinstance(class_weight, Mapping):
        raise InputError(
            "class_weight must be None, 'balanced' or a dict {label: weight}. "
            f"Got {class_weight!r} instead."
        )
    weights = np.ones(len(classes))
    position = {label: k for k, label in enumerate(classes.tolist())}
    for label, weight in class_weight.items():
        if not isinstance(weight, Real) or not MIN_CLASS_WEIGHT <= float(weight) <= MAX_CLASS_WEIGHT:
            raise InputError(
                f"class_weight must hold numbers between {MIN_CLASS_WEIGHT:g} and {MAX_CLASS_WEIGHT:g}. "
                f"Got {weight!r} for {label!r} instead."
            )
        if label in position:
            weights[position[label]] = float(weight)
        elif codes is not None:
            raise InputError(
                f"class_weight must name classes of y, which are {classes.tolist()}. "
                f"Got {label!r} instead."
            )
    return weights


LEFT_OUT = -1  # the code of a row of weight zero


def codes_of(y: np.ndarray, classes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return the codes of labels; rows of weight zero are left out, whatever their labels."""
    if weight is None or weight.all():
        return encode(y, classes)
    codes = np.full(len(y), LEFT_OUT, np.int32)
    codes[weight > 0] = encode(y[weight > 0], classes)
    return codes


def as_rows(X: Any) -> Rows:
    """Wrap a validated matrix: CSR as it is, dense in C order (other layouts are copied once)."""
    if sparse.issparse(X):
        return CsrRows.from_matrix(X.tocsr())
    return DenseRows(np.ascontiguousarray(X))


def with_column(rows: Rows, value: float) -> Rows:
    """The rows with one more feature, the same for all."""
    if isinstance(rows, PartedRows):
        return rows.mapped(lambda block: with_column(block, value), more=1)
    column = np.full((rows.n, 1), value)
    if isinstance(rows, CsrRows):
        return as_rows(sparse.hstack([rows.matrix, sparse.csr_array(column)], format="csr"))
    return as_rows(np.hstack([rows.take(np.arange(rows.n)), column]))


def matrix_of(rows: Rows) -> Any:
    """Rows as a matrix that can travel: dense, or CSR."""
    if not rows.resident:
        rows = rows.between(0, rows.n)
    return rows.matrix if isinstance(rows, CsrRows) else rows.arrays[0]


def stacked(matrices: Sequence[Any]) -> Rows:
    """Matrices below each other, as rows."""
    if sparse.issparse(matrices[0]):
        return as_rows(sparse.csr_array(sparse.vstack(matrices, format="csr")))
    return as_rows(np.concatenate(matrices))


def is_parted(X: Any) -> bool:
    """Whether these are partitions: files, or a Dask collection."""
    return hasattr(X, "npartitions")


class Part(NamedTuple):
    """A partition as functions see it."""

    rows: Rows
    codes: np.ndarray  # of the labels, −1 of rows that are left out; empty if there are no labels
    weight: np.ndarray | None = None  # of the rows, if they have weights


Function = Callable[..., Any]  # of a partition and small values
Combine = Callable[[list[Any]], Any]  # makes one answer of those of several partitions


class Partitions(ABC):
    """Labelled rows in one partition or many, wherever they are: what solvers see of data."""

    n: int
    d: int
    classes: np.ndarray | None
    offsets: np.ndarray  # the number of the first row of each partition, and n
    rounds = 0
    bytes_moved = 0

    @property
    @abstractmethod
    def parts(self) -> int:
        """How many partitions there are."""

    @property
    @abstractmethod
    def at_once(self) -> int:
        """How many partitions are read at the same time."""

    def each(
        self,
        function: Function,
        *small: Any,
        own: Sequence[Any] | None = None,
        combine: Combine | None = None,
    ) -> list[Any]:
        """One pass: ``function(part, *small)`` of every partition, with its own state at the end."""
        self.rounds += 1
        states = [small if own is None else (*small, own[k]) for k in range(self.parts)]
        return self._asked(function, states, combine)

    @abstractmethod
    def _asked(
        self, function: Function, states: Sequence[tuple[Any, ...]], combine: Combine | None
    ) -> list[Any]:
        """Return ``function(part, *state)`` of every partition, or what ``combine`` makes of them."""

    @abstractmethod
    def along(self, function: Function, start: Any, numbers: Sequence[int], own: Sequence[Any]) -> Any:
        """Hand a state on: ``function(part, own[k], state)`` of partition ``numbers[k]``, in turn.

        That is a part of a round: what makes up a round the caller says.
        """

    @abstractmethod
    def changed(self, change: Callable[[Rows], Rows], d: int) -> Partitions:
        """The same partitions with other features: rows are changed before a function sees them."""


class InMemory(Partitions):
    """Rows in this process, in memory or in a file, as one partition without copies."""

    parts = at_once = 1

    def __init__(self, part: Part, classes: np.ndarray | None) -> None:
        self.part, self.classes = part, classes
        self.n, self.d = part.rows.n, part.rows.d
        self.offsets = np.array([0, self.n])

    def _asked(
        self, function: Function, states: Sequence[tuple[Any, ...]], combine: Combine | None
    ) -> list[Any]:
        return [function(self.part, *states[0])]

    def along(self, function: Function, start: Any, numbers: Sequence[int], own: Sequence[Any]) -> Any:
        """Hand a state on."""
        state = start
        for mine in own:
            state = function(self.part, mine, state)
        return state

    def changed(self, change: Callable[[Rows], Rows], d: int) -> InMemory:
        """The same rows with other features."""
        return InMemory(self.part._replace(rows=change(self.part.rows)), self.classes)


@dataclass(frozen=True)
class TrainingData:
    """Labelled rows, wherever they are, and what is known of them before they are learnt from."""

    rows: Partitions
    counts: np.ndarray  # of each class in each partition, rows of weight zero left out
    weights: np.ndarray  # of each class, all rows together; without weights the counts
    is_sparse: bool
    entries: int
    known_reach: np.ndarray | None = None  # max_i |x_ij|, if it has been looked for
    bad: tuple[int, int, float] | None = None  # row, column and value of the first nan or infinity
    names: list[str] | None = None  # of the features, where partitions know them
    inexact: str | None = None  # a type of numbers that are not doubles

    @property
    def n(self) -> int:
        """How many rows there are, those of weight zero left out."""
        return int(self.counts.sum())

    @property
    def classes(self) -> np.ndarray:
        """The labels that occur, sorted; the code of a label is its place among them."""
        assert self.rows.classes is not None
        return self.rows.classes

    @property
    def here(self) -> Part | None:
        """All rows, with the codes of their labels and their weights, if they are in this process."""
        return self.rows.part if isinstance(self.rows, InMemory) else None

    @property
    def codes(self) -> np.ndarray:
        """The codes of the labels; where rows are elsewhere, one row stands for each class."""
        return np.arange(len(self.classes)) if self.here is None else self.here.codes

    @property
    def reach(self) -> np.ndarray:
        """max_i |x_ij| for every feature j."""
        if self.known_reach is not None:
            return self.known_reach
        assert self.here is not None
        return self.here.rows.column_reach

    def over(self, rows: Partitions, reach: np.ndarray) -> TrainingData:
        """The same about other features of these rows."""
        more = rows.n * (rows.d - self.rows.d)
        return replace(self, rows=rows, known_reach=reach, entries=self.entries + more)

    def among(self, classes: np.ndarray) -> TrainingData:
        """The same with the classes of an earlier fit, among which the labels of partitions must be."""
        counts = np.zeros((len(self.counts), len(classes)), dtype=self.counts.dtype)
        counts[:, encode(self.classes, classes)] = self.counts
        self.rows.classes = classes
        return replace(self, counts=counts, weights=counts.sum(axis=0))


def in_memory(
    rows: Rows, y: np.ndarray, weight: np.ndarray | None = None, classes: np.ndarray | None = None
) -> TrainingData:
    """Rows in this process, with labels and weights, as one partition; ``classes`` if they are known."""
    if classes is None:
        classes = find_classes(y if weight is None or weight.all() else y[weight > 0])
    codes = codes_of(y, classes, weight)
    places = codes - LEFT_OUT  # rows that are left out come first
    counts = np.bincount(places, minlength=len(classes) + 1)[1:]
    weights: np.ndarray = counts.astype(np.float64)
    if weight is not None:
        weights = np.bincount(places, weight, len(classes) + 1)[1:]
    only = InMemory(Part(rows, codes, weight), classes)
    return TrainingData(only, counts[None], weights, rows.is_sparse, rows.entries)


@dataclass(frozen=True)
class Machine:
    """One binary problem: +1 against −1, on the rows ``members``."""

    label: Hashable
    positive: int
    negative: int | None
    members: np.ndarray  # indices of its training rows, ascending
    class_weight: np.ndarray  # by label code: factors on steps, risks or errors

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return y = ±1 for label codes."""
        return np.asarray(2.0 * (codes == self.positive) - 1.0)

    def among(self, codes: np.ndarray) -> np.ndarray:
        """Where rows of this machine are among rows with these label codes."""
        if self.negative is None:
            return np.arange(len(codes))
        return np.flatnonzero((codes == self.positive) | (codes == self.negative))

    def on(self, codes: np.ndarray) -> Machine:
        """The same machine, on rows with these label codes."""
        return replace(self, members=self.among(codes))


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
    """The machines of a problem, on all rows that are not left out."""
    members = np.flatnonzero(data.codes > LEFT_OUT)
    return build_machines(data.classes, data.codes, multi_class, members, class_weight)


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
