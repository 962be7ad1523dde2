"""The way into a compiled function: from an array of 64-bit slots to what numba's convention passes.

Numba passes a number as itself, a tuple as its elements, and an array as (owner, parent, size, itemsize,
data, shape, strides).  Before them come a pointer to where the result goes and one to where an exception
would; the function returns 0, or -2 for None.  A slot holds a number or the address of an array object,
whose fields the machine reads faster than Python does.
"""

from importlib import import_module

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.registry import cpu_target
from numba.extending import overload, typeof_impl

from . import linking
from .llvm import COMPILING, llvm, need_room, new_target
from .native import ENTRY, READ_ONLY, Code
from .piece import CHECKED, Piece

_BYTES, _WORD, _STATUS = ir.IntType(8).as_pointer(), ir.IntType(64), ir.IntType(32)
_WORDS, _NOTHING = _WORD.as_pointer(), ir.Constant(_BYTES, None)
# What follows the head of numpy's PyArrayObject (ndarraytypes.h), in words: data, nd, dimensions, strides.
_HEAD, _DATA, _SHAPE, _STRIDES = object.__basicsize__ // 8, 0, 2, 3


def entry(symbol: str, kinds: tuple) -> ir.Module:
    """``int32 fmx_entry(result, slots)``, which calls ``symbol`` for arguments of some kinds."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(_STATUS, [_BYTES, _WORDS]), ENTRY)
    builder = ir.IRBuilder(function.append_basic_block())
    result, slots = function.args
    passed = [result, builder.bitcast(builder.alloca(_BYTES), _BYTES)]
    for i, leaf in enumerate(_leaves(kinds)):
        slot = _word(builder, slots, i)
        passed += _array(builder, slot, *leaf) if isinstance(leaf, tuple) else [_number(builder, slot, leaf)]
    callee = ir.Function(module, ir.FunctionType(_STATUS, [value.type for value in passed]), symbol)
    builder.ret(builder.call(callee, passed))
    return module


def _leaves(kinds):
    """What has a slot, in the order of slots: (item size, dimensions) of an array, the kind of a number."""
    parts = iter(kinds)
    for kind in parts:
        if isinstance(kind, np.dtype):
            yield kind.itemsize, next(parts)
            next(parts)  # the layout
        elif isinstance(kind, type):
            next(parts)  # how many elements
        else:
            yield kind


def _word(builder, words, i):
    return builder.load(builder.gep(words, [ir.Constant(_WORD, i)]), typ=_WORD)


def _array(builder, slot, item_size, ndim):
    fields = builder.inttoptr(slot, _WORDS)
    data, shape, strides = (_word(builder, fields, _HEAD + field) for field in (_DATA, _SHAPE, _STRIDES))
    lengths = [_word(builder, builder.inttoptr(shape, _WORDS), i) for i in range(ndim)]
    steps = [_word(builder, builder.inttoptr(strides, _WORDS), i) for i in range(ndim)]
    size = ir.Constant(_WORD, 1)
    for length in lengths:
        size = builder.mul(size, length)
    return [
        _NOTHING,
        _NOTHING,
        size,
        ir.Constant(_WORD, item_size),
        builder.inttoptr(data, _BYTES),
        *lengths,
        *steps,
    ]


def _number(builder, slot, kind):
    if kind is None:
        return _NOTHING
    item = np.dtype(kind)
    bits = builder.trunc(slot, ir.IntType(8 * item.itemsize)) if item.itemsize < 8 else slot
    if item.kind == "f":
        return builder.bitcast(bits, ir.DoubleType() if item.itemsize == 8 else ir.FloatType())
    return bits


# The compiler behind functions.py: numba's dispatchers and types, and the machine code it makes.

# Compiled code allocates nothing (_nrt=False): otherwise each piece of a loop counts references to the arrays
# it is given, by atomic operations that cost more than the work.  Nothing needs numba's ways to be called.
_FROM_PYTHON = {"nogil": True, "error_model": "numpy", "boundscheck": CHECKED, "_nrt": False}
_OPTIONS = {**_FROM_PYTHON, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Without this, LLVM calls the pieces of a loop with every field of every array as an argument.
_INLINE = {**_OPTIONS, "forceinline": True}


@typeof_impl.register(Piece)
def _type_of_piece(piece, context):
    return piece.type_in(cpu_target.typing_context)


def dispatcher(function):
    """A function by itself."""
    return _without_literals(numba.njit(**_OPTIONS)(function))


def by_numba(function):
    """A function as numba itself calls it: a stand-in for a native.Native where that cannot be had."""
    called = numba.njit(**_FROM_PYTHON)(function)
    return lambda slots, arguments: called(*arguments)


def inlined(function):
    """A piece of others."""
    return _without_literals(numba.njit(**_INLINE)(function))


def _without_literals(made):
    """A dispatcher that is not compiled once more for each number that is written in a call.

    A variable that begins as such a number made two of every piece that it is passed to.
    """
    template, literals = made.get_call_template, (types.IntegerLiteral, types.BooleanLiteral)

    def plain(kind):
        return types.unliteral(kind) if isinstance(kind, literals) else kind

    made.get_call_template = lambda args, kws: template(
        tuple(map(plain, args)), {name: plain(kind) for name, kind in kws.items()}
    )
    return made


def intrinsic(module, name):
    """A primitive, made by a module of this room."""
    return getattr(import_module(f".{module}", __package__), name)


def choice(dispatch, bodies, default):
    """``dispatch`` with an overload by the type of its first argument."""

    @overload(dispatch, jit_options=_INLINE, strict=False)
    def choose(first, *rest):
        return bodies.get(getattr(first, "instance_class", None), default)

    return dispatch


def machine_code(dispatcher, kinds: tuple) -> Code:
    """The Code of a dispatcher for arguments of these kinds (native.spread)."""
    need_room(COMPILING)
    parts = iter(kinds)
    signature = tuple(_type(kind, parts) for kind in parts)
    with linking.parts():
        dispatcher.compile(signature)
    made = dispatcher.overloads[signature]
    symbol = made.fndesc.llvm_func_name
    way_in = new_target().emit_object(llvm.parse_assembly(str(entry(symbol, kinds))))
    return Code(symbol, _result(made.signature.return_type), linking.whole(made.library), way_in)


def _type(kind, parts):
    """Numba's type of an argument that begins with ``kind``; ``parts``: an iterator of what follows it."""
    if isinstance(kind, np.dtype):
        ndim, layout = next(parts), next(parts)
        return types.Array(numba.from_dtype(kind), ndim, layout[0], readonly=layout.endswith(READ_ONLY))
    if isinstance(kind, type):
        return types.BaseTuple.from_types([_type(next(parts), parts) for _ in range(next(parts))], kind)
    return types.none if kind is None else numba.from_dtype(np.dtype(kind))


def _result(kind):
    """What a function returns, as Code has it."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.NoneType):
        return None
    if isinstance(kind, types.BaseTuple):
        named = getattr(kind, "instance_class", None)
        name = f"{named.__module__}:{named.__qualname__}" if named else ""
        return [name, *map(_result, kind)]
    if isinstance(kind, types.Boolean):
        return "?"
    if isinstance(kind, types.Integer | types.Float):
        return f"{'f' if isinstance(kind, types.Float) else 'i' if kind.signed else 'u'}{kind.bitwidth // 8}"
    raise TypeError(f"a compiled function cannot return {kind}")
