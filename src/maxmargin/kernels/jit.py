"""Compile with Numba: cached on disk where a directory is writable, in memory where none is.

Also single instructions of the processor that Python has no word for, and addresses in place of arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from llvmlite import ir
from numba import cfunc, njit, types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

# Lets the compiler sum in any order and fuse multiply-add, and nothing else: nan and inf stay exact.
ANY_ORDER = {"reassoc", "contract", "nsz"}
# Wrappers for Python and C, which a part does not need, take half of the time to compile a short one.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
PART = {"forceinline": True, **INNER}


def jit(function: F) -> F:
    """Compile ``function`` without the GIL; never fail at import for want of a cache directory."""
    return _compile(function, fastmath=False)


def jit_ieee(function: F) -> F:
    """Compile a function in which x/0 is infinite or nan, and no error."""
    return _compile(function, fastmath=False, error_model="numpy")


def jit_any_order(function: F) -> F:
    """The same for a function whose sums may be taken in any order."""
    return _compile(function, fastmath=ANY_ORDER, error_model="numpy")


def jit_inner(function: F) -> F:
    """Compile as :func:`jit_ieee`, for kernels to call: Python cannot."""
    return _compile(function, fastmath=False, error_model="numpy", **INNER)


def jit_inner_any_order(function: F) -> F:
    """Compile as :func:`jit_any_order`, for kernels to call: Python cannot."""
    return _compile(function, fastmath=ANY_ORDER, error_model="numpy", **INNER)


def jit_part(function: F) -> F:
    """Compile as :func:`jit_ieee`, into the kernels that call it: Python cannot."""
    return _compile(function, fastmath=False, error_model="numpy", **PART)


def jit_part_any_order(function: F) -> F:
    """Compile as :func:`jit_any_order`, into the kernels that call it: Python cannot."""
    return _compile(function, fastmath=ANY_ORDER, error_model="numpy", **PART)


BYTES: Any = types.CPointer(types.uint8)  # type: ignore[no-untyped-call]
DOUBLES: Any = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
INTEGERS: Any = types.CPointer(types.int64)  # type: ignore[no-untyped-call]
# Of a stage: memory, row numbers, four sizes and two numbers.
STAGE = types.int64(DOUBLES, INTEGERS, *[types.int64] * 4, *[types.float64] * 2)


def stage(function: Callable[..., int]) -> Callable[[], int]:
    """Return a function that compiles one stage of a kernel, once, and returns its address.

    The kernel is given the address, and calls it with :func:`run_stage`. So a stage is compiled by
    itself, since the time grows faster than the length of a function, and there is one copy of it, with
    the same last bits for whoever calls it.
    """

    @cache
    def address() -> int:
        options: dict[str, Any] = {"nopython": True, "error_model": "numpy"}
        try:
            compiled: Any = cfunc(STAGE, cache=True, **options)(function)
        except RuntimeError:  # no writable directory for the cache
            compiled = cfunc(STAGE, **options)(function)
        return int(compiled.address)

    return address


def _compile(function: F, **options: Any) -> F:
    try:
        return njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no writable directory for the cache
        return njit(nogil=True, **options)(function)


def _intrinsic(function: Any) -> Callable[..., Any]:
    """Mark a function that writes instructions; what it returns is called in kernels alone."""
    found: Callable[..., Any] = intrinsic(function)
    return found


@_intrinsic
def high_half(_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of a product of two 64-bit numbers."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        x, y = (builder.zext(argument, wide) for argument in arguments)
        return builder.trunc(builder.lshr(builder.mul(x, y), ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@_intrinsic
def multiply_add(_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, rounded once."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@_intrinsic
def leading_zeros(_context: Any, a: Any) -> Any:
    """How many leading bits of a number other than zero are zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@_intrinsic
def trailing_zeros(_context: Any, a: Any) -> Any:
    """How many of the last bits of a number are zero; 64 for zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@_intrinsic
def double_of_bits(_context: Any, a: Any) -> Any:
    """The double that these 64 bits are."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@_intrinsic
def pointer(_context: Any, array: Any) -> Any:
    """Where the bytes of an array begin; it is indexed like the array, and costs nothing to pass on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return BYTES(array), generate


@_intrinsic
def at(_context: Any, array: Any, k: Any) -> Any:
    """Where entry k of a contiguous array is: an address that is indexed like an array.

    The array must live longer than the address: it is an argument of the kernel.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]])

    found: Any = types.CPointer(array.dtype)  # type: ignore[no-untyped-call]
    return found(array, types.intp), generate


@_intrinsic
def further(_context: Any, address: Any, k: Any) -> Any:
    """Where the number k places further on is."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return address(address, types.intp), generate


@_intrinsic
def run_stage(
    _context: Any,
    address: Any,
    work: Any,
    numbers: Any,
    most: Any,
    n: Any,
    d: Any,
    k: Any,
    value: Any,
    pad: Any,
) -> Any:
    """Call a stage by its address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        where, *given = arguments
        kind = ir.FunctionType(ir.IntType(64), [argument.type for argument in given])
        return builder.call(builder.inttoptr(where, kind.as_pointer()), given)

    return types.int64(types.int64, *STAGE.args), generate


@_intrinsic
def eight_bytes(_context: Any, text: Any, k: Any) -> Any:
    """Bytes k … k + 7 of a text as one number, the first of them the lowest."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.gep(arguments[0], [arguments[1]])
        address = builder.bitcast(place, ir.IntType(64).as_pointer())
        found = builder.load(address, align=1)
        return found if sys.byteorder == "little" else builder.bswap(found)

    return types.uint64(text, k), generate
