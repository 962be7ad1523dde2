"""The compiler used by functions.py: numba's dispatchers and types, CPU machine code, and its entry function.

Linking.  Numba would optimize each piece, link it into each piece that calls it, optimize these again, and
make machine code of every one, although nobody calls it: half the time that LLVM takes.  Here the pieces of a
function are linked once, and optimized once, as a whole.

The entry function.  Numba passes a number as itself, a tuple as its elements, and an array as (owner, parent,
size, itemsize, data, shape, strides).  These are preceded by pointers to the result and to an exception; the
function returns 0, or -2 for None.  Python passes an array of 64-bit slots instead: a slot holds a number or
the address of an array object, whose fields the machine reads faster than Python does.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target
from numba.extending import overload, typeof_impl
from numba.np.numpy_support import as_dtype

from ..errors import FmxError
from . import CHECKED
from .native import ENTRY, READ_ONLY, Code, Level, llvm, new_target
from .piece import Piece

if not ((0, 61) <= numba.version_info.short < (0, 69) and np.__version__.startswith("2.")):
    raise FmxError("this version of numba or NumPy is not supported: install one that fmx requires")


class _Part(JITCodeLibrary):
    """The code of a piece, or of a whole function, as numba lowers it; not compiled separately."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take a module unchanged."""
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Mark the code as finalized."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no pointer."""
        self._ensure_finalized()
        return 0


@contextmanager
def _lowering(level: Level | None) -> Iterator[None]:
    """Make numba compile to parts, for ``linked``, within the context: for a level or this processor."""
    codegen = cpu_target.target_context.codegen()
    before = codegen._tm, codegen._data_layout
    codegen._library_class, codegen.set_env = _Part, lambda name, environment: None  # not in memory
    if level:
        codegen._tm = new_target(level)
        codegen._data_layout = str(codegen._tm.target_data)
    try:
        yield
    finally:
        codegen._tm, codegen._data_layout = before
        del codegen._library_class, codegen.set_env  # the class has its own


def linked(part: _Part, entry: ir.Module) -> bytes:
    """Return the machine code, an object file, of a function and all that it calls, within ``_lowering``.

    ``entry``: its entry function.  Raises TypeError if it refers to an address of this process.
    """
    module, seen, waiting = part._final_module, {part}, [part]
    module.link_in(llvm.parse_assembly(str(entry)))
    while waiting:
        for library in waiting.pop()._linking_libraries:
            if library not in seen:
                seen.add(library)
                waiting.append(library)
                module.link_in(library._get_module_for_linking(), preserve=True)
    module.triple = part.codegen._tm.triple  # numba names that of this process
    part._optimize_functions(module)
    part._optimize_final_module()
    part._finalize_dynamic_globals()
    if part.has_dynamic_globals:
        raise TypeError(f"{part.name} refers to an address of this process")
    part._verify_declare_only_symbols()
    module.verify()
    return part.codegen._tm.emit_object(module)


_BYTES, _WORD, _STATUS = ir.IntType(8).as_pointer(), ir.IntType(64), ir.IntType(32)
_WORDS, _NOTHING = _WORD.as_pointer(), ir.Constant(_BYTES, None)
# The fields after the head of numpy's PyArrayObject (ndarraytypes.h), in words: data, nd, dimensions,
# strides.
_HEAD, _DATA, _SHAPE, _STRIDES = object.__basicsize__ // 8, 0, 2, 3


def _entry(symbol: str, kinds: tuple) -> ir.Module:
    """Make ``int32 fmx_entry(result, slots)``, which calls ``symbol`` for arguments of some kinds."""
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


def _leaves(kinds: tuple) -> Iterator:
    """Yield what has a slot, in slot order: (item size, dimensions) of an array, the kind of a number."""
    parts = iter(kinds)
    for kind in parts:
        if isinstance(kind, np.dtype):
            yield kind.itemsize, next(parts)
            next(parts)  # the layout
        elif isinstance(kind, type):
            next(parts)  # the number of elements
        else:
            yield kind


def _word(builder: ir.IRBuilder, words: ir.Value, i: int) -> ir.Value:
    return builder.load(builder.gep(words, [ir.Constant(_WORD, i)]), typ=_WORD)


def _array(builder: ir.IRBuilder, slot: ir.Value, item_size: int, ndim: int) -> list:
    fields = builder.inttoptr(slot, _WORDS)
    data, shape, strides = (_word(builder, fields, _HEAD + field) for field in (_DATA, _SHAPE, _STRIDES))
    lengths = [_word(builder, builder.inttoptr(shape, _WORDS), i) for i in range(ndim)]
    steps = [_word(builder, builder.inttoptr(strides, _WORDS), i) for i in range(ndim)]
    size = ir.Constant(_WORD, 1)
    for length in lengths:
        size = builder.mul(size, length)
    fixed = [_NOTHING, _NOTHING, size, ir.Constant(_WORD, item_size)]
    return [*fixed, builder.inttoptr(data, _BYTES), *lengths, *steps]


def _number(builder: ir.IRBuilder, slot: ir.Value, kind: Any) -> ir.Value:
    if kind is None:
        return _NOTHING
    item = np.dtype(kind)
    bits = builder.trunc(slot, ir.IntType(8 * item.itemsize)) if item.itemsize < 8 else slot
    if item.kind == "f":
        return builder.bitcast(bits, ir.DoubleType() if item.itemsize == 8 else ir.FloatType())
    return bits


# Compiled code allocates nothing (_nrt=False).  Otherwise each piece of a loop would count references to its
# arrays, with atomic operations that cost more than the work.  numba's own entry functions are not needed.
_OPTIONS = {
    "nogil": True, "error_model": "numpy", "boundscheck": CHECKED, "_nrt": False,
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip


@typeof_impl.register(Piece)
def _type_of_piece(piece, context):
    return piece.type_in(cpu_target.typing_context)


def dispatcher(function: Callable, inline: bool = False) -> Any:
    """Make the dispatcher of a function, or of a piece that is inlined into others.

    Otherwise LLVM calls the pieces of a loop with every field of every array as an argument.  The dispatcher
    is not compiled again for each literal number in a call: a variable that starts as a literal would compile
    two versions of every piece it is passed to.
    """
    how = {"forceinline": True} if inline else {}  # unset, it is that of the caller
    made = numba.njit(**_OPTIONS, **how)(function)
    template, literals = made.get_call_template, (types.IntegerLiteral, types.BooleanLiteral)

    def plain(kind):
        return types.unliteral(kind) if isinstance(kind, literals) else kind

    made.get_call_template = lambda args, kws: template(
        tuple(map(plain, args)), {name: plain(kind) for name, kind in kws.items()}
    )
    return made


def choice(dispatch: Callable, bodies: dict, default: Callable | None) -> Callable:
    """Return ``dispatch`` with an overload by the type of its first argument."""

    @overload(dispatch, jit_options={**_OPTIONS, "forceinline": True}, strict=False)
    def choose(first, *rest):
        return bodies.get(getattr(first, "instance_class", None), default)

    return dispatch


def machine_code(dispatcher: Any, kinds: tuple, level: Level | None = None) -> Code:
    """Return the Code of a dispatcher for arguments of these kinds (native.spread)."""
    signature = types_of(kinds)
    with _lowering(level):
        dispatcher.compile(signature)
        made = dispatcher.overloads[signature]
        symbol = made.fndesc.llvm_func_name
        return Code(symbol, _result(made.signature.return_type), linked(made.library, _entry(symbol, kinds)))


def types_of(kinds: tuple) -> tuple:
    """Return numba's types of arguments of these kinds."""
    parts = iter(kinds)

    def type_of(kind: Any) -> types.Type:
        if isinstance(kind, np.dtype):
            ndim, layout = next(parts), next(parts)
            return types.Array(numba.from_dtype(kind), ndim, layout[0], readonly=layout.endswith(READ_ONLY))
        if isinstance(kind, type):
            return types.BaseTuple.from_types([type_of(next(parts)) for _ in range(next(parts))], kind)
        return types.none if kind is None else numba.from_dtype(np.dtype(kind))

    return tuple(type_of(kind) for kind in parts)


def _result(kind: types.Type) -> str:
    """Return the type of a result as in Code; a NamedTuple becomes a plain tuple."""
    if isinstance(kind, types.NoneType):
        return ""
    if isinstance(kind, types.BaseTuple):
        return "".join(f"{as_dtype(types.unliteral(part)).str[1:]}," for part in kind)
    return as_dtype(types.unliteral(kind)).str[1:]
