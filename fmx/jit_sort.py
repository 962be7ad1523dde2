"""The door to cuda.compute (package cuda-cccl): NVIDIA's radix sort, compiled at its first call."""

import numpy as np

from .errors import DeviceError
from .jit_warp import SIMULATED


class _Shown:
    """What cuda.compute sees of an array: it keeps what it was given last, and must not keep the memory."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def sort_pairs(keys, values, spare_keys, spare_values, n_bits):
    """Pairs sorted by the lowest ``n_bits`` of their keys: (keys, values), in these arrays or the spare ones.

    ``keys`` uint64[n], ``values`` uint32[n] and two more such arrays, all on the device; equal keys keep
    their order.  NumPy sorts in the CUDA simulator.  Raises DeviceError where the package is missing.
    """
    if SIMULATED:
        order = np.argsort(keys & np.uint64((1 << n_bits) - 1), kind="stable")
        spare_keys[:], spare_values[:] = keys[order], values[order]
        return spare_keys, spare_values
    try:
        from cuda.compute import DoubleBuffer, SortOrder, radix_sort
    except ImportError as error:
        raise DeviceError(
            f"no radix sort for GPUs ({error}); install it: pip install 'fmx-mapper[cuda]', or take "
            "--engine cpu"
        ) from error
    both_keys = DoubleBuffer(_Shown(keys), _Shown(spare_keys))
    both_values = DoubleBuffer(_Shown(values), _Shown(spare_values))
    radix_sort(
        d_in_keys=both_keys, d_out_keys=None, d_in_values=both_values, d_out_values=None,
        num_items=keys.size, order=SortOrder.ASCENDING, begin_bit=0, end_bit=n_bits,
    )  # fmt: skip
    return (spare_keys, spare_values) if both_keys.selector else (keys, values)
