"""numba.cuda as kernels name it: the simulator's, or one that is imported only to compile a kernel."""

from importlib import import_module

from ..errors import CUDA_EXTRA, installed
from .piece import SIMULATED


class Module:
    """numba.cuda, as kernels name it; imported once one is compiled."""

    __name__ = "numba.cuda"  # so that a fingerprint, which asks for it, imports nothing

    def __getattr__(self, name):
        return getattr(import_module("numba.cuda"), name)


if SIMULATED:
    with installed("numba-cuda", CUDA_EXTRA):
        from numba import cuda
else:
    cuda = Module()
