"""LLVM instructions of the primitives in primitives.py, warp.py and simd.py: same names, parameters."""

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.cpu import CPUContext
from numba.extending import intrinsic, models, register_model
from numba.types import int32, int64, intp, uint8, uint32, uint64, void

from . import LANES

_WORD, _NUMBER, _BYTES = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
_BIT, _NOTHING = ir.IntType(1), ir.VoidType()
_PAIR = ir.VectorType(_WORD, 2)
_ONES = 0x0101010101010101


def _instruction(signature, emit=None, touches=None):
    """Make a piece of compiled code, for the CPU and in kernels, from ``emit(builder, *values)``.

    ``signature``: numba's, or a function that returns it for the types of the arguments.  For an array,
    ``emit`` gets the pointer to its elements.  Its return value is the result, None for no result.
    ``touches(builder, *values)``: the elements that it reads or writes, as (number of the array argument,
    first element, how many).  Without ``emit``: a decorator of it.
    """
    if emit is None:
        return functools.partial(_instruction, signature, touches=touches)

    @functools.wraps(emit)  # keeps the names of its arguments
    def definition(typing, *kinds):
        def generate(context, builder, signature, arguments):
            views = [
                cgutils.create_struct_proxy(kind)(context, builder, value)
                if isinstance(kind, types.Array)
                else None
                for kind, value in zip(signature.args, arguments, strict=True)
            ]
            values = [view.data if view else x for view, x in zip(views, arguments, strict=True)]
            if touches and isinstance(context, CPUContext) and context.enable_boundscheck:
                for number, first, n in touches(builder, *values):
                    _check_span(context, builder, views[number].nitems, first, n)
            result = emit(builder, *values)
            return context.get_dummy_value() if result is None else result

        return signature(*kinds) if callable(signature) else signature, generate

    return intrinsic(definition)


def _check_span(context, builder, size, first, n):
    """Raise IndexError unless there are n elements from ``first`` on, or n is 0."""
    zero = first.type(0)
    n = first.type(n) if isinstance(n, int) else n
    outside = builder.or_(
        builder.icmp_signed("<", first, zero), builder.icmp_unsigned(">", builder.add(first, n), size)
    )
    with cgutils.if_unlikely(builder, builder.and_(builder.icmp_signed("!=", n, zero), outside)):
        context.call_conv.return_user_exc(builder, IndexError, ("a span is out of bounds",))


def _call(builder, name, result, *arguments):
    """Call a function of LLVM or of libc, by its name and the type of its result."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _on_gpu(builder):
    return builder.module.triple.startswith("nvptx")


popcount = _instruction(int64(uint64), lambda builder, x: builder.ctpop(x))
leading_zeros = _instruction(int64(uint64), lambda builder, x: builder.ctlz(x, _BIT(0)))
trailing_zeros = _instruction(int64(uint64), lambda builder, x: builder.cttz(x, _BIT(0)))
swap_bytes = _instruction(uint64(uint64), lambda builder, x: builder.bswap(x))


def _bits_from(builder, n, bits, register):
    """Return a word with all bits from n on set, by a shift: only a GPU's gives 0 for n >= ``bits``."""
    word = ir.IntType(bits)
    shift = builder.select(builder.icmp_signed(">", n, _NUMBER(0)), n, _NUMBER(0))
    if _on_gpu(builder):
        kind, constraint = ir.FunctionType(word, [word, _NUMBER]), f"={register},{register},r"
        return builder.asm(kind, f"shl.b{bits} $0, $1, $2;", constraint, [word(-1), shift], False)
    within = builder.and_(shift, _NUMBER(bits - 1))
    part = builder.shl(word(-1), builder.zext(within, word) if bits > 32 else within)
    return builder.select(builder.icmp_signed(">=", shift, _NUMBER(bits)), word(0), part)


bits_from = _instruction(uint64(int32), lambda builder, n: _bits_from(builder, n, 64, "l"))
bits_from32 = _instruction(uint32(int32), lambda builder, n: _bits_from(builder, n, 32, "r"))


def _address(builder, data, i):
    return builder.bitcast(builder.gep(data, [i]), _BYTES)


@_instruction(lambda array, i: void(array, intp))
def prefetch(builder, array, i):
    if not _on_gpu(builder):
        how = _NUMBER(0), _NUMBER(3), _NUMBER(1)  # to read, into every cache, data
        _call(builder, "llvm.prefetch.p0", _NOTHING, _address(builder, array, i), *how)


@_instruction(
    lambda target, i, source, j, n: void(target, intp, source, intp, intp),
    touches=lambda builder, target, i, source, j, n: [(0, i, n), (2, j, n)],
)
def copy_bytes(builder, target, i, source, j, n):
    to, start = _address(builder, target, i), _address(builder, source, j)
    cgutils.raw_memcpy(builder, to, start, n, _WORD(1), align=1)


def _load_aligned(builder, address):
    """Load the word at an address, a multiple of 8, on a GPU."""
    return builder.load(builder.inttoptr(address, _WORD.as_pointer()), align=8, typ=_WORD)


def _find_by_words(builder, data, byte, start, stop):
    """Find a byte on a GPU, which has no libc: eight at a time, those before ``start`` made to differ."""
    found, begin = cgutils.alloca_once_value(builder, stop), builder.ptrtoint(data, _WORD)
    skipped = builder.and_(builder.add(begin, start), _WORD(7))
    first = builder.sub(start, skipped)
    before = builder.sub(builder.shl(_WORD(1), builder.shl(skipped, _WORD(3))), _WORD(1))
    sought = builder.mul(builder.zext(byte, _WORD), _WORD(_ONES))
    n_words = builder.ashr(builder.add(builder.sub(stop, first), _WORD(7)), _WORD(3))
    with cgutils.for_range(builder, n_words) as loop:
        at = builder.add(first, builder.shl(loop.index, _WORD(3)))
        x = builder.xor(_load_aligned(builder, builder.add(begin, at)), sought)
        is_first = builder.icmp_unsigned("==", loop.index, _WORD(0))
        x = builder.or_(x, builder.select(is_first, before, _WORD(0)))
        zeros = builder.and_(builder.and_(builder.sub(x, _WORD(_ONES)), builder.not_(x)), _WORD(128 * _ONES))
        with builder.if_then(builder.icmp_unsigned("!=", zeros, _WORD(0))):
            place = builder.lshr(builder.cttz(zeros, _BIT(0)), _WORD(3))
            builder.store(builder.add(at, place), found)
            loop.do_break()
    place = builder.load(found)
    return builder.select(builder.icmp_signed("<", place, stop), place, _WORD(-1))


@_instruction(
    lambda data, byte, start, stop: intp(data, uint8, intp, intp),
    touches=lambda builder, data, byte, start, stop: [(0, start, builder.sub(stop, start))],
)
def find_byte(builder, data, byte, start, stop):
    if _on_gpu(builder):
        return _find_by_words(builder, data, byte, start, stop)
    length = builder.sub(stop, start)
    found = _call(builder, "memchr", _BYTES, builder.gep(data, [start]), builder.zext(byte, _NUMBER), length)
    place = builder.ptrtoint(found, _WORD)
    offset = builder.sub(place, builder.ptrtoint(data, _WORD))
    return builder.select(builder.icmp_unsigned("==", place, _WORD(0)), _WORD(-1), offset)


def _load_word(builder, data, i):
    """Load eight bytes from anywhere; a GPU loads the one or two aligned words that they are in."""
    if not _on_gpu(builder):
        address = builder.bitcast(builder.gep(data, [i]), _WORD.as_pointer())
        return builder.load(address, align=1, typ=_WORD)
    address = builder.ptrtoint(builder.gep(data, [i]), _WORD)
    low, high = builder.and_(address, _WORD(-8)), builder.and_(builder.add(address, _WORD(7)), _WORD(-8))
    shift = builder.shl(builder.and_(address, _WORD(7)), _WORD(3))
    return _call(builder, "llvm.fshr.i64", _WORD, *(_load_aligned(builder, x) for x in (high, low)), shift)


def _of_array(result, n):
    """Return a decorator of ``emit`` that reads n elements of an array from an index on."""
    return _instruction(lambda data, i: result(data, intp), touches=lambda builder, data, i: [(0, i, n)])


load_little_endian = _of_array(uint64, 8)(lambda builder, data, i: _load_word(builder, data, i))
load_big_endian = _of_array(uint64, 8)(lambda builder, data, i: builder.bswap(_load_word(builder, data, i)))


@_of_array(uint64, 32)
def load_two_bits(builder, data, i):
    """Use four words side by side, the last bytes first: a CPU vector, or registers of a GPU thread."""
    letters, words, parts = (ir.VectorType(ir.IntType(n), k) for n, k in ((8, 32), (64, 4), (16, 4)))

    def every(word):
        return ir.Constant(words, [word] * 4)

    if _on_gpu(builder):
        x = ir.Constant(words, ir.Undefined)
        for number in range(4):
            word = builder.bswap(_load_word(builder, data, builder.add(i, _WORD(24 - 8 * number))))
            x = builder.insert_element(x, word, _NUMBER(number))
    else:
        address = builder.bitcast(builder.gep(data, [i]), letters.as_pointer())
        backwards = ir.Constant(ir.VectorType(_NUMBER, 32), list(reversed(range(32))))
        x = builder.load(address, align=1, typ=letters)
        x = builder.bitcast(builder.shuffle_vector(x, ir.Constant(letters, ir.Undefined), backwards), words)
    x = builder.and_(builder.lshr(x, every(1)), every(0x0303030303030303))
    for shift, mask in ((6, 0x000F000F000F000F), (12, 0x000000FF000000FF), (24, 0xFFFF)):
        x = builder.and_(builder.or_(x, builder.lshr(x, every(shift))), every(mask))
    return builder.bitcast(builder.trunc(x, parts), _WORD)


def _pair_at(builder, words, i):
    """Return the address of words[i] and words[i + 1]."""
    first = builder.gep(words, [i])
    return builder.bitcast(first, _PAIR.as_pointer(first.type.addrspace))


def _tuple_of(builder, words):
    """Return a tuple of two words, as compiled code represents it."""
    made = ir.Constant(ir.ArrayType(_WORD, 2), ir.Undefined)
    for number, word in enumerate(words):
        made = builder.insert_value(made, word, number)
    return made


@_of_array(types.UniTuple(uint64, 2), 2)
def load_unit(builder, words, i):
    loaded = builder.load(_pair_at(builder, words, i), align=16)
    return _tuple_of(builder, [builder.extract_element(loaded, _NUMBER(h)) for h in range(2)])


@_instruction(int32(*5 * (int64,)))
def call_c(builder, address, a, b, c, d):
    kind = ir.FunctionType(_NUMBER, [_WORD] * 4)
    return builder.call(builder.inttoptr(address, kind.as_pointer()), [a, b, c, d])


@_instruction(lambda array, i: int64(array, intp))
def address_of(builder, array, i):
    return builder.ptrtoint(builder.gep(array, [i]), _WORD)


# Only for kernels (warp.py): 16 bytes at a time, and packed 16-bit arithmetic.


@_instruction(lambda words, i, a, b: void(words, intp, uint64, uint64))
def store_unit(builder, words, i, a, b):
    pair = builder.insert_element(ir.Constant(_PAIR, ir.Undefined), a, _NUMBER(0))
    builder.store(builder.insert_element(pair, b, _NUMBER(1)), _pair_at(builder, words, i), align=16)


@_of_array(types.UniTuple(uint64, 2), 2)
def load_unit_narrow(builder, words, i):
    first = builder.bitcast(builder.gep(words, [i]), _NUMBER.as_pointer())
    quarters = [builder.load(builder.gep(first, [_NUMBER(p)]), align=4) for p in range(4)]
    wide = [builder.zext(quarter, _WORD) for quarter in quarters]
    high = [builder.shl(upper, _WORD(32)) for upper in wide[1::2]]
    return _tuple_of(builder, [builder.or_(low, up) for low, up in zip(wide[::2], high, strict=True)])


def _assembly(builder, text, *words):
    """Emit PTX that takes words (uint32) and returns one."""
    constraint = ",".join(["=r"] + ["r"] * len(words))
    return builder.asm(ir.FunctionType(_NUMBER, [_NUMBER] * len(words)), text, constraint, words, False)


_TWO, _THREE = uint32(uint32, uint32), uint32(uint32, uint32, uint32)
_ADD_MAX = "{ .reg .b32 t; add.u16x2 t, $1, $2; max.u16x2 $0, t, $3; }"  # VIADDMNMX from sm_90 on
_PERMUTE = "prmt.b32 $0, $1, $2, $3;"
max_u16x2 = _instruction(_TWO, lambda builder, x, y: _assembly(builder, "max.u16x2 $0, $1, $2;", x, y))
add_max_u16x2 = _instruction(_THREE, lambda builder, x, y, z: _assembly(builder, _ADD_MAX, x, y, z))
permute_bytes = _instruction(_THREE, lambda builder, x, y, z: _assembly(builder, _PERMUTE, x, y, z))


# Vectors (simd.py).


class _LanesType(types.Type):
    """Numba's type of 32 lanes of uint8 or int32."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(f"Lanes({dtype})")


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _vector(ir.IntType(lanes.dtype.bitwidth)))


_SUMS = _LanesType(int32)


def _vector(element):
    return ir.VectorType(element, LANES)


def _every(element, number):
    return ir.Constant(_vector(element), [number] * LANES)


def _lanes_at(builder, array, i):
    return builder.bitcast(builder.gep(array, [i]), _vector(array.type.pointee).as_pointer())


def _splat(builder, scalar):
    """Return a vector with ``scalar`` in every lane."""
    nothing = ir.Constant(_vector(scalar.type), ir.Undefined)
    start = builder.insert_element(nothing, scalar, _NUMBER(0))
    return builder.shuffle_vector(start, nothing, _every(_NUMBER, 0))


def _numbers(builder, n):
    """Return a vector with the low bits of n, a word, in every int32 lane."""
    return _splat(builder, builder.trunc(n, _NUMBER))


def _touches(builder, array, i, v=None):
    return [(0, i, LANES)]


@_instruction(lambda array, i: _LanesType(array.dtype)(array, intp), touches=_touches)
def load(builder, array, i):
    return builder.load(_lanes_at(builder, array, i), align=array.type.pointee.width // 8)


@_instruction(lambda array, i, v: void(array, intp, v), touches=_touches)
def store(builder, array, i, v):
    builder.store(v, _lanes_at(builder, array, i), align=array.type.pointee.width // 8)


@_instruction(lambda array, x: _LanesType(array.dtype)(array, intp))
def fill(builder, array, x):
    element = array.type.pointee
    return _splat(builder, builder.trunc(x, element) if x.type.width > element.width else x)


def _larger(builder, v, w, order=">"):
    compare = builder.icmp_unsigned if v.type.element.width == 8 else builder.icmp_signed
    return builder.select(compare(order, v, w), v, w)


_lane_by_lane = _instruction(lambda v, w: v(v, w))
maximum = _lane_by_lane(lambda builder, v, w: _larger(builder, v, w))
minimum = _lane_by_lane(lambda builder, v, w: _larger(builder, v, w, "<"))
plus = _lane_by_lane(lambda builder, v, w: builder.add(v, w))
minus = _lane_by_lane(lambda builder, v, w: builder.sub(v, w))
differ = _lane_by_lane(lambda builder, v, w: builder.xor(v, w))
common = _lane_by_lane(lambda builder, v, w: builder.and_(v, w))
zero_sums = _instruction(_SUMS(), lambda builder: _every(_NUMBER, 0))
signs = _instruction(lambda v: v(v), lambda builder, v: builder.ashr(v, _every(_NUMBER, 31)))


@_instruction(lambda v, n: v(v, intp))
def shifted(builder, v, n):
    return builder.shl(v, _numbers(builder, n))


@_instruction(lambda v, n: v(v, intp))
def rotate(builder, v, n):
    return _call(builder, f"llvm.fshl.v{LANES}i32", v.type, v, v, _numbers(builder, n))


@_instruction(_SUMS(uint64))
def codes(builder, x):
    by = ir.Constant(_vector(x.type), [62 - 2 * lane for lane in range(LANES)])
    symbols = builder.and_(builder.lshr(_splat(builder, x), by), _every(x.type, 3))
    return builder.trunc(symbols, _vector(_NUMBER))


@_instruction(lambda v, w, x, y: x(v, w, x, y))
def choose(builder, v, w, x, y):
    return builder.select(builder.icmp_unsigned("==", v, w), x, y)


@_instruction(lambda v, first, last: v(v, intp, intp))
def within(builder, v, first, last):
    lane = ir.Constant(_vector(_NUMBER), list(range(LANES)))
    low = builder.icmp_signed(">=", lane, _numbers(builder, first))
    high = builder.icmp_signed("<=", lane, _numbers(builder, last))
    return builder.select(builder.and_(low, high), v, _every(v.type.element, 0))


@_instruction(lambda v, w: uint32(v, w))
def equal_bits(builder, v, w):
    return builder.bitcast(builder.icmp_unsigned("==", v, w), _NUMBER)


@_instruction(lambda sums, v, w: sums(sums, v, w))
def add_difference(builder, sums, v, w):
    difference = builder.sub(builder.zext(v, sums.type), builder.zext(w, sums.type))
    absolute = _call(builder, f"llvm.abs.v{LANES}i32", sums.type, difference, _BIT(0))
    return builder.add(sums, absolute)


@_instruction(int32(_SUMS))
def total(builder, sums):
    return _call(builder, f"llvm.vector.reduce.add.v{LANES}i32", _NUMBER, sums)
