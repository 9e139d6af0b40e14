"""Rows as whole numbers: a_i = s_i (x_i, 1), its columns and itself scaled by powers of two.

Neither scaling changes whether a plane separates: w_j takes up the scale of column j, and a positive
factor on a row does not change the sign of a_i·z. In these coordinates every |a_ij| is at most one.

Equal rows on both sides, the simplest reason why no plane separates, are found here too, in one pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import compress, pairwise
from math import gcd
from operator import lshift
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.parameters import NEVER, Deadline
from maxmargin.rows import Csr, CsrRows, DenseRows, PartedRows, Rows
from maxmargin.solvers.exact.modular import residues_of

PLAIN_EXPONENTS = 300  # exponents of columns that floating point takes as they are
CACHED_INTEGERS = 1 << 22  # numbers kept as integers
MIN_SPARSE_COLUMNS = 20  # beyond which rows of few entries are treated as such
MIN_COLUMNS_PER_ENTRY = 8
ROWS_AT_A_TIME = 256  # rows taken at a time
NUMBERS_AT_A_TIME = 1 << 20  # of rows that may be zero
LEVEL_OF_ZERO = 1 << 20  # far below any exponent

Number = int | Fraction  # of a plane: whole, or a fraction in a few places


def exponents_of(reach: np.ndarray) -> np.ndarray:
    """k_j with |x_ij| ≤ 2^k_j for every feature j."""
    return np.asarray(np.frexp(reach)[1], dtype=np.int64)


class Whole(NamedTuple):
    """A row in integers: a_ij = integer · 2^-m in these columns, zero in the others."""

    columns: Sequence[int]  # all of them where rows are dense
    ints: list[int]
    m: int

    def entries(self) -> Iterator[tuple[int, int]]:
        """The integers with their columns."""
        return zip(self.columns, self.ints, strict=True)


class ExactRows:
    """Labelled rows, in floating point and in integers.

    Parameters
    ----------
    rows : Rows
        The data, all finite.
    y : array of ±1
        The side of each row.
    pad : 1.0 or 0.0
        Whether the plane has a bias.
    exponents : array of int
        k_j with |x_ij| ≤ 2^k_j for every feature j.
    used : array of bool, optional
        Which features are not zero in all rows; if these are only some of more rows, in all of those.
    deadline : Deadline, optional
        When exact arithmetic on these rows has to end: its loops look at it.
    """

    is_rounded = False  # whether the rows in floating point differ from those in integers

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        pad: float,
        exponents: np.ndarray,
        used: np.ndarray | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        self._used, self.deadline = used, deadline
        self.given, self.y, self.pad, self.exponents = rows, y, pad, exponents
        self.n, self.d = rows.n, rows.d
        self.D = rows.d + int(pad)
        if np.all(np.abs(exponents) <= PLAIN_EXPONENTS):
            self.rows, self.fold = rows, np.ldexp(1.0, -exponents)
        else:
            self.rows, self.fold = _scaled(rows, -exponents), np.ones(self.d)
        self.powers: list[int] = exponents.tolist()
        self._kept: dict[int, Whole] = {}
        self._size = 0  # integers in it

    @property
    def used(self) -> np.ndarray:
        """Which columns are not zero in all rows."""
        features = self.given.column_reach > 0 if self._used is None else self._used
        return np.append(features, [True] * int(self.pad))

    @cached_property
    def terms(self) -> int:
        """How many numbers other than zero a row a_i has at most."""
        if not self.given.is_sparse or not self.given.resident:
            return self.D
        counts = np.diff(self.given.arrays[-1])
        return max(1, int(counts.max(initial=0)) + int(self.pad))

    @property
    def is_very_sparse(self) -> bool:
        """Whether methods for sparse rows pay off: in memory, of many columns and few entries."""
        return self.n > self.D and self.has_few_entries

    @property
    def has_few_entries(self) -> bool:
        """Whether rows in memory have so few entries in so many columns that copies stay sparse."""
        plain = self.given.is_sparse and self.given.resident and not self.is_rounded
        return plain and self.D > MIN_SPARSE_COLUMNS and self.terms * MIN_COLUMNS_PER_ENTRY < self.D

    @cached_property
    def column_counts(self) -> np.ndarray:
        """In how many rows of sparse ones each column has an entry."""
        count = np.zeros(self.D, dtype=np.int64)
        for _, block in self.given.blocks():
            count += np.bincount(block.arrays[1], minlength=self.D)
        count[self.d :] = self.n
        return count

    def restricted(self, which: np.ndarray) -> ExactRows:
        """Only some rows."""
        rows, y = self.given.select(which), self.y[which]
        return ExactRows(rows, y, self.pad, self.exponents, deadline=self.deadline)

    def rescaled(self, exponents: np.ndarray) -> ExactRows:
        """The same rows with other scales of their columns."""
        return ExactRows(self.given, self.y, self.pad, exponents, self._used, self.deadline)

    def values(self, z: np.ndarray) -> np.ndarray:
        """a_i·z in floating point, for z in these coordinates."""
        f = self.rows.times((z[: self.d] * self.fold)[:, None])[:, 0]
        if self.pad:
            f += z[self.d]
        return np.asarray(f * self.y)

    def even(self) -> Rows:
        """The rows with all columns scaled to the size of one."""
        return self.rows if self.rows is not self.given else _scaled(self.given, -self.exponents)

    def levelled(self) -> tuple[DenseRows, np.ndarray]:
        """The rows (x_i, 1), all rows and columns scaled to the size of one, and exponents e.

        A plane z of theirs, through the origin, is the plane z_j 2^e_j of these rows.
        """
        X = self.given.take(np.arange(self.n)).astype(np.float64)
        X = np.column_stack([X, np.full((self.n, int(self.pad)), self.pad)])
        X, E = np.frexp(X)
        E = np.where(X == 0.0, -LEVEL_OF_ZERO, E.astype(np.int64))
        columns = np.zeros(self.D, dtype=np.int64)
        for _ in range(2):
            columns = np.max(E - np.max(E - columns, axis=1, keepdims=True), axis=0)
        columns[columns < -LEVEL_OF_ZERO // 2] = 0
        E -= columns
        X = np.ldexp(X, np.maximum(E - np.max(E, axis=1, keepdims=True), -LEVEL_OF_ZERO))
        return DenseRows(X), np.array([*self.powers, 0])[: self.D] - columns

    def block(self, which: np.ndarray) -> np.ndarray:
        """Rows a_i in floating point, rounded only where numbers leave the range of doubles."""
        A = np.empty((len(which), self.D))
        A[:, : self.d] = self.rows.take(which) * self.fold
        A[:, self.d :] = self.pad
        A *= self.y[which][:, None]
        return A

    def sparse_block(self, which: np.ndarray) -> Any:
        """The same of sparse rows, as a CSR array."""
        rows = self.rows.select(which)
        assert isinstance(rows, CsrRows)
        A = rows.matrix.astype(np.float64)
        A.data *= np.repeat(self.y[which], np.diff(A.indptr)) * self.fold[A.indices]
        if not self.pad:
            return A
        return sparse.csr_array(sparse.hstack([A, sparse.csr_array(self.y[which][:, None])]))

    def integers(self, which: Iterable[int]) -> list[Whole]:
        """Each of these rows in integers, exactly."""
        which = [int(i) for i in which]
        fresh = [i for i in which if i not in self._kept]
        for start in range(0, len(fresh), ROWS_AT_A_TIME):
            self.deadline.check()
            part = fresh[start : start + ROWS_AT_A_TIME]
            self._kept.update(zip(part, self._whole_rows(part), strict=True))
        found = [self._kept[i] for i in which]
        self._size += sum([len(self._kept[i].ints) for i in fresh])
        if self._size > CACHED_INTEGERS:
            self._kept.clear()
            self._size = 0
        return found

    def whole(self, which: Iterable[int]) -> list[tuple[list[int], int]]:
        """For each row D integers and an exponent m with a_i = integers · 2^-m, exactly."""
        found = self.integers(which)
        place = {j: j for j in range(self.D)} if self.given.is_sparse else {}
        return [(_spread(a, place) if place else a.ints, a.m) for a in found]

    def compact(self, which: Iterable[int]) -> tuple[list[int], list[list[int]], list[int]]:
        """The columns in which some of these rows are not zero, the integers there, the exponents."""
        found = self.integers(which)
        used = set[int]()
        for a in found:
            used.update(compress(a.columns, a.ints))
        columns = sorted(used)
        place = {j: k for k, j in enumerate(columns)}
        return columns, [_spread(a, place) for a in found], [a.m for a in found]

    @property
    def plain(self) -> ExactRows:
        """Rows that cancel with the same weights, in the shortest numbers."""
        return self

    def plane_of_plain(self, z: Sequence[Number]) -> Sequence[Number]:
        """The plane of these rows as one of the plain ones, with the same signs."""
        return z

    def residues(self, which: np.ndarray, prime: int) -> np.ndarray:
        """The rows ±(x_i, 1), in proportion, modulo a prime."""
        if self.is_rounded:
            numbers = [[v % prime for v in ints] for ints, _ in self.whole(which.tolist())]
            return np.array(numbers, dtype=np.float64).reshape(len(which), self.D)
        A = np.ones((len(which), self.D))
        A[:, : self.d] = residues_of(self.given.take(which).astype(np.float64), prime)
        return A

    def _whole_rows(self, which: list[int]) -> list[Whole]:
        """These rows in integers; rows of other forms compute them in other ways."""
        if not self.given.is_sparse and not self.is_rounded:
            return self._dense_integers(np.array(which))
        found = []
        for i, (columns, row) in zip(which, self._numbers(which), strict=True):
            found.append(self._integers(columns, row, 1 if self.y[i] > 0 else -1))
        return found

    def _dense_integers(self, which: np.ndarray) -> list[Whole]:
        """The same of dense doubles, many at a time."""
        mantissa, exponent = np.frexp(self.given.take(which).astype(np.float64))
        ints = np.ldexp(mantissa, 53).astype(np.int64)
        ints *= np.where(self.y[which] > 0, 1, -1)[:, None]
        trailing = np.frexp((ints & -ints).astype(np.float64))[1] - 1  # of zero, −1
        ints >>= np.maximum(trailing, 0)
        low = self.exponents + 53 - exponent - trailing  # a_ij = integer · 2^-low
        low[ints == 0] = 0
        m = np.max(low, axis=1, initial=0)
        shifts = np.where(ints == 0, 0, m[:, None] - low)
        columns, found = range(self.D), []
        for row, shift, most, y in zip(
            ints.tolist(), shifts.tolist(), m.tolist(), self.y[which].tolist(), strict=True
        ):
            numbers = list(map(lshift, row, shift))
            if self.pad:
                numbers.append((1 if y > 0 else -1) << most)
            found.append(Whole(columns, numbers, most))
        return found

    def _numbers(self, which: list[int]) -> list[tuple[Sequence[int], list[float]]]:
        """The columns of each row, and its features there."""
        if not self.given.is_sparse:
            return [(range(self.d), row) for row in self.given.take(np.array(which)).tolist()]
        some = self.given.select(np.array(which)).between(0, len(which)).arrays
        assert isinstance(some, Csr)
        ends, columns, values = some.indptr.tolist(), some.indices.tolist(), some.data.tolist()
        return [(columns[start:stop], values[start:stop]) for start, stop in pairwise(ends)]

    def _integers(self, columns: Sequence[int], row: list[float], sign: int) -> Whole:
        pairs = [v.as_integer_ratio() for v in row]
        powers = map(self.powers.__getitem__, columns)
        lows = [q.bit_length() - 1 + k for (_, q), k in zip(pairs, powers, strict=True)]
        m = max([0, *[low for low, (p, _) in zip(lows, pairs, strict=True) if p]])
        ints = [sign * p << m - low if p else 0 for low, (p, _) in zip(lows, pairs, strict=True)]
        if self.pad:
            columns = range(self.D) if isinstance(columns, range) else [*columns, self.d]
            ints.append(sign << m)
        return Whole(columns, ints, m)


def _spread(a: Whole, place: dict[int, int]) -> list[int]:
    """The integers of a row in the places of their columns, zeros included."""
    row = [0] * len(place)
    for j, v in a.entries():
        if v:
            row[place[j]] = v
    return row


def _scaled(rows: Rows, exponents: np.ndarray) -> Rows:
    """A copy with column j multiplied by 2^e_j: exact, except where a number falls below 2^-1022."""
    e = exponents.astype(np.int32)
    if isinstance(rows, PartedRows):
        return rows.mapped(lambda block: _scaled(block, exponents))
    if isinstance(rows, CsrRows):
        matrix = rows.matrix.astype(np.float64, copy=True)
        matrix.data = np.ldexp(matrix.data, e[matrix.indices])
        return CsrRows.from_matrix(matrix)
    X = np.empty((rows.n, rows.d))
    for where, block in rows.blocks():
        X[where] = np.ldexp(block.arrays.X.astype(np.float64), e)  # type: ignore[union-attr]
    return DenseRows(X)


def as_integers(z: Sequence[Fraction | int]) -> list[int]:
    """The smallest whole numbers in the same proportion (and with the same signs)."""
    common = 1
    for v in z:
        q = v.denominator
        common = common // gcd(common, q) * q
    return primitive([v.numerator * (common // v.denominator) for v in z])


def primitive(z: Sequence[Any]) -> list[Any]:
    """Whole numbers divided by their greatest common divisor."""
    g = gcd(*z) or 1
    return [v // g for v in z]


def contradictions(rows: ExactRows) -> Iterator[np.ndarray]:
    """Yield the rows of each group of equal ones that has members on both sides.

    Equal rows have equal decision values, so they are found by any plane's values.
    """
    z = np.random.default_rng(0).standard_normal(rows.D)
    values = rows.values(z) * rows.y
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0.0)
    sides = np.add.reduceat(rows.y[order], starts) if rows.n else np.empty(0)
    sizes = np.diff(starts, append=rows.n)
    mixed = np.abs(sides) < sizes
    together = order[np.repeat(mixed, sizes)][: CACHED_INTEGERS // rows.terms]
    rows.integers(together.tolist())  # in one go: quicker than group by group
    for start, size in zip(starts[mixed].tolist(), sizes[mixed].tolist(), strict=True):
        alike: dict[tuple[int, ...], list[int]] = {}
        group = order[start : start + size].tolist()
        for i, a in zip(group, rows.integers(group), strict=True):
            sign = int(rows.y[i])
            numbers = [k for j, v in a.entries() if v for k in (j, sign * v)]
            alike.setdefault((a.m, *numbers), []).append(i)
        for same in alike.values():
            if abs(float(rows.y[same].sum())) < len(same):
                yield np.array(same)


def opposites(rows: ExactRows) -> dict[int, int]:
    """A row of each side from every such group: with equal weights they cancel."""
    pairs = [[same[rows.y[same] == s][0] for s in (1.0, -1.0)] for same in contradictions(rows)]
    return {int(i): 1 for pair in pairs for i in pair}


def zero_rows(rows: ExactRows) -> dict[int, int]:
    """The rows of zeros with equal weights: every plane through the origin contains them."""
    if rows.pad:
        return {}
    zero = np.flatnonzero(rows.values(np.random.default_rng(0).standard_normal(rows.D)) == 0.0)
    found, step = list[int](), max(1, NUMBERS_AT_A_TIME // rows.D)
    for start in range(0, len(zero), step):
        rows.deadline.check()
        part = zero[start : start + step]
        if rows.is_rounded:
            found += [
                i for i, a in zip(part.tolist(), rows.integers(part), strict=True) if not any(a.ints)
            ]
        else:
            found += part[~np.any(rows.given.take(part), axis=1)].tolist()
    return dict.fromkeys(found, 1)
