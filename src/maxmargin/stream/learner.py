"""A perceptron that predicts and learns block by block what it would predict and learn one by one.

The model is left as ``learn_one`` would leave it, bit for bit.

Names of features become columns: in the order in which labelled examples bring them, or hashed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import LARGEST, random_generator
from maxmargin.estimators.online import MIN_ROOM, ONLINE
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.files.text import Scratch
from maxmargin.kernels.hashing import find_columns, hash_numbers, put_names, tidy_rows
from maxmargin.kernels.perceptron import MADE, progress
from maxmargin.rows import Csr, CsrRows
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.online import LocalPasses
from maxmargin.stream.hashing import bucket
from maxmargin.stream.text_input import NO_LABEL, Block, text_of_label

FIRST_SIZE = 1 << 10
MARKED = 1 << 22  # columns up to which rows are sorted by marking them
NO_SPACE = np.zeros(0, np.int32), np.zeros(0, np.uint64), np.zeros(0, np.uint64)


class Features:
    """The features of a model, which has as many columns as ``learn_one`` would give it.

    Parameters
    ----------
    model : Perceptron
        Its ``feature_index_`` grows, and the room for its weights.
    bits : int, optional
        Hash names into 2^bits columns instead.
    """

    def __init__(self, model: Any, bits: int | None) -> None:
        self.model, self.bits = model, bits
        self._scratch, self._space = Scratch(), NO_SPACE
        index = getattr(model, "feature_index_", {})
        numbers = {n: int(n) for n in index if n.isascii() and n.isdigit() and len(n) <= 10}
        known = {n: j for n, j in numbers.items() if str(j) == n}  # 007 is a name and no number
        self._keys = np.array(list(known.values()), dtype=np.int64)
        self._places = np.array([index[n] for n in known], dtype=np.int64)
        self._table(max(FIRST_SIZE, 2 * len(known)))

    def _sorting(self, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Space for sorting, kept from block to block."""
        if not 0 < width <= MARKED:
            width = 0
        if len(self._space[0]) < width:
            words = (width >> 6) + 1
            marks, top = np.zeros(words, np.uint64), np.zeros((words >> 6) + 1, np.uint64)
            self._space = np.zeros(width, np.int32), marks, top
        return self._space if width else NO_SPACE

    def columns(
        self, block: Block, part: slice, data: np.ndarray, indptr: np.ndarray, grows: np.ndarray
    ) -> np.ndarray:
        """Return the columns of entries, sorted in each row; data and indptr are changed to match.

        They are good until the next call.

        Unknown features are left out where a row does not grow the dictionary (``grows``); entries that
        share a column are added up.
        """
        columns = self._found(block, part, data, indptr, grows)
        tidy_rows(columns, data, indptr, *self._sorting(self.model._state.Z.shape[1] - 1))
        return columns

    def _found(
        self, block: Block, part: slice, data: np.ndarray, indptr: np.ndarray, grows: np.ndarray
    ) -> np.ndarray:
        columns = self._scratch.array("columns", len(data), np.int64)
        if block.numbers is not None:
            numbers = block.numbers[part]
            if self.bits is not None:
                hash_numbers(numbers, data, (1 << self.bits) - 1, columns)
                return columns
            known = len(self.model.feature_index_)
            most = known + min(len(numbers), int(numbers.max(initial=-1)) + 1)
            if 2 * most > len(self._keys):
                self._table(2 * most)
            counts = np.empty(len(grows), dtype=np.int64)
            fresh = self._scratch.array("fresh", len(numbers), np.int64)
            table = self._keys, self._places, known
            new = find_columns(numbers, data, indptr, grows, *table, columns, counts, fresh)
            self._grow(list(map(str, fresh[:new].tolist())), counts)
            return columns
        assert block.names is not None
        names = block.names[part]
        if self.bits is not None:
            for p, name in enumerate(names):
                columns[p], sign = bucket(name, self.bits)
                data[p] *= sign
            return columns
        return self._named(names, columns, data, indptr, grows)

    def _named(
        self,
        names: list[str],
        columns: np.ndarray,
        data: np.ndarray,
        indptr: np.ndarray,
        grows: np.ndarray,
    ) -> np.ndarray:
        """What ``find_columns`` does, for names that are texts."""
        index = self.model.feature_index_
        fresh: dict[str, int] = {}
        counts = np.empty(len(grows), dtype=np.int64)
        filled, first = 0, 0
        for i, last in enumerate(indptr[1:].tolist()):
            for p in range(first, last):
                column = index.get(names[p], fresh.get(names[p]))
                if column is None:
                    if not grows[i]:
                        continue
                    column = fresh[names[p]] = len(index) + len(fresh)
                columns[filled], data[filled] = column, data[p]
                filled += 1
            first = last
            indptr[i + 1] = filled
            counts[i] = len(index) + len(fresh)
        self._grow(list(fresh), counts)
        return columns

    def _grow(self, fresh: list[str], counts: np.ndarray) -> None:
        """Take in new names; make as much room as one example after the other would have made."""
        model = self.model
        index = model.feature_index_
        index.update(zip(fresh, range(len(index), len(index) + len(fresh)), strict=True))
        model.n_features_in_ = len(index)
        now = room = model._state.Z.shape[1] - 1
        while len(counts) and counts[-1] > room:
            room = max(MIN_ROOM, 2 * int(counts[np.searchsorted(counts, room, side="right")]))
        if room != now:
            model._state = model._state.widened(room)

    def _table(self, size: int) -> None:
        """A table of this size or larger, with the feature numbers known."""
        used = np.flatnonzero(self._keys >= 0)
        names, columns = self._keys[used], self._places[used]
        size = 1 << size.bit_length()
        self._keys = np.full(size, -1, dtype=np.int64)
        self._places = np.zeros(size, dtype=np.int64)
        put_names(self._keys, self._places, names, columns)


Answers = tuple[np.ndarray, np.ndarray, list[Any]]  # codes predicted, codes seen, what they stand for


class Learner:
    """Takes blocks of examples in order.

    Parameters
    ----------
    model : Perceptron
        Fresh, or one that a learner with the same other parameters left behind.
    bits : int, optional
        Hash the names of features into 2^bits columns.
    labels : dict, optional
        The labels there are, by their texts; otherwise the first two to appear are the classes.
    """

    def __init__(
        self, model: Perceptron, bits: int | None = None, labels: dict[str, Any] | None = None
    ) -> None:
        self.model, self.bits, self.labels = model, bits, labels
        model._check_params()
        if self._begun:
            self._check_model()
        elif labels is not None:
            self._begin(np.array(sorted(labels.values())))
        self.features = Features(model, bits)
        self._scratch = Scratch()

    def _check_model(self) -> None:
        """Refuse a model that no learner left behind: examples would be written beyond its weights."""
        self.model._check_scheme()
        width, names = self.model._state.Z.shape[1] - 1, getattr(self.model, "feature_index_", None)
        hashed = self.bits is not None and names is None and width == 1 << self.bits
        if not hashed and (self.bits is not None or names is None or {type(n) for n in names} - {str}):
            wanted = "names of features" if self.bits is None else f"2^{self.bits} hashed features"
            raise InputError(
                f"model must be fresh, or one that learned from a stream with {wanted}. Got another "
                "instead. Begin anew."
            )

    @property
    def _begun(self) -> bool:
        return "classes_" in vars(self.model)

    @property
    def _classes(self) -> list[Any]:
        return list(self.model.classes_.tolist())

    def _begin(self, classes: np.ndarray) -> None:
        self.model._begin(classes, 0 if self.bits is None else 1 << self.bits)
        if self.bits is None:
            self.model.feature_index_ = {}

    def take(self, block: Block) -> Iterator[Answers]:
        """Predict each example, then learn from it; yield what was predicted, in pieces.

        If an example cannot be learned from, those before it are, and then the error is raised.
        """
        seen = [self._label(label) for label in block.labels]
        good, error = self._usable(block, seen)
        row = 0
        while row < good:
            codes = block.codes[row:good]
            if not self._begun:
                labelled = np.flatnonzero(codes != NO_LABEL)
                stop = row + int(labelled[0]) + 1 if len(labelled) else good
                codes = codes[: stop - row]
                met = [seen[codes[-1]]] if len(labelled) else []
                yield np.full(len(codes), NO_LABEL), np.where(codes == NO_LABEL, NO_LABEL, 0), met
                if met:
                    self._begin(np.array(met))
                    self._advance(block, stop - 1, stop, np.zeros(1, dtype=np.int64))
                row = stop
                continue
            classes = self._classes
            known = {label: code for code, label in enumerate(classes)}
            table = np.array([known.get(label, len(classes)) for label in seen] + [NO_LABEL])
            coded = table[codes]
            strange = np.flatnonzero(coded == len(classes))
            stop = row + int(strange[0]) if len(strange) else good
            if stop > row:
                part = coded[: stop - row]
                yield self._advance(block, row, stop, part), part, classes
            if len(strange):  # the second class of a stream: predict without it, then learn
                new = seen[codes[stop - row]]
                predicted = self._advance(block, stop, stop + 1, np.array([NO_LABEL]))
                yield predicted, np.array([1]), [classes[0], new]
                self._meet(new, block.where(stop))
                code = np.array([self._classes.index(new)])
                self._advance(block, stop, stop + 1, code)
                stop += 1
            row = stop
        if error is not None:
            raise error

    def _label(self, label: Any) -> Any:
        """The class a label stands for; itself, if the classes are not fixed."""
        if self.labels is None:
            return label
        return self.labels.get(text_of_label(label), _Unknown(label))

    def _meet(self, label: Any, where: str) -> None:
        first = self._classes[0]
        try:
            self.model._meet(label)
        except InputError:
            raise InputError(
                f"{where}: labels must be all numbers or all words. Got {first!r} and {label!r} "
                "instead. Name them with --labels."
            ) from None

    def _usable(self, block: Block, seen: list[Any]) -> tuple[int, InputError | None]:
        """How many examples can be taken, and what is wrong with the next."""
        good, error = len(block), block.error
        large = np.flatnonzero(~(np.abs(block.data) <= LARGEST))
        if len(large):
            good = int(np.searchsorted(block.indptr, large[0], side="right")) - 1
            error = InputError(
                f"{block.where(good)}: feature values must be at most {LARGEST:.1e} in size. "
                f"Got {float(block.data[large[0]])!r} instead. Scale the feature."
            )
        met = self._classes if self._begun else []
        new = [k for k, label in enumerate(seen) if label not in met]
        for i, k in sorted((int(np.argmax(block.codes == k)), k) for k in new):
            if i >= good:
                break
            if len(met) >= 2 or isinstance(seen[k], _Unknown):
                return i, self._strange(seen[k], met, block.where(i))
            met.append(seen[k])
        return good, error

    def _strange(self, label: Any, classes: list[Any], where: str) -> InputError:
        given = label.label if isinstance(label, _Unknown) else label
        some = ", ".join(sorted(map(text_of_label, classes))[:20])
        return InputError(
            f"{where}: the label must be one of {some}. Got {text_of_label(given)!r} instead. "
            "Name all labels with --labels."
        )

    def _advance(self, block: Block, low: int, high: int, codes: np.ndarray) -> np.ndarray:
        """Predict and learn examples low … high − 1; return the codes predicted."""
        model = self.model
        first, last = block.indptr[low], block.indptr[high]
        data = self._scratch.array("data", int(last - first))
        data[:] = block.data[first:last]
        indptr = block.indptr[low : high + 1] - first
        part = slice(int(first), int(last))
        columns = self.features.columns(block, part, data, indptr, codes != NO_LABEL)
        end, width = int(indptr[-1]), model._state.Z.shape[1] - 1
        rows = CsrRows(Csr(data[:end], columns[:end], indptr), (high - low, width))
        codes32 = codes.astype(np.int32)
        if "_rng" not in vars(model):
            model._rng = random_generator("random_state", model.random_state)
        machines = model._machines_on(codes32[:0])
        state = model._state
        passes = LocalPasses(Examples(rows, codes32, model._pad), machines, model._settings())
        before = state.counts[:, MADE].copy()
        predicted = np.empty(high - low, dtype=np.int64)
        arrays = state.Z, state.U, state.counts
        progress(rows.arrays, codes32, passes.positives, *arrays, passes.rule, predicted)
        made = state.counts[:, MADE] - before
        model.n_mistakes_ += int(made.sum())
        model.stop_reason_ = ONLINE
        for log, mistakes in zip(model._logs, made.tolist(), strict=True):
            log.mistakes += mistakes
            log.reason = ONLINE
        return np.minimum(predicted, len(model.classes_) - 1)


class _Unknown:
    """A label that is none of those announced; it is equal to nothing."""

    def __init__(self, label: Any) -> None:
        self.label = label
