"""The compiler used by kernels.py: numba-cuda's types and machine code.  It needs no GPU."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

from numba import types

from ..errors import CUDA_EXTRA, installed
from .native import Code
from .numba_cpu import types_of
from .piece import NumbaCuda, Piece

with installed("numba-cuda", CUDA_EXTRA):
    import numba_cuda  # noqa: F401  # the package of this name, not what numba itself once held
    from cuda.core import Linker, LinkerOptions, ObjectCode
    from numba import cuda
    from numba.cuda.core import config
    from numba.cuda.descriptor import cuda_target
    from numba.cuda.typing.typeof import typeof_impl


config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a small last batch deserves no warning


@typeof_impl.register(Piece)
def _type_of_piece(piece, context):
    return piece.type_in(cuda_target.typing_context)


@typeof_impl.register(NumbaCuda)
def _type_of_module(module, context):
    return types.Module(cuda)


def check() -> None:
    """Import what numba-cuda imports only for its first kernel.  Raises DeviceError if it cannot be used."""
    with installed("numba-cuda", CUDA_EXTRA):
        cuda_target.target_context.refresh()


def device_function(function: Callable, inline: bool) -> Any:
    """Make a function that kernels call; ``inline``: always inlined."""
    return cuda.jit(device=True, forceinline=inline)(function)


def ptx(function: Callable, kinds: tuple, capability: tuple) -> str:
    """Return the PTX of a kernel for arguments of some kinds and a compute capability, say (9, 0)."""
    device = SimpleNamespace(compute_capability=capability)
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=device):
        return cuda.compile_ptx(function, types.void(*types_of(kinds)), cc=capability)[0]


def machine_code(function: Callable, max_registers: int | None, kinds: tuple, capability: tuple) -> Code:
    """Return the Code of a kernel for a GPU: a cubin, without ENTRY."""
    text = ptx(function, kinds, capability)
    (symbol,) = re.findall(r"\.entry\s+(\w+)", text)
    options = LinkerOptions(arch="sm_{}{}".format(*capability), max_register_count=max_registers)
    made = Linker(ObjectCode.from_ptx(text.encode()), options=options).link("cubin")
    return Code(symbol, "", bytes(made.code))
