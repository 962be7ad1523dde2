"""The compiler behind functions.py: numba's dispatchers and types, and the machine code it makes."""

from importlib import import_module

import numba
from numba import types
from numba.core.registry import cpu_target
from numba.extending import overload, typeof_impl

from . import linking
from .entry_point import entry
from .llvm import COMPILING, llvm, need_room, new_target
from .native import Code
from .piece import CHECKED, Piece

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


def machine_code(dispatcher, arguments) -> Code:
    """The Code of a dispatcher for arguments such as these."""
    need_room(COMPILING)
    signature = tuple(map(numba.typeof, arguments))
    with linking.parts():
        dispatcher.compile(signature)
    made = dispatcher.overloads[signature]
    symbol = made.fndesc.llvm_func_name
    way_in = new_target().emit_object(llvm.parse_assembly(str(entry(symbol, arguments))))
    return Code(symbol, _result(made.signature.return_type), linking.whole(made.library), way_in)


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
