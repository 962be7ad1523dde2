"""The vectors of simd.py as instructions."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from .simd import LANES

_WORD = ir.IntType(64)


class LanesType(types.Type):
    """32 lanes of uint8 or int32."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(f"Lanes({dtype})")

    @property
    def vector(self):
        return ir.VectorType(ir.IntType(self.dtype.bitwidth), LANES)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, lanes.vector)


def _address(context, builder, signature, arguments, lanes):
    view = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(view.data, [arguments[1]]), lanes.vector.as_pointer())


def _constant(value, bits):
    return ir.Constant(ir.VectorType(ir.IntType(bits), LANES), [value] * LANES)


def _splat(builder, scalar, vector):
    start = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(start, ir.Constant(vector, ir.Undefined), _constant(0, 32))


@intrinsic
def load(typing, array, i):
    lanes = LanesType(array.dtype)

    def emit(context, builder, signature, arguments):
        address = _address(context, builder, signature, arguments, lanes)
        return builder.load(address, align=array.dtype.bitwidth // 8)

    return lanes(array, types.intp), emit


@intrinsic
def store(typing, array, i, v):

    def emit(context, builder, signature, arguments):
        address = _address(context, builder, signature, arguments, v)
        builder.store(arguments[2], address, align=v.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, v), emit


@intrinsic
def fill(typing, array, x):
    lanes = LanesType(array.dtype)

    def emit(context, builder, signature, arguments):
        element = lanes.vector.element
        x = arguments[1]
        x = builder.trunc(x, element) if x.type.width > element.width else x
        return _splat(builder, x, lanes.vector)

    return lanes(array, types.intp), emit


@intrinsic
def maximum(typing, v, w):

    def emit(context, builder, signature, arguments):
        a, b = arguments
        compare = builder.icmp_signed if v.dtype.signed else builder.icmp_unsigned
        return builder.select(compare(">", a, b), a, b)

    return v(v, w), emit


@intrinsic
def minus(typing, v, w):

    def emit(context, builder, signature, arguments):
        return builder.sub(*arguments)

    return v(v, w), emit


@intrinsic
def choose(typing, v, w, x, y):

    def emit(context, builder, signature, arguments):
        a, b, then, other = arguments
        return builder.select(builder.icmp_unsigned("==", a, b), then, other)

    return x(v, w, x, y), emit


@intrinsic
def within(typing, v, first, last):

    def emit(context, builder, signature, arguments):
        a, low, high = arguments
        vector = ir.VectorType(ir.IntType(32), LANES)
        number = ir.Constant(vector, list(range(LANES)))
        narrow = [_splat(builder, builder.trunc(x, ir.IntType(32)), vector) for x in (low, high)]
        inside = builder.and_(
            builder.icmp_signed(">=", number, narrow[0]), builder.icmp_signed("<=", number, narrow[1])
        )
        return builder.select(inside, a, ir.Constant(a.type, [0] * LANES))

    return v(v, types.intp, types.intp), emit


@intrinsic
def equal_bits(typing, v, w):

    def emit(context, builder, signature, arguments):
        return builder.bitcast(builder.icmp_unsigned("==", *arguments), ir.IntType(32))

    return types.uint32(v, w), emit


@intrinsic
def add_difference(typing, sums, v, w):

    def emit(context, builder, signature, arguments):
        total, a, b = arguments
        wide = total.type
        difference = builder.sub(builder.zext(a, wide), builder.zext(b, wide))
        absolute = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(wide, [wide, ir.IntType(1)]),
            f"llvm.abs.v{LANES}i32",
        )
        return builder.add(total, builder.call(absolute, [difference, ir.IntType(1)(0)]))

    return sums(sums, v, w), emit


@intrinsic
def zero_sums(typing):
    lanes = LanesType(types.int32)

    def emit(context, builder, signature, arguments):
        return ir.Constant(lanes.vector, [0] * LANES)

    return lanes(), emit


@intrinsic
def total(typing, sums):

    def emit(context, builder, signature, arguments):
        reduce = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.IntType(32), [arguments[0].type]),
            f"llvm.vector.reduce.add.v{LANES}i32",
        )
        return builder.call(reduce, [arguments[0]])

    return types.int32(sums), emit
