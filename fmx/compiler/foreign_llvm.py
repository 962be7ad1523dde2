"""The primitives of foreign.py as instructions, for the CPU."""

from llvmlite import ir
from numba import types

from .instruction import instruction

_WORD, _NUMBER = ir.IntType(64), ir.IntType(32)


@instruction(lambda address, a, b, c: types.int32(*4 * (types.int64,)))
def call_c(builder, address, a, b, c):
    kind = ir.FunctionType(_NUMBER, [_WORD] * 3)
    return builder.call(builder.inttoptr(address, kind.as_pointer()), [a, b, c])


@instruction(lambda array, i: types.int64(array, types.intp))
def address_of(builder, array, i):
    return builder.ptrtoint(builder.gep(array, [i]), _WORD)
