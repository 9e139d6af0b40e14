"""A perceptron that predicts and learns block by block what it would predict and learn one by one.

The model is left as ``learn_one`` would leave it, bit for bit. Names of features become columns: in the
order in which labelled examples bring them, or hashed, so that any number of names takes 2^bits columns.
A name is hashed as UTF-8 by FNV-1a (64 bits) and mixed; the low bits are its column, and the top bit is
the sign of its values, so that names that meet in a column cancel on average (Weinberger et al. 2009).
A feature number counts as its decimal digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import LARGEST, random_generator
from maxmargin.estimators.online import MIN_ROOM, ONLINE
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.files.text import Scratch
from maxmargin.kernels.hashing import find_columns, hash_numbers, hash_text, put_names, tidy_rows
from maxmargin.kernels.perceptron import MADE, progress
from maxmargin.rows import Csr, CsrRows
from maxmargin.solvers.perceptron.online import LocalPasses
from maxmargin.solvers.problem import Examples
from maxmargin.stream.text_input import NO_LABEL, Block, text_of_label

MAX_BITS = 28
MIN_TABLE_SIZE = 1 << 10
MAX_MARKED_COLUMNS = 1 << 22  # up to which rows are sorted by marking their columns
NO_SPACE = np.zeros(0, np.int32), np.zeros(0, np.uint64), np.zeros(0, np.uint64)


def check_bits(bits: Any) -> None:
    """Refuse bits for which there would be no columns, or too many."""
    if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= MAX_BITS:
        raise InputError(f"bits must be an integer from 1 to {MAX_BITS}. Got {bits!r} instead.")


@lru_cache(maxsize=1 << 16)
def bucket(name: str, bits: int) -> tuple[int, float]:
    """The column of a name, and the sign of its values."""
    text = np.frombuffer(name.encode("utf-8"), np.uint8)
    column, sign = hash_text(text, (1 << bits) - 1)
    return int(column), float(sign)


def hashed(x: Mapping[Any, float], bits: int) -> dict[int, float]:
    """Return an example with hashed names: {column: value}, columns from 0 to 2^bits − 1.

    Parameters
    ----------
    x : dict
        From feature names to numbers.
    bits : int from 1 to 28
        There are 2^bits columns; values of names that share one are added, each with its sign.

    Returns
    -------
    dict
        For ``learn_one`` and ``predict_one``; ``maxmargin stream --hash BITS`` hashes in the same way.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.stream.hashed({"length": 2.0, "width": 1.0}, bits=10)
    {239: 2.0, 875: 1.0}
    """
    check_bits(bits)
    found: dict[int, float] = {}
    for name, value in x.items():
        column, sign = bucket(str(name), bits)
        found[column] = found.get(column, 0.0) + sign * value
    return found


class Features:
    """The columns of a model's features: its ``feature_index_`` grows, or names are hashed to 2^bits."""

    def __init__(self, model: Any, bits: int | None) -> None:
        self.model, self.bits = model, bits
        self._scratch, self._space = Scratch(), NO_SPACE
        index = getattr(model, "feature_index_", {})
        numbers = {n: int(n) for n in index if n.isascii() and n.isdigit() and len(n) <= 10}
        known = {n: j for n, j in numbers.items() if str(j) == n}  # 007 is a name and no number
        self._keys = np.array(list(known.values()), dtype=np.int64)
        self._places = np.array([index[n] for n in known], dtype=np.int64)
        self._table(max(MIN_TABLE_SIZE, 2 * len(known)))

    def _sorting(self, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Space for sorting, kept from block to block."""
        if not 0 < width <= MAX_MARKED_COLUMNS:
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

        Unknown features are left out where a row does not grow the dictionary (``grows``); entries that
        share a column are added up. The array is good until the next call.
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
        """Do what ``find_columns`` does, for names that are texts."""
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
        """Make a table of this size or larger, with the feature numbers known."""
        used = np.flatnonzero(self._keys >= 0)
        names, columns = self._keys[used], self._places[used]
        size = 1 << size.bit_length()
        self._keys = np.full(size, -1, dtype=np.int64)
        self._places = np.zeros(size, dtype=np.int64)
        put_names(self._keys, self._places, names, columns)


Answers = tuple[np.ndarray, np.ndarray, list[Any]]  # codes predicted, codes seen, what they stand for


class Learner:
    """Takes blocks of examples in order.

    The model is fresh, or one that a learner with the same other parameters left behind. ``labels`` are
    all labels by their texts; without them the first two to appear are the classes.
    """

    def __init__(
        self, model: Perceptron, bits: int | None = None, labels: dict[str, Any] | None = None
    ) -> None:
        self.model, self.bits, self.labels = model, bits, labels
        model._check_params()
        if bits is not None:
            check_bits(bits)
        if "classes_" in vars(model):
            self._check_model()
        elif labels is not None:
            self._begin(np.array(sorted(labels.values())))
        self.features = Features(model, bits)
        self._scratch = Scratch()

    def _check_model(self) -> None:
        """Refuse a model that no learner left behind: examples would be written beyond its weights."""
        self.model._check_scheme()
        width, names = self.model._state.Z.shape[1] - 1, getattr(self.model, "feature_index_", None)
        if self.bits is not None:
            fits, wanted = names is None and width == 1 << self.bits, f"2^{self.bits} hashed features"
        else:
            fits, wanted = names is not None and {type(n) for n in names} <= {str}, "names of features"
        if not fits:
            raise InputError(
                f"model must be fresh, or one that learned from a stream with {wanted}. Got another "
                "instead. Begin anew."
            )

    @property
    def _classes(self) -> list[Any]:
        return list(self.model.classes_.tolist()) if "classes_" in vars(self.model) else []

    def _begin(self, classes: np.ndarray) -> None:
        self.model._begin(classes, 0 if self.bits is None else 1 << self.bits)
        if self.bits is None:
            self.model.feature_index_ = {}

    def take(self, block: Block) -> Iterator[Answers]:
        """Predict each example, then learn from it; yield what was predicted, in pieces.

        If an example cannot be learned from, those before it are, and then the error is raised.
        """
        labels = block.labels
        if self.labels is not None:
            labels = [self.labels.get(text_of_label(label)) for label in labels]
        good, error = self._usable(block, labels)
        row = 0
        while row < good:
            classes = self._classes
            new = len(classes)  # the code of a label that is not known yet
            known = {label: code for code, label in enumerate(classes)}
            table = np.array([known.get(label, new) for label in labels] + [NO_LABEL])
            codes = table[block.codes[row:good]]
            first = np.flatnonzero(codes == new)
            stop = row + int(first[0]) if len(first) else good
            if stop > row:
                codes = codes[: stop - row]
                yield self._advance(block, row, stop, codes), codes, classes
            if len(first):  # predict without the new class, then learn it
                label = labels[block.codes[stop]]
                predicted = self._advance(block, stop, stop + 1, np.array([NO_LABEL]))
                yield predicted, np.array([new]), [*classes, label]
                self._meet(label, block.where(stop))
                self._advance(block, stop, stop + 1, np.array([self._classes.index(label)]))
                stop += 1
            row = stop
        if error is not None:
            raise error

    def _meet(self, label: Any, where: str) -> None:
        """Take in a label that is new."""
        classes = self._classes
        if not classes:
            self._begin(np.array([label]))
            return
        try:
            self.model._meet(label)
        except InputError:
            raise InputError(
                f"{where}: labels must be all numbers or all words. Got {classes[0]!r} and {label!r} "
                "instead. Name them with --labels."
            ) from None

    def _usable(self, block: Block, labels: list[Any]) -> tuple[int, InputError | None]:
        """Return how many examples can be taken, and what is wrong with the next."""
        good, error = len(block), block.error
        large = np.flatnonzero(~(np.abs(block.data) <= LARGEST))
        if len(large):
            good = int(np.searchsorted(block.indptr, large[0], side="right")) - 1
            error = InputError(
                f"{block.where(good)}: feature values must be at most {LARGEST:.1e} in size. "
                f"Got {float(block.data[large[0]])!r} instead. Scale the feature."
            )
        classes = self._classes
        new = [k for k, label in enumerate(labels) if label not in classes]
        for i, k in sorted((int(np.argmax(block.codes == k)), k) for k in new):
            if i >= good:
                break
            if len(classes) >= 2:
                listed = ", ".join(sorted(map(text_of_label, classes))[:20])
                return i, InputError(
                    f"{block.where(i)}: the label must be one of {listed}. "
                    f"Got {text_of_label(block.labels[k])!r} instead. Name all labels with --labels."
                )
            classes.append(labels[k])
        return good, error

    def _advance(self, block: Block, low: int, high: int, codes: np.ndarray) -> np.ndarray:
        """Predict and learn examples low … high − 1; return the codes predicted."""
        model = self.model
        if "classes_" not in vars(model):
            return np.full(high - low, NO_LABEL)
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
        examples = Examples(rows, codes32, model._pad)
        passes = LocalPasses(examples, machines, model._settings())
        before = state.counts[:, MADE].copy()
        predicted = np.empty(high - low, dtype=np.int64)
        arrays = state.Z, state.U, state.counts
        progress(rows.arrays, examples.labels, passes.positives, *arrays, passes.rule, predicted)
        made = state.counts[:, MADE] - before
        model.n_mistakes_ += int(made.sum())
        model.stop_reason_ = ONLINE
        for log, mistakes in zip(model._logs, made.tolist(), strict=True):
            log.mistakes += mistakes
            log.reason = ONLINE
        return np.minimum(predicted, len(model.classes_) - 1)
