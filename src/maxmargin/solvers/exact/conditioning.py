"""Coordinates in which no column nearly depends on others, reached by exact column operations.

A total beside its parts, a change of units, dummy columns after scaling: such a column is a combination
of others but for rounding. Floating point sees a singular matrix, while the exact verdict hangs on what
rounding left. Two operations help:

- A column with two values u and v becomes the indicator (x − u)/(v − u). This needs a bias.
- A column with x_j ≈ Σ B_k x_k, found by a pivoted QR factorisation, becomes 2^s (x_j − Σ B_k x_k), B
  rounded to a few bits so that numbers stay short. This is repeated until what is left is no longer a
  combination of other columns: rounding noise, of ordinary size and well conditioned.

If A' = A T with T regular, A z has the signs of A' z' for z = T z', and rows of A cancel with the same
weights as rows of A'. So verdict and witness are those of the data, and a plane is carried back exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpz_mat
from scipy import sparse
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf

from maxmargin.rows import CsrRows, DenseRows
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, Whole, as_integers, exponents_of
from maxmargin.solvers.exact.linear_algebra import pivots

NEARLY_DEPENDENT = 2.0**-13  # of a column of length one, the part outside the span of others
COEFFICIENT_BITS = 20  # after the binary point, taken off in one round
MAX_ROUNDS = 8  # a double is used up after three; columns that go on are left as they are
MAX_ENTRIES = 1 << 26  # numbers of the dense copy
MAX_COLUMNS = 600
FACTORED_ENTRIES = 1 << 21  # numbers of the rows that are factorised to find dependent columns
PROBED_ROWS_PER_COLUMN = 10  # of the rows that are asked first whether columns seem to depend
SPARSE_SHARE = 0.25  # indicators are kept sparse below this share of ones
DIGIT_BITS = 20  # products of such digits are summed exactly in doubles, up to 2^13 of them
FIRST_DIGITS = 8  # 160 bits: rounding noise of doubles, and more than doubles hold of it
GUARD_BITS = 14  # for the digits cut off, of up to 600 columns
BLOCK = 2_048  # rows whose digits are held at a time


@dataclass(frozen=True)
class Conditioned:
    """Rows in better coordinates, and the way back for a plane."""

    rows: ExactRows
    plane_of_base: Callable[[Sequence[Number]], list[Fraction]]


def condition(rows: ExactRows) -> Conditioned | None:
    """Return the rows in better coordinates, or None if there are none to be found."""
    if rows.D > MAX_COLUMNS or rows.n * rows.D > MAX_ENTRIES:
        return None
    if rows.n <= rows.D:
        return _with_fewer_columns(rows)
    first = _with_indicators(rows)
    here = rows if first is None else first.rows
    A = here.block(np.arange(here.n)) * here.y[:, None]
    T, B = _transformation(A, bool(rows.pad))
    if not T.changed:
        return first
    second = TransformedRows(here, T, B if T.digits_needed() <= FIRST_DIGITS else None)
    if first is None:
        return Conditioned(second, T.apply)
    back = first.plane_of_base
    return Conditioned(second, lambda z: back(T.apply(z)))


def nearly_dependent(rows: ExactRows) -> bool:
    """Whether a column nearly depends on those before it, as far as some of the rows tell.

    With columns of length one the pivots of their Gram matrix are the squares of what is outside the
    span of the columns before.
    """
    n = min(rows.n, PROBED_ROWS_PER_COLUMN * rows.D)
    if rows.n <= rows.D or rows.D > MAX_COLUMNS:
        return False
    A = rows.block(np.linspace(0, rows.n - 1, n).astype(np.int64))
    length = np.linalg.norm(A, axis=0)
    A = A[:, length > 0] / length[length > 0]
    if rows.pad:  # the bias first: other columns are replaced
        A = np.roll(A, 1, axis=1)
    L, failed = dpotrf(A.T @ A, lower=True)
    return bool(failed or np.min(np.diag(L), initial=1.0) < NEARLY_DEPENDENT)


def _with_fewer_columns(rows: ExactRows) -> Conditioned | None:
    """Of no more rows than columns those columns that span all others exactly, in better coordinates.

    The others add nothing: rows that cancel in the columns kept cancel in all. None if the columns
    kept are as many as the rows, which are then independent.
    """
    order = [*range(rows.d, rows.D), *range(rows.d)]  # the bias is kept
    A = [ints for ints, _ in rows.whole(range(rows.n))]
    kept = [order[k] for k in pivots([[a[j] for j in order] for a in A], rows.deadline)]
    features = np.array(sorted(j for j in kept if j < rows.d), dtype=np.int64)
    if len(kept) == rows.n or not len(features):
        return None
    X = DenseRows(rows.given.take(np.arange(rows.n)).astype(np.float64)[:, features])
    used = np.ones(len(features), dtype=bool)
    first = ExactRows(X, rows.y, rows.pad, rows.exponents[features], used, rows.deadline)
    second = condition(first)

    def plane_of_base(z: Sequence[Number]) -> list[Fraction]:
        plane = [Fraction(0)] * rows.D
        found = z if second is None else second.plane_of_base(z)
        for j, v in zip([*features.tolist(), *range(rows.d, rows.D)], found, strict=True):
            plane[j] = Fraction(v)
        return plane

    return Conditioned(first if second is None else second.rows, plane_of_base)


# Indicators


def _with_indicators(rows: ExactRows) -> Conditioned | None:
    """The rows with columns of two values replaced by indicators of the rarer one."""
    if not rows.pad:
        return None
    X = rows.given.take(np.arange(rows.n)).astype(np.float64)
    values: dict[int, tuple[float, float]] = {}
    for j in range(rows.d):
        u, v = float(X[:, j].min()), float(X[:, j].max())
        at_low = X[:, j] == u
        if u < v and np.all(at_low | (X[:, j] == v)):
            if 2 * np.count_nonzero(at_low) < rows.n:
                u, v = v, u
            values[j] = u, v
            X[:, j] = X[:, j] == v
    if all(u == 0.0 for u, _ in values.values()):
        return None
    few = np.count_nonzero(X) < SPARSE_SHARE * X.size
    new = CsrRows.from_matrix(sparse.csr_array(X)) if few else DenseRows(X)
    reach = new.column_reach
    exponents = exponents_of(reach)
    scaled = ExactRows(new, rows.y, rows.pad, exponents, reach > 0, rows.deadline)

    def plane_of_base(z: Sequence[Number]) -> list[Fraction]:
        plane = [Fraction(v) for v in z]
        for j, (k, old) in enumerate(zip(exponents.tolist(), rows.powers, strict=True)):
            w = plane[j] / Fraction(2) ** k  # of the indicator or the column itself, unscaled
            if j in values:
                u, v = map(Fraction, values[j])
                w /= v - u
                plane[-1] -= w * u
            plane[j] = w * Fraction(2) ** old
        return plane

    return Conditioned(scaled, plane_of_base)


# Residuals


@dataclass
class Transformation:
    """A regular matrix T of dyadic numbers: column j is t_j · 2^-bits_j, with whole numbers t_j."""

    columns: list[dict[int, int]]
    bits: list[int]

    @classmethod
    def identity(cls, D: int) -> Transformation:
        """The matrix that changes nothing."""
        return cls([{j: 1} for j in range(D)], [0] * D)

    def subtract(self, j: int, coefficients: dict[int, int]) -> None:
        """Column j loses Σ_k c_k 2^-COEFFICIENT_BITS times column k."""
        parts = {k: (-c, COEFFICIENT_BITS + self.bits[k]) for k, c in coefficients.items()}
        parts[j] = 1, self.bits[j]
        common = max(bits for _, bits in parts.values())
        total: dict[int, int] = {}
        for k, (c, bits) in parts.items():
            for i, t in self.columns[k].items():
                total[i] = total.get(i, 0) + (c * t << common - bits)
        self.columns[j], self.bits[j] = {i: t for i, t in total.items() if t}, common

    @property
    def changed(self) -> list[int]:
        """The columns that differ from those given."""
        return [j for j, column in enumerate(self.columns) if column != {j: 1} or self.bits[j]]

    def products(self, A: np.ndarray, which: list[int], digits: int) -> np.ndarray:
        """These columns of A T, with so many digits of each number.

        Products of digits and their sums are exact in doubles; where numbers cancel, the upper digits
        become zero and the lower ones are left.
        """
        top = [max(map(int.bit_length, self.columns[j].values())) for j in which]
        V = self._digits(which, top, digits)
        columns = np.vstack([_product(A[i : i + BLOCK], V) for i in range(0, len(A), BLOCK)])
        return np.asarray(np.ldexp(columns, np.array(top) - [self.bits[j] for j in which]))

    def digits_needed(self) -> int:
        """How many digits make all errors of columns that are at most one less than 2^-53."""
        excess = [
            max(map(int.bit_length, self.columns[j].values())) - self.bits[j] for j in self.changed
        ]
        return -(-(GUARD_BITS + 54 + max(excess)) // DIGIT_BITS)

    def _digits(self, which: list[int], top: list[int], count: int) -> np.ndarray:
        """The digits of t_ij · 2^-top_j, the highest first, each with the sign of its number."""
        V, mask = np.zeros((count, len(self.columns), len(which))), (1 << DIGIT_BITS) - 1
        for k, (j, bits) in enumerate(zip(which, top, strict=True)):
            for i, t in self.columns[j].items():
                number = (abs(t) << DIGIT_BITS * count) >> bits
                sign = 1 if t > 0 else -1
                V[:, i, k] = [sign * (number >> DIGIT_BITS * p & mask) for p in reversed(range(count))]
                if number >> DIGIT_BITS * count:  # the number is one
                    V[0, i, k] = sign << DIGIT_BITS
        return V

    def apply(self, z: Sequence[Number]) -> list[Fraction]:
        """Return T z."""
        plane = [Fraction(0)] * len(z)
        for j, v in enumerate(z):
            if v:
                scaled = Fraction(v) / Fraction(2) ** self.bits[j]
                for i, t in self.columns[j].items():
                    plane[i] += t * scaled
        return plane


def _transformation(A: np.ndarray, pad: bool) -> tuple[Transformation, np.ndarray]:
    """T such that no column of A T nearly depends on others, and A T with the first digits.

    Columns that depend on others exactly stay as they are.
    """
    T, B = Transformation.identity(A.shape[1]), A.copy()
    settled: set[int] = set()
    for _ in range(MAX_ROUNDS):
        found = _dependent(B, pad, settled)
        if not found:
            break
        before = {j: (T.columns[j], T.bits[j]) for j in found}
        for j, coefficients in found.items():
            T.subtract(j, coefficients)
        for j, column in zip(found, T.products(A, list(found), FIRST_DIGITS).T, strict=True):
            B[:, j] = column
            if not np.any(column):
                T.columns[j], T.bits[j] = before[j]
                settled.add(j)
                B[:, j] = T.products(A, [j], FIRST_DIGITS)[:, 0]
                continue
            shift = int(np.frexp(np.max(np.abs(column)))[1])
            T.bits[j] += shift
            B[:, j] = np.ldexp(column, -shift)
    else:
        for j in _dependent(B, pad, settled):  # exact dependencies with coefficients that do not end
            T.columns[j], T.bits[j], B[:, j] = {j: 1}, 0, A[:, j]
    return T, B


def _dependent(B: np.ndarray, pad: bool, settled: set[int]) -> dict[int, dict[int, int]]:
    """For each column that nearly depends on others its coefficients, times 2^COEFFICIENT_BITS."""
    active = np.array([j for j in range(B.shape[1]) if j not in settled], dtype=np.int64)
    step = max(1, B.size // FACTORED_ENTRIES)
    C = B[::step, active]
    length = np.linalg.norm(C, axis=0)
    active, C, length = active[length > 0], C[:, length > 0], length[length > 0]
    if not len(active):
        return {}
    C = C / length
    if pad:
        C[:, -1] *= 2.0 * len(active)  # the bias is never replaced
    R, order = qr(C, mode="r", pivoting=True)
    R = R[: len(active)]
    size = np.abs(np.diag(R))
    rank = int(np.count_nonzero(size > NEARLY_DEPENDENT))
    if rank == len(active):
        return {}
    solution = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    held, rest = active[order[:rank]], order[rank:]
    scale = length[order[:rank]]
    if pad:
        scale[order[:rank] == len(active) - 1] /= 2.0 * len(active)
    found = {}
    for k, j in enumerate(rest.tolist()):
        numbers = solution[:, k] * length[j] / scale
        whole = np.rint(np.ldexp(numbers, COEFFICIENT_BITS))
        found[int(active[j])] = {int(i): int(c) for i, c in zip(held, whole.tolist(), strict=True) if c}
    return {j: c for j, c in found.items() if c}


def _product(A: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A times a matrix given by its digits."""
    count, base = len(V), 2.0**DIGIT_BITS
    total = np.zeros((count + 1, len(A), V.shape[2]))  # by place; what is below is cut off
    rest = A
    for p in range(count):
        rest = rest * base
        digit = np.trunc(rest)
        rest -= digit
        for q in range(count - p):
            total[p + q + 1] += digit @ V[q]
    result = np.zeros(total.shape[1:])
    for p in range(count, 0, -1):
        carry = np.floor(total[p] / base)
        total[p] -= carry * base
        total[p - 1] += carry
    for p in range(count + 1):
        result += np.ldexp(total[p], -DIGIT_BITS * (p + 1))
    return result


class TransformedRows(ExactRows):
    """The rows A T: exact in integers, rounded to doubles in floating point."""

    is_rounded = True

    def __init__(self, base: ExactRows, T: Transformation, B: np.ndarray | None = None) -> None:
        self.base, self.T, self._changed = base, T, T.changed
        if B is None:
            B = base.block(np.arange(base.n)) * base.y[:, None]
            B[:, self._changed] = T.products(B, self._changed, T.digits_needed())
        d, used = base.d, base.used[: base.d]
        super().__init__(
            DenseRows(B[:, :d]), base.y, base.pad, np.zeros(d, np.int64), used, base.deadline
        )
        matrix = [[T.columns[j].get(i, 0) for j in self._changed] for i in range(base.D)]
        self._matrix, self._bits = fmpz_mat(matrix), [T.bits[j] for j in self._changed]

    @property
    def terms(self) -> int:
        """How many roundings a value has: those of its sum, and those of the numbers themselves."""
        return self.D + 2

    @property
    def plain(self) -> ExactRows:
        """The rows that are transformed: these cancel with the same weights."""
        return self.base

    def plane_of_plain(self, z: Sequence[Number]) -> list[int]:
        """T z, in whole numbers."""
        return as_integers(self.T.apply(z))

    def restricted(self, which: np.ndarray) -> ExactRows:
        """Only some rows."""
        return TransformedRows(self.base.restricted(which), self.T)

    def _whole_rows(self, which: list[int]) -> list[Whole]:
        given = self.base.whole(which)
        products = (fmpz_mat([ints for ints, _ in given]) * self._matrix).tolist()
        most, found = max(0, *self._bits), []
        for (ints, m), product in zip(given, products, strict=True):
            new = [v << most for v in ints]
            for j, bits, v in zip(self._changed, self._bits, product, strict=True):
                new[j] = int(v) << most - bits
            low = min([(v & -v).bit_length() - 1 for v in new if v], default=0)
            low = min(low, m + most)
            found.append(Whole(range(self.D), [v >> low for v in new], m + most - low))
        return found
