"""The primitives of functions.py and bits.py as instructions, for the CPU and in kernels."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.cpu import CPUContext
from numba.extending import intrinsic

_WORD, _NUMBER, _BYTES = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
_NO = ir.Constant(ir.IntType(1), 0)


@intrinsic
def popcount(typing, x):
    def emit(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), emit


@intrinsic
def leading_zeros(typing, x):
    def emit(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], _NO)

    return types.int64(types.uint64), emit


@intrinsic
def trailing_zeros(typing, x):
    def emit(context, builder, signature, arguments):
        return builder.cttz(arguments[0], _NO)

    return types.int64(types.uint64), emit


def _emit_bits_from(bits, register):
    """A GPU's shift gives 0 for ``bits`` or more, LLVM's has no value there."""

    def emit(context, builder, signature, arguments):
        word = ir.IntType(bits)
        ones, zero = ir.Constant(word, -1), ir.Constant(_NUMBER, 0)
        above = builder.icmp_signed(">", arguments[0], zero)
        shift = builder.select(above, arguments[0], zero)
        if isinstance(context, CPUContext):
            within = builder.and_(shift, ir.Constant(_NUMBER, bits - 1))
            part = builder.shl(ones, builder.zext(within, word) if bits > 32 else within)
            beyond = builder.icmp_signed(">=", shift, ir.Constant(_NUMBER, bits))
            return builder.select(beyond, ir.Constant(word, 0), part)
        kind, constraint = ir.FunctionType(word, [word, _NUMBER]), f"={register},{register},r"
        return builder.asm(kind, f"shl.b{bits} $0, $1, $2;", constraint, [ones, shift], False)

    return emit


@intrinsic
def bits_from(typing, n):
    return types.uint64(types.int32), _emit_bits_from(64, "l")


@intrinsic
def bits_from32(typing, n):
    return types.uint32(types.int32), _emit_bits_from(32, "r")


def _pointer(context, builder, array_type, array, i):
    view = cgutils.create_struct_proxy(array_type)(context, builder, array)
    return builder.bitcast(builder.gep(view.data, [i]), _BYTES)


@intrinsic
def prefetch(typing, array, i):
    def emit(context, builder, signature, arguments):
        if not isinstance(context, CPUContext):
            return context.get_dummy_value()
        address = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [_BYTES, _NUMBER, _NUMBER, _NUMBER]),
            "llvm.prefetch.p0",
        )
        builder.call(function, [address, _NUMBER(0), _NUMBER(3), _NUMBER(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@intrinsic
def trap(typing):
    def emit(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.trap"), [])
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def copy_bytes(typing, target, i, source, j, n):
    def emit(context, builder, signature, arguments):
        to = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        start = _pointer(context, builder, signature.args[2], arguments[2], arguments[3])
        cgutils.raw_memcpy(builder, to, start, arguments[4], ir.Constant(_WORD, 1), align=1)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp, types.intp), emit


@intrinsic
def find_byte(typing, data, byte, start, stop):
    def emit(context, builder, signature, arguments):
        base = _pointer(context, builder, signature.args[0], arguments[0], ir.Constant(_WORD, 0))
        begin = builder.gep(base, [arguments[2]])
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_BYTES, [_BYTES, _NUMBER, _WORD]), "memchr"
        )
        wanted = builder.zext(arguments[1], _NUMBER)
        found = builder.call(function, [begin, wanted, builder.sub(arguments[3], arguments[2])])
        offset = builder.sub(builder.ptrtoint(found, _WORD), builder.ptrtoint(base, _WORD))
        missing = builder.icmp_unsigned("==", builder.ptrtoint(found, _WORD), ir.Constant(_WORD, 0))
        return builder.select(missing, ir.Constant(_WORD, -1), offset)

    return types.intp(data, types.uint8, types.intp, types.intp), emit


@intrinsic
def load_big_endian(typing, data, i):
    def emit(context, builder, signature, arguments):
        address = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        loaded = builder.load(builder.bitcast(address, _WORD.as_pointer()), align=1, typ=_WORD)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_WORD, [_WORD]), "llvm.bswap.i64"
        )
        return builder.call(function, [loaded])

    return types.uint64(data, types.intp), emit
