"""Pieces of kernels made of LLVM's instructions: 16 bytes at a time (warp.py), packed sums (cuda.py)."""

from llvmlite import ir
from numba.core import types

from .instruction import instruction
from .primitives_llvm import PAIR, pair_at, tuple_of, two_words

_HALF, _NUMBER = ir.IntType(64), ir.IntType(32)


@instruction(lambda words, i, a, b: types.void(words, types.intp, types.uint64, types.uint64))
def store_unit(builder, words, i, a, b):
    pair = builder.insert_element(ir.Constant(PAIR, ir.Undefined), a, _NUMBER(0))
    builder.store(builder.insert_element(pair, b, _NUMBER(1)), pair_at(builder, words, i), align=16)


@instruction(two_words)
def load_unit_narrow(builder, words, i):
    first = builder.bitcast(builder.gep(words, [i]), _NUMBER.as_pointer())
    quarters = [builder.load(builder.gep(first, [_NUMBER(p)]), align=4) for p in range(4)]
    wide = [builder.zext(quarter, _HALF) for quarter in quarters]
    high = [builder.shl(upper, _HALF(32)) for upper in wide[1::2]]
    return tuple_of(builder, [builder.or_(low, up) for low, up in zip(wide[::2], high, strict=True)])


def _assembly(builder, text, *words):
    """One piece of PTX, of words (uint32) and for one."""
    constraint = ",".join(["=r"] + ["r"] * len(words))
    return builder.asm(ir.FunctionType(_NUMBER, [_NUMBER] * len(words)), text, constraint, words, False)


@instruction(lambda x, y: types.uint32(types.uint32, types.uint32))
def max_u16x2(builder, x, y):
    return _assembly(builder, "max.u16x2 $0, $1, $2;", x, y)


@instruction(lambda x, y, z: types.uint32(types.uint32, types.uint32, types.uint32))
def add_max_u16x2(builder, x, y, z):
    # One instruction (VIADDMNMX) from sm_90 on.
    return _assembly(builder, "{ .reg .b32 t; add.u16x2 t, $1, $2; max.u16x2 $0, t, $3; }", x, y, z)


@instruction(lambda low, high, selector: types.uint32(types.uint32, types.uint32, types.uint32))
def permute_bytes(builder, low, high, selector):
    return _assembly(builder, "prmt.b32 $0, $1, $2, $3;", low, high, selector)
