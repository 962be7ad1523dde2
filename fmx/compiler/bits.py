"""Where the set bits of a word begin and end, on the CPU and in kernels."""

import numpy as np

from .functions import primitive


@primitive
def leading_zeros(x):
    """Number of zeros above the highest set bit of a uint64, as int64; 64 if there is none."""
    return np.int64(64 - int(x).bit_length())


@primitive
def trailing_zeros(x):
    """Number of zeros below the lowest set bit of a uint64, as int64; 64 if there is none."""
    return np.int64((int(x) & -int(x)).bit_length() - 1 if x else 64)
