"""Ask the processor to load a cache line before it is needed.

Hardware guesses well when rows come in order, and not at all when they are shuffled; the visiting order
is known in advance, so a kernel can say which row comes next but three.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch"]

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
