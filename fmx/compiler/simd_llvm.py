"""LLVM instructions of the vectors in simd.py."""

from functools import partial

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from .primitives_llvm import call, instruction
from .simd import LANES

_NUMBER = ir.IntType(32)


class LanesType(types.Type):
    """Numba's type of 32 lanes of uint8 or int32."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(f"Lanes({dtype})")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _vector(ir.IntType(lanes.dtype.bitwidth)))


_SUMS = LanesType(types.int32)


def _vector(element):
    return ir.VectorType(element, LANES)


def _address(builder, array, i):
    return builder.bitcast(builder.gep(array, [i]), _vector(array.type.pointee).as_pointer())


def _splat(builder, scalar):
    """Set every lane to ``scalar``."""
    nothing = ir.Constant(_vector(scalar.type), ir.Undefined)
    start = builder.insert_element(nothing, scalar, _NUMBER(0))
    return builder.shuffle_vector(start, nothing, ir.Constant(_vector(_NUMBER), [0] * LANES))


def _touches(builder, array, i, v=None):
    return [(0, i, LANES)]


@instruction(lambda array, i: LanesType(array.dtype)(array, types.intp), _touches)
def load(builder, array, i):
    return builder.load(_address(builder, array, i), align=array.type.pointee.width // 8)


@instruction(lambda array, i, v: types.void(array, types.intp, v), _touches)
def store(builder, array, i, v):
    builder.store(v, _address(builder, array, i), align=array.type.pointee.width // 8)


@instruction(lambda array, x: LanesType(array.dtype)(array, types.intp))
def fill(builder, array, x):
    element = array.type.pointee
    return _splat(builder, builder.trunc(x, element) if x.type.width > element.width else x)


def _lane_by_lane(operation):
    """Return the instruction of an operation (a method of ir.IRBuilder) on the lanes of two vectors."""

    @instruction(lambda v, w: v(v, w))
    def emit(builder, v, w):
        return operation(builder, v, w)

    return emit


def _larger(builder, v, w, order=">"):
    compare = builder.icmp_unsigned if v.type.element.width == 8 else builder.icmp_signed
    return builder.select(compare(order, v, w), v, w)


maximum, minimum = _lane_by_lane(_larger), _lane_by_lane(partial(_larger, order="<"))
plus, minus = _lane_by_lane(ir.IRBuilder.add), _lane_by_lane(ir.IRBuilder.sub)
differ, common = _lane_by_lane(ir.IRBuilder.xor), _lane_by_lane(ir.IRBuilder.and_)


@instruction(lambda v, n: v(v, types.intp))
def shifted(builder, v, n):
    return builder.shl(v, _splat(builder, builder.trunc(n, _NUMBER)))


@instruction(lambda v: v(v))
def signs(builder, v):
    return builder.ashr(v, ir.Constant(v.type, [31] * LANES))


@instruction(lambda v, n: v(v, types.intp))
def rotate(builder, v, n):
    by = _splat(builder, builder.trunc(n, _NUMBER))
    return call(builder, f"llvm.fshl.v{LANES}i32", v.type, v, v, by)


@instruction(lambda x: LanesType(types.int32)(types.uint64))
def codes(builder, x):
    wide = _vector(x.type)
    by = ir.Constant(wide, [62 - 2 * lane for lane in range(LANES)])
    symbols = builder.and_(builder.lshr(_splat(builder, x), by), ir.Constant(wide, [3] * LANES))
    return builder.trunc(symbols, _vector(_NUMBER))


@instruction(lambda v, w, x, y: x(v, w, x, y))
def choose(builder, v, w, x, y):
    return builder.select(builder.icmp_unsigned("==", v, w), x, y)


@instruction(lambda v, first, last: v(v, types.intp, types.intp))
def within(builder, v, first, last):
    lane = ir.Constant(_vector(_NUMBER), list(range(LANES)))
    low, high = (_splat(builder, builder.trunc(x, _NUMBER)) for x in (first, last))
    inside = builder.and_(builder.icmp_signed(">=", lane, low), builder.icmp_signed("<=", lane, high))
    return builder.select(inside, v, ir.Constant(v.type, [0] * LANES))


@instruction(lambda v, w: types.uint32(v, w))
def equal_bits(builder, v, w):
    return builder.bitcast(builder.icmp_unsigned("==", v, w), _NUMBER)


@instruction(lambda sums, v, w: sums(sums, v, w))
def add_difference(builder, sums, v, w):
    difference = builder.sub(builder.zext(v, sums.type), builder.zext(w, sums.type))
    absolute = call(builder, f"llvm.abs.v{LANES}i32", sums.type, difference, ir.IntType(1)(0))
    return builder.add(sums, absolute)


@instruction(_SUMS)
def zero_sums(builder):
    return ir.Constant(_vector(_NUMBER), [0] * LANES)


@instruction(lambda sums: types.int32(sums))
def total(builder, sums):
    return call(builder, f"llvm.vector.reduce.add.v{LANES}i32", _NUMBER, sums)
