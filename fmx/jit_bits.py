"""Where the set bits of a word begin and end, on the CPU and in kernels."""

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .jit import inlined


@intrinsic
def _leading_zeros64(typing, x):
    def emit(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), emit


@intrinsic
def _trailing_zeros64(typing, x):
    def emit(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), emit


@inlined
def leading_zeros(x):
    """Number of zeros above the highest set bit of a uint64, as int64; 64 if there is none."""
    return np.int64(_leading_zeros64(np.uint64(x)))


@inlined
def trailing_zeros(x):
    """Number of zeros below the lowest set bit of a uint64, as int64; 64 if there is none."""
    return np.int64(_trailing_zeros64(np.uint64(x)))


if numba.config.DISABLE_JIT:  # plain Python, as in the CUDA simulator

    def leading_zeros(x):
        return np.int64(64 - int(x).bit_length())

    def trailing_zeros(x):
        return np.int64((int(x) & -int(x)).bit_length() - 1 if x else 64)
