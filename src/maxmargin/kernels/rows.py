"""What a kernel can do with row i, for dense and for sparse rows.

==================  ==========================================================================
``dot``             w·x_i summed as fast as possible, and a bound on its rounding error
``dot_and_size``    w·x_i summed as fast as possible, Σ_j |w_j x_ij|, and of how many products
``dot_in_order``    w·x_i summed from left to right: the sum that decides
``dot_in_two``      w·x_i + b in two doubles, the second what the first lacks
``add_row``         w ← w + c x_i
``add_row_in_two``  the same in two vectors w, w′ of doubles, and |c x_i| to a third one
``add_products``    out ← out + x_i V, summed from left to right
``size``            max_j |x_ij|
``norm_squared``    ‖x_i/s‖², summed from left to right
``prefetch_row``    start loading row i
``sketch_width``    d if the rows have a sketch, else 0
``refresh_sketch``  prepare the sketch for weights w; returns the error of ``sketch_dot``
``sketch_dot``      w·x_i from the 16-bit sketch
==================  ==========================================================================

The left-to-right sum is the same for dense and sparse rows, because adding w_j·0 changes nothing.
A dense kernel uses ``dot``, which the compiler may reorder, and turns to ``dot_in_order`` only where
rounding could change the decision. A sparse row is summed in order at once: it costs no more.

Sums in two doubles carry along what each addition and each product rounds off, which are doubles
themselves (Ogita, Rump and Oishi 2005).

Ask the processor to load a cache line before it is needed.

Hardware guesses well when rows come in order, and not at all when they are shuffled; the visiting order
is known in advance, so a kernel can say which row comes next but three.

Products whose every bit is the same for dense and sparse rows: all sums are taken in order.

The sketch: 16 bits per entry, with which an epoch reads a quarter of the memory.

Perceptron epochs on large dense data wait for memory, not for arithmetic. Most rows are classified
correctly with room to spare, and to see that, 16 bits per entry are enough: with
unit_j = max_i |x_ij| / 32767 and q_ij = round(x_ij / unit_j),

    |w·x_i − Σ_j w_j unit_j q_ij| ≤ ½ Σ_j |w_j| unit_j.

A kernel that finds y·f̂ − error > δ from the sketch knows that the row is no mistake; every other row
is read in full. Decisions, updates and weights are therefore the same with and without the sketch.
It costs a quarter of the memory of X and about two passes to make.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from maxmargin.kernels.jit import jit, jit_any_order, multiply_add
from maxmargin.rows import DenseRows, Rows
from maxmargin.rows.base import Dense

READ, KEEP, DATA = 0, 3, 1  # arguments of llvm.prefetch


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Load the cache line of array[index] (a flat index into a contiguous array)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte = ir.IntType(8).as_pointer()
        integer = ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(function, [address, *(ir.Constant(integer, v) for v in (READ, KEEP, DATA))])
        return context.get_dummy_value()

    return types.void(array, index), generate


UNIT_ROUNDOFF = 2.0**-53
SINGLE_ROUNDOFF = 2.0**-24
LINE = 64  # bytes in a cache line
AHEAD = 4  # rows between asking for a row and using it
UNDERFLOW = 1e-305  # more than all products that underflow can add up to, and itself a normal number


def dot(rows: Any, i: int, w: Any) -> tuple[float, float]: ...  # type: ignore[empty-body]
def dot_and_size(rows: Any, i: int, w: Any) -> tuple[float, float, int]: ...  # type: ignore[empty-body]
def dot_in_order(rows: Any, i: int, w: Any) -> float: ...  # type: ignore[empty-body]
def dot_in_two(rows: Any, i: int, w: Any, b: float) -> tuple[float, float]: ...  # type: ignore[empty-body]
def add_row(rows: Any, i: int, c: float, w: Any) -> None: ...
def add_row_in_two(rows: Any, i: int, c: float, w: Any, rest: Any, size: Any) -> None: ...
def add_products(rows: Any, i: int, V: Any, out: Any) -> None: ...
def size(rows: Any, i: int) -> float: ...  # type: ignore[empty-body]
def norm_squared(rows: Any, i: int, s: float) -> float: ...  # type: ignore[empty-body]
def prefetch_row(rows: Any, i: int) -> None: ...
def sketch_width(rows: Any) -> int: ...  # type: ignore[empty-body]
def refresh_sketch(rows: Any, w: Any, v: Any) -> float: ...  # type: ignore[empty-body]
def sketch_dot(rows: Any, i: int, v: Any) -> float: ...  # type: ignore[empty-body]


def _is_dense(rows: Any) -> bool:
    return getattr(rows, "instance_class", None) is Dense


@jit
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b, and what it rounds off: exactly, unless it overflows."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


@jit
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return a b, and what it rounds off: exactly, but for underflow."""
    p = a * b
    return p, multiply_add(a, b, -p)


@jit_any_order
def _dense_dot(x: Any, w: Any) -> tuple[float, float]:
    total = 0.0
    size = 0.0
    for j in range(x.shape[0]):
        product = x[j] * w[j]
        total += product
        size += abs(product)
    return total, size


@jit_any_order
def _single_dot(q: Any, v: Any) -> float:
    total = np.float32(0.0)
    for j in range(v.shape[0]):
        total += np.float32(q[j]) * v[j]
    return total


@jit
def _refresh(w: Any, unit: Any, v: Any) -> float:
    if v.shape[0] == 0:
        return np.inf
    size = 0.0
    for j in range(v.shape[0]):
        scaled = w[j] * unit[j]
        size += abs(scaled)
        v[j] = scaled
    # Half a unit of the sketch, plus the rounding of a sum of d products in single precision, plus
    # what may underflow there.
    rounding = 4.0 * SINGLE_ROUNDOFF * (v.shape[0] + 8) * 32768.0
    return size * (0.5 + rounding) + v.shape[0] * 1e-36


@overload(dot)
def _dot(rows: Any, i: int, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, w: Any) -> tuple[float, float]:
            total, size = _dense_dot(rows.X[i], w)
            # Two sums of d products in any two orders differ by less than this (Higham 2002, §3.1).
            return total, 4.0 * UNIT_ROUNDOFF * (rows.X.shape[1] + 2) * size + UNDERFLOW

        return dense

    def csr(rows: Any, i: int, w: Any) -> tuple[float, float]:
        return dot_in_order(rows, i, w), 0.0

    return csr


@overload(dot_and_size)
def _dot_and_size(rows: Any, i: int, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, w: Any) -> tuple[float, float, int]:
            total, size = _dense_dot(rows.X[i], w)
            return total, size, rows.X.shape[1]

        return dense

    def csr(rows: Any, i: int, w: Any) -> tuple[float, float, int]:
        total = 0.0
        size = 0.0
        first, last = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        for p in range(first, last):
            product = rows.data[p] * w[np.uint64(rows.indices[p])]
            total += product
            size += abs(product)
        return total, size, np.int64(last - first)

    return csr


@overload(dot_in_two)
def _dot_in_two(rows: Any, i: int, w: Any, b: float) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, w: Any, b: float) -> tuple[float, float]:
            x = rows.X[i]
            total, rest = b, 0.0
            for j in range(x.shape[0]):
                product, off = two_product(np.float64(x[j]), w[j])
                total, lost = two_sum(total, product)
                rest += lost + off
            return total, rest

        return dense

    def csr(rows: Any, i: int, w: Any, b: float) -> tuple[float, float]:
        total, rest = b, 0.0
        for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            product, off = two_product(np.float64(rows.data[p]), w[np.uint64(rows.indices[p])])
            total, lost = two_sum(total, product)
            rest += lost + off
        return total, rest

    return csr


@overload(dot_in_order)
def _dot_in_order(rows: Any, i: int, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, w: Any) -> float:
            x = rows.X[i]
            total = 0.0
            for j in range(x.shape[0]):
                total += x[j] * w[j]
            return total

        return dense

    def csr(rows: Any, i: int, w: Any) -> float:
        total = 0.0
        for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total += rows.data[p] * w[np.uint64(rows.indices[p])]
        return total

    return csr


@overload(add_row)
def _add_row(rows: Any, i: int, c: float, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, c: float, w: Any) -> None:
            x = rows.X[i]
            for j in range(x.shape[0]):
                w[j] += c * x[j]

        return dense

    def csr(rows: Any, i: int, c: float, w: Any) -> None:
        for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            w[np.uint64(rows.indices[p])] += c * rows.data[p]

    return csr


@overload(add_row_in_two)
def _add_row_in_two(rows: Any, i: int, c: float, w: Any, rest: Any, size: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, c: float, w: Any, rest: Any, size: Any) -> None:
            x = rows.X[i]
            for j in range(x.shape[0]):
                product, off = two_product(np.float64(x[j]), c)
                w[j], lost = two_sum(w[j], product)
                rest[j] += lost + off
                size[j] += abs(product)

        return dense

    def csr(rows: Any, i: int, c: float, w: Any, rest: Any, size: Any) -> None:
        for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            j = np.uint64(rows.indices[p])
            product, off = two_product(np.float64(rows.data[p]), c)
            w[j], lost = two_sum(w[j], product)
            rest[j] += lost + off
            size[j] += abs(product)

    return csr


@overload(add_products)
def _add_products(rows: Any, i: int, V: Any, out: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, V: Any, out: Any) -> None:
            x = rows.X[i]
            for j in range(x.shape[0]):
                for k in range(V.shape[1]):
                    out[k] += x[j] * V[j, k]

        return dense

    def csr(rows: Any, i: int, V: Any, out: Any) -> None:
        for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            for k in range(V.shape[1]):
                out[k] += rows.data[p] * V[np.uint64(rows.indices[p]), k]

    return csr


@overload(size)
def _size(rows: Any, i: int) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int) -> float:
            largest = 0.0
            for x in rows.X[i]:
                largest = max(largest, abs(np.float64(x)))
            return largest

        return dense

    def csr(rows: Any, i: int) -> float:
        largest = 0.0
        for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            largest = max(largest, abs(np.float64(rows.data[p])))
        return largest

    return csr


@overload(norm_squared)
def _norm_squared(rows: Any, i: int, s: float) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int, s: float) -> float:
            total = 0.0
            for x in rows.X[i]:
                total += (x / s) * (x / s)
            return total

        return dense

    def csr(rows: Any, i: int, s: float) -> float:
        total = 0.0
        for p in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total += (rows.data[p] / s) * (rows.data[p] / s)
        return total

    return csr


@overload(prefetch_row)
def _prefetch_row(rows: Any, i: int) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: int) -> None:
            d = rows.X.shape[1]
            if rows.sketch.shape[1] > 0:
                for j in range(i * d, (i + 1) * d, LINE // 2):
                    prefetch(rows.sketch, j)
            else:
                for j in range(i * d, (i + 1) * d, LINE // 8):
                    prefetch(rows.X, j)

        return dense

    def csr(rows: Any, i: int) -> None:
        for p in range(rows.indptr[i], rows.indptr[i + 1], LINE // 8):
            prefetch(rows.data, p)
        for p in range(rows.indptr[i], rows.indptr[i + 1], LINE // 4):
            prefetch(rows.indices, p)

    return csr


@overload(sketch_width)
def _sketch_width(rows: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any) -> int:
            return rows.sketch.shape[1]

        return dense

    def csr(rows: Any) -> int:
        return 0

    return csr


@overload(refresh_sketch)
def _refresh_sketch(rows: Any, w: Any, v: Any) -> Any:
    if not _is_dense(rows):

        def csr(rows: Any, w: Any, v: Any) -> float:
            return np.inf

        return csr

    def dense(rows: Any, w: Any, v: Any) -> float:
        return _refresh(w, rows.unit, v)

    return dense


@overload(sketch_dot)
def _sketch_dot(rows: Any, i: int, v: Any) -> Any:
    if not _is_dense(rows):

        def csr(rows: Any, i: int, v: Any) -> float:
            return np.float32(0.0)

        return csr

    def dense(rows: Any, i: int, v: Any) -> float:
        return _single_dot(rows.sketch[i], v)

    return dense


@jit
def products(rows: Any, V: Any, out: Any) -> None:
    """Write X V: the columns of V take their turns within a row, so that they run side by side."""
    if V.shape[1] == 1:
        v = V.copy().ravel()
        for i in range(out.shape[0]):
            out[i, 0] = dot_in_order(rows, i, v)
        return
    out[:] = 0.0
    for i in range(out.shape[0]):
        add_products(rows, i, V, out[i])


@jit
def combine(rows: Any, C: Any, out: Any) -> None:
    """Add Cᵀ X to out, row after row; rows of weight zero are not even read."""
    for i in range(C.shape[0]):
        for k in range(C.shape[1]):
            if C[i, k] != 0.0:
                add_row(rows, i, C[i, k], out[k])


LEVELS = 32767
NOTHING = 1e-290  # smaller columns are zero to the sketch, whose unit of 1/32767 covers them
MIN_SKETCH_ENTRIES = 1 << 22  # entries; smaller data lives in the processor's caches anyway


@jit
def fill(X: Any, per_unit: Any, sketch: Any) -> None:
    """Write q_ij = round(x_ij · per_unit_j)."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            sketch[i, j] = np.int16(np.rint(X[i, j] * per_unit[j]))


def worth_sketching(rows: Rows) -> TypeGuard[DenseRows]:
    """Whether a sketch of these rows saves more than it costs: large, dense, doubles."""
    return (
        isinstance(rows, DenseRows) and rows.X.dtype == np.float64 and rows.entries >= MIN_SKETCH_ENTRIES
    )


def with_sketch(rows: DenseRows) -> DenseRows:
    """Return the same rows with a sketch beside them."""
    reach = rows.column_reach
    unit = np.where(reach > NOTHING, reach, 1.0) / LEVELS
    sketch = np.empty(rows.X.shape, dtype=np.int16)
    for where, _ in rows.blocks():
        fill(rows.X[where], 1.0 / unit, sketch[where])
    return DenseRows(rows.X, sketch, unit)
