"""The primitives of foreign.py as instructions, for the CPU."""

from llvmlite import ir
from numba import types

from .instruction import instruction

_WORD, _NUMBER = ir.IntType(64), ir.IntType(32)


@instruction(lambda address, a, b, c, d: types.int32(*5 * (types.int64,)))
def call_c(builder, address, a, b, c, d):
    kind = ir.FunctionType(_NUMBER, [_WORD] * 4)
    return builder.call(builder.inttoptr(address, kind.as_pointer()), [a, b, c, d])


@instruction(lambda array, i: types.int64(array, types.intp))
def address_of(builder, array, i):
    return builder.ptrtoint(builder.gep(array, [i]), _WORD)
