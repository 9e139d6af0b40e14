"""What a kernel can do with row i, for dense and for sparse rows.

``span`` and ``entry`` say where the numbers of a row are; all else is written once on top of them, but
for ``dot`` and what loads memory ahead, which are written for each of the two for the sake of speed. The
left-to-right sum is the same for dense and sparse rows, because adding w_j·0 changes nothing. A dense
kernel uses ``dot``, which the compiler may reorder, and turns to ``dot_in_order`` only where rounding
could change the decision. A sparse row is summed in order at once: it costs no more.

Sums in two doubles carry along what each addition and each product rounds off, which are doubles
themselves (Ogita, Rump and Oishi 2005).

Hardware guesses well which memory is needed next when rows come in order, and not at all when they are
shuffled; the visiting order is known in advance, so a kernel can ask for the row next but three.

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

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from maxmargin.kernels.jit import jit, jit_inner, jit_inner_any_order, multiply_add
from maxmargin.rows import DenseRows
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
CACHE_LINE_BYTES = 64
AHEAD = 4  # rows between asking for a row and using it
UNDERFLOW = 1e-305  # more than all products that underflow can add up to, and itself a normal number


def span(rows: Any, i: int) -> tuple[int, int]:
    """The places of the entries of row i: first … last − 1."""
    raise NotImplementedError


def entry(rows: Any, i: int, p: int) -> tuple[float, int]:
    """The number at place p of row i, and its column."""
    raise NotImplementedError


def dot(rows: Any, i: int, w: Any) -> tuple[float, float]:
    """w·x_i summed as fast as possible, and a bound on its rounding error; w may be longer than x_i."""
    raise NotImplementedError


def dot_and_size(rows: Any, i: int, w: Any) -> tuple[float, float, int]:
    """w·x_i summed as fast as possible, Σ_j |w_j x_ij|, and of how many products."""
    raise NotImplementedError


def prefetch_row(rows: Any, i: int) -> None:
    """Start loading row i."""
    raise NotImplementedError


def sketch_width(rows: Any) -> int:
    """Return d if the rows have a sketch, else 0."""
    raise NotImplementedError


def refresh_sketch(rows: Any, w: Any, v: Any) -> float:
    """Prepare the sketch for weights w; return the error of ``sketch_dot``."""
    raise NotImplementedError


def sketch_dot(rows: Any, i: int, v: Any) -> float:
    """w·x_i from the sketch."""
    raise NotImplementedError


def _is_dense(rows: Any) -> bool:
    return getattr(rows, "instance_class", None) is Dense


@overload(span, strict=False)
def _span(rows: Any, i: int) -> Any:
    if _is_dense(rows):
        return lambda rows, i: (0, rows.X.shape[1])
    return lambda rows, i: (np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1]))


@overload(entry, strict=False)
def _entry(rows: Any, i: int, p: int) -> Any:
    if _is_dense(rows):
        return lambda rows, i, p: (rows.X[i, p], p)
    return lambda rows, i, p: (rows.data[p], np.uint64(rows.indices[p]))


@jit_inner
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b, and what it rounds off: exactly, unless it overflows."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


@jit_inner
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return a b, and what it rounds off: exactly, but for underflow."""
    p = a * b
    return p, multiply_add(a, b, -p)


@jit_inner
def dot_in_order(rows: Any, i: int, w: Any) -> float:
    """w·x_i summed from left to right: the sum that decides."""
    total = 0.0
    first, last = span(rows, i)
    for p in range(first, last):
        x, j = entry(rows, i, p)
        total += x * w[j]
    return total


@jit_inner
def dot_in_two(rows: Any, i: int, w: Any, b: float) -> tuple[float, float]:
    """w·x_i + b in two doubles, the second what the first lacks."""
    total, rest = b, 0.0
    first, last = span(rows, i)
    for p in range(first, last):
        x, j = entry(rows, i, p)
        product, off = two_product(np.float64(x), w[j])
        total, lost = two_sum(total, product)
        rest += lost + off
    return total, rest


@jit_inner
def add_row(rows: Any, i: int, c: float, w: Any) -> None:
    """Add c x_i to w."""
    first, last = span(rows, i)
    for p in range(first, last):
        x, j = entry(rows, i, p)
        w[j] += c * x


@jit_inner
def add_row_in_two(rows: Any, i: int, c: float, w: Any, rest: Any, size: Any) -> None:
    """Add c x_i to w in two doubles, w and rest, and |c x_i| to a third vector."""
    first, last = span(rows, i)
    for p in range(first, last):
        x, j = entry(rows, i, p)
        product, off = two_product(np.float64(x), c)
        w[j], lost = two_sum(w[j], product)
        rest[j] += lost + off
        size[j] += abs(product)


@jit_inner
def add_products(rows: Any, i: int, V: Any, out: Any) -> None:
    """Add x_i V to out, summed from left to right."""
    first, last = span(rows, i)
    for p in range(first, last):
        x, j = entry(rows, i, p)
        for k in range(V.shape[1]):
            out[k] += x * V[j, k]


@jit_inner
def size(rows: Any, i: int) -> float:
    """max_j |x_ij|."""
    largest = 0.0
    first, last = span(rows, i)
    for p in range(first, last):
        x, _ = entry(rows, i, p)
        largest = max(largest, abs(np.float64(x)))
    return largest


@jit_inner
def norm_squared(rows: Any, i: int, s: float) -> float:
    """‖x_i/s‖², summed from left to right."""
    total = 0.0
    first, last = span(rows, i)
    for p in range(first, last):
        x, _ = entry(rows, i, p)
        total += (x / s) * (x / s)
    return total


@jit_inner_any_order
def _dense_dot(x: Any, w: Any) -> tuple[float, float]:
    total = 0.0
    size = 0.0
    for j in range(x.shape[0]):
        product = x[j] * w[j]
        total += product
        size += abs(product)
    return total, size


@overload(dot, strict=False)
def _dot(rows: Any, i: int, w: Any) -> Any:
    def dense(rows: Any, i: int, w: Any) -> tuple[float, float]:
        total, size = _dense_dot(rows.X[i], w)
        # Two sums of d products in any two orders differ by less than this (Higham 2002, §3.1).
        return total, 4.0 * UNIT_ROUNDOFF * (rows.X.shape[1] + 2) * size + UNDERFLOW

    return dense if _is_dense(rows) else lambda rows, i, w: (dot_in_order(rows, i, w), 0.0)


@overload(dot_and_size, strict=False)
def _dot_and_size(rows: Any, i: int, w: Any) -> Any:
    def dense(rows: Any, i: int, w: Any) -> tuple[float, float, int]:
        total, size = _dense_dot(rows.X[i], w)
        return total, size, rows.X.shape[1]

    def csr(rows: Any, i: int, w: Any) -> tuple[float, float, int]:
        total = 0.0
        size = 0.0
        first, last = span(rows, i)
        for p in range(first, last):
            x, j = entry(rows, i, p)
            product = x * w[j]
            total += product
            size += abs(product)
        return total, size, np.int64(last - first)

    return dense if _is_dense(rows) else csr


@overload(prefetch_row, strict=False)
def _prefetch_row(rows: Any, i: int) -> Any:
    def dense(rows: Any, i: int) -> None:
        d = rows.X.shape[1]
        if rows.sketch.shape[1] > 0:
            for j in range(i * d, (i + 1) * d, CACHE_LINE_BYTES // 2):
                prefetch(rows.sketch, j)
        else:
            for j in range(i * d, (i + 1) * d, CACHE_LINE_BYTES // 8):
                prefetch(rows.X, j)

    def csr(rows: Any, i: int) -> None:
        for p in range(rows.indptr[i], rows.indptr[i + 1], CACHE_LINE_BYTES // 8):
            prefetch(rows.data, p)
        for p in range(rows.indptr[i], rows.indptr[i + 1], CACHE_LINE_BYTES // 4):
            prefetch(rows.indices, p)

    return dense if _is_dense(rows) else csr


@overload(sketch_width, strict=False)
def _sketch_width(rows: Any) -> Any:
    return (lambda rows: rows.sketch.shape[1]) if _is_dense(rows) else (lambda rows: 0)


@jit_inner
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


@overload(refresh_sketch, strict=False)
def _refresh_sketch(rows: Any, w: Any, v: Any) -> Any:
    if _is_dense(rows):
        return lambda rows, w, v: _refresh(w, rows.unit, v)
    return lambda rows, w, v: np.inf


@jit_inner_any_order
def _single_dot(q: Any, v: Any) -> float:
    total = np.float32(0.0)
    for j in range(v.shape[0]):
        total += np.float32(q[j]) * v[j]
    return total


@overload(sketch_dot, strict=False)
def _sketch_dot(rows: Any, i: int, v: Any) -> Any:
    if _is_dense(rows):
        return lambda rows, i, v: _single_dot(rows.sketch[i], v)
    return lambda rows, i, v: np.float32(0.0)


@jit
def products(rows: Any, V: Any, out: Any) -> None:
    """Write X V: the columns of V take their turns within a row, so that they run side by side."""
    if V.shape[1] == 1:
        v = np.empty(V.shape[0])
        for j in range(V.shape[0]):
            v[j] = V[j, 0]
        for i in range(out.shape[0]):
            out[i, 0] = dot_in_order(rows, i, v)
        return
    for i in range(out.shape[0]):
        for k in range(V.shape[1]):
            out[i, k] = 0.0
        add_products(rows, i, V, out[i])


@jit
def combine(rows: Any, C: Any, out: Any) -> None:
    """Add Cᵀ X to out, row after row; rows of weight zero are not even read."""
    for i in range(C.shape[0]):
        for k in range(C.shape[1]):
            if C[i, k] != 0.0:
                add_row(rows, i, C[i, k], out[k])


SKETCH_LEVELS = 32767
MIN_COLUMN_REACH = 1e-290  # smaller columns are zero to the sketch, whose unit of 1/32767 covers them


@jit
def fill(X: Any, per_unit: Any, sketch: Any) -> None:
    """Write q_ij = round(x_ij · per_unit_j)."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            sketch[i, j] = np.int16(np.rint(X[i, j] * per_unit[j]))


def with_sketch(rows: DenseRows) -> DenseRows:
    """Return the same rows with a sketch beside them."""
    reach = rows.column_reach
    unit = np.where(reach > MIN_COLUMN_REACH, reach, 1.0) / SKETCH_LEVELS
    sketch = np.empty(rows.X.shape, dtype=np.int16)
    for where, _ in rows.blocks():
        fill(rows.X[where], 1.0 / unit, sketch[where])
    return DenseRows(rows.X, sketch, unit)
