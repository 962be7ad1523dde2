"""The door to cuda.compute (package cuda-cccl): NVIDIA's radix sort, compiled for the GPU at its first call."""

import numpy as np

from .errors import DeviceError
from .jit_warp import SIMULATED


def sort_pairs(keys, values, spare_keys, spare_values, n_bits):
    """Sort pairs by the lowest ``n_bits`` of their keys: (keys, values), in these arrays or in the spare ones.

    ``keys`` uint64[n], ``values`` uint32[n] and two more such arrays, all on the device; equal keys keep their
    order.  NumPy sorts in the CUDA simulator.  Raises DeviceError where the package is missing.
    """
    if SIMULATED:
        order = np.argsort(keys & np.uint64((1 << n_bits) - 1), kind="stable")
        spare_keys[:], spare_values[:] = keys[order], values[order]
        return spare_keys, spare_values
    try:
        from cuda.compute import DoubleBuffer, SortOrder, radix_sort
    except ImportError as error:
        raise DeviceError(
            f"no radix sort for GPUs ({error}); install it: pip install 'fmx-mapper[cuda]', or take --engine cpu"
        ) from error
    both_keys, both_values = DoubleBuffer(keys, spare_keys), DoubleBuffer(values, spare_values)
    radix_sort(
        d_in_keys=both_keys, d_out_keys=None, d_in_values=both_values, d_out_values=None,
        num_items=keys.size, order=SortOrder.ASCENDING, begin_bit=0, end_bit=n_bits,
    )  # fmt: skip
    return both_keys.current(), both_values.current()
