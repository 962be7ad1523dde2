"""LLVM instructions of the vectors in simd.py."""

from llvmlite import ir
from numba import types
from numba.extending import models, register_model
from numba.types import int32, intp, uint32, uint64, void

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


_SUMS = LanesType(int32)


def _vector(element):
    return ir.VectorType(element, LANES)


def _every(element, number):
    return ir.Constant(_vector(element), [number] * LANES)


def _address(builder, array, i):
    return builder.bitcast(builder.gep(array, [i]), _vector(array.type.pointee).as_pointer())


def _splat(builder, scalar):
    """Set every lane to ``scalar``, an int32 lane to the low bits of a word."""
    nothing = ir.Constant(_vector(scalar.type), ir.Undefined)
    start = builder.insert_element(nothing, scalar, _NUMBER(0))
    return builder.shuffle_vector(start, nothing, _every(_NUMBER, 0))


def _numbers(builder, n):
    """Set every int32 lane to n, a word."""
    return _splat(builder, builder.trunc(n, _NUMBER))


def _touches(builder, array, i, v=None):
    return [(0, i, LANES)]


@instruction(lambda array, i: LanesType(array.dtype)(array, intp), touches=_touches)
def load(builder, array, i):
    return builder.load(_address(builder, array, i), align=array.type.pointee.width // 8)


@instruction(lambda array, i, v: void(array, intp, v), touches=_touches)
def store(builder, array, i, v):
    builder.store(v, _address(builder, array, i), align=array.type.pointee.width // 8)


@instruction(lambda array, x: LanesType(array.dtype)(array, intp))
def fill(builder, array, x):
    element = array.type.pointee
    return _splat(builder, builder.trunc(x, element) if x.type.width > element.width else x)


def _larger(builder, v, w, order=">"):
    compare = builder.icmp_unsigned if v.type.element.width == 8 else builder.icmp_signed
    return builder.select(compare(order, v, w), v, w)


_lane_by_lane = instruction(lambda v, w: v(v, w))
maximum = _lane_by_lane(lambda builder, v, w: _larger(builder, v, w))
minimum = _lane_by_lane(lambda builder, v, w: _larger(builder, v, w, "<"))
plus = _lane_by_lane(lambda builder, v, w: builder.add(v, w))
minus = _lane_by_lane(lambda builder, v, w: builder.sub(v, w))
differ = _lane_by_lane(lambda builder, v, w: builder.xor(v, w))
common = _lane_by_lane(lambda builder, v, w: builder.and_(v, w))
zero_sums = instruction(_SUMS(), lambda builder: _every(_NUMBER, 0))
signs = instruction(lambda v: v(v), lambda builder, v: builder.ashr(v, _every(_NUMBER, 31)))


@instruction(lambda v, n: v(v, intp))
def shifted(builder, v, n):
    return builder.shl(v, _numbers(builder, n))


@instruction(lambda v, n: v(v, intp))
def rotate(builder, v, n):
    return call(builder, f"llvm.fshl.v{LANES}i32", v.type, v, v, _numbers(builder, n))


@instruction(_SUMS(uint64))
def codes(builder, x):
    by = ir.Constant(_vector(x.type), [62 - 2 * lane for lane in range(LANES)])
    symbols = builder.and_(builder.lshr(_splat(builder, x), by), _every(x.type, 3))
    return builder.trunc(symbols, _vector(_NUMBER))


@instruction(lambda v, w, x, y: x(v, w, x, y))
def choose(builder, v, w, x, y):
    return builder.select(builder.icmp_unsigned("==", v, w), x, y)


@instruction(lambda v, first, last: v(v, intp, intp))
def within(builder, v, first, last):
    lane = ir.Constant(_vector(_NUMBER), list(range(LANES)))
    low = builder.icmp_signed(">=", lane, _numbers(builder, first))
    high = builder.icmp_signed("<=", lane, _numbers(builder, last))
    return builder.select(builder.and_(low, high), v, _every(v.type.element, 0))


@instruction(lambda v, w: uint32(v, w))
def equal_bits(builder, v, w):
    return builder.bitcast(builder.icmp_unsigned("==", v, w), _NUMBER)


@instruction(lambda sums, v, w: sums(sums, v, w))
def add_difference(builder, sums, v, w):
    difference = builder.sub(builder.zext(v, sums.type), builder.zext(w, sums.type))
    absolute = call(builder, f"llvm.abs.v{LANES}i32", sums.type, difference, ir.IntType(1)(0))
    return builder.add(sums, absolute)


@instruction(int32(_SUMS))
def total(builder, sums):
    return call(builder, f"llvm.vector.reduce.add.v{LANES}i32", _NUMBER, sums)
