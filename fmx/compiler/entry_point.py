"""The way into a compiled function: from an array of 64-bit slots to what numba's convention passes.

Numba passes a number as itself, a tuple as its elements, and an array as (owner, parent, size, itemsize,
data, shape, strides).  Before them come a pointer to where the result goes and one to where an exception
would; the function returns 0, or -2 for None.  A slot holds a number or the address of an array object,
whose fields the machine reads faster than Python does.
"""

import numpy as np
from llvmlite import ir

from .native import ENTRY

_BYTES, _WORD, _STATUS = ir.IntType(8).as_pointer(), ir.IntType(64), ir.IntType(32)
_WORDS, _NOTHING = _WORD.as_pointer(), ir.Constant(_BYTES, None)
# What follows the head of numpy's PyArrayObject (ndarraytypes.h), in words: data, nd, dimensions, strides.
_HEAD, _DATA, _SHAPE, _STRIDES = object.__basicsize__ // 8, 0, 2, 3


def entry(symbol, arguments) -> ir.Module:
    """``int32 fmx_entry(result, slots)``, which calls the function ``symbol`` for arguments such as these."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(_STATUS, [_BYTES, _WORDS]), ENTRY)
    builder = ir.IRBuilder(function.append_basic_block())
    result, slots = function.args
    passed = [result, builder.bitcast(builder.alloca(_BYTES), _BYTES)]
    for i, value in enumerate(_leaves(arguments)):
        slot = _word(builder, slots, i)
        passed += (
            _array(builder, slot, value) if isinstance(value, np.ndarray) else [_number(builder, slot, value)]
        )
    callee = ir.Function(module, ir.FunctionType(_STATUS, [value.type for value in passed]), symbol)
    builder.ret(builder.call(callee, passed))
    return module


def _leaves(values):
    """What has a slot, in the order of slots."""
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


def _word(builder, words, i):
    return builder.load(builder.gep(words, [ir.Constant(_WORD, i)]), typ=_WORD)


def _array(builder, slot, array):
    fields = builder.inttoptr(slot, _WORDS)
    data, shape, strides = (_word(builder, fields, _HEAD + field) for field in (_DATA, _SHAPE, _STRIDES))
    lengths = [_word(builder, builder.inttoptr(shape, _WORDS), i) for i in range(array.ndim)]
    steps = [_word(builder, builder.inttoptr(strides, _WORDS), i) for i in range(array.ndim)]
    size = ir.Constant(_WORD, 1)
    for length in lengths:
        size = builder.mul(size, length)
    itemsize = ir.Constant(_WORD, array.itemsize)
    return [_NOTHING, _NOTHING, size, itemsize, builder.inttoptr(data, _BYTES), *lengths, *steps]


def _number(builder, slot, value):
    if value is None:
        return _NOTHING
    kind = np.dtype(type(value)) if isinstance(value, bool | float) else np.asarray(value).dtype
    bits = builder.trunc(slot, ir.IntType(8 * kind.itemsize)) if kind.itemsize < 8 else slot
    if kind.kind == "f":
        return builder.bitcast(bits, ir.DoubleType() if kind.itemsize == 8 else ir.FloatType())
    return bits
