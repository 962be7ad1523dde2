"""The door to cuda.compute (package cuda-cccl): NVIDIA's radix sort, compiled once and kept on disk."""

import contextlib
import functools

import numpy as np

from ..errors import CUDA_EXTRA, installed
from . import cuda_array, cuda_driver, object_cache
from .piece import SIMULATED


class _Shown:
    """What cuda.compute sees of an array: it keeps what it was given last, and must not keep the memory."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def sort_pairs(keys, values, spare_keys, spare_values, n_bits, empty):
    """Pairs sorted by the lowest ``n_bits`` of their keys: (keys, values), in these arrays or the spare ones.

    ``keys`` uint64[n], ``values`` uint32[n] and two more such arrays, all on the device; equal keys keep
    their order; ``empty(n, dtype)`` makes room on the device.  NumPy sorts in the CUDA simulator.
    """
    if SIMULATED:
        order = np.argsort(keys & np.uint64((1 << n_bits) - 1), kind="stable")
        spare_keys[:], spare_values[:] = keys[order], values[order]
        return spare_keys, spare_values
    compute = library()
    both_keys = compute.DoubleBuffer(_Shown(keys), _Shown(spare_keys))
    both_values = compute.DoubleBuffer(_Shown(values), _Shown(spare_values))
    arrays = {"d_in_keys": both_keys, "d_out_keys": None, "d_in_values": both_values, "d_out_values": None}
    sort = functools.partial(
        _sorter(cuda_driver.capability()),
        **arrays, num_items=keys.size, begin_bit=0, end_bit=n_bits,
    )  # fmt: skip
    sort(temp_storage=empty(max(sort(temp_storage=None), 1), np.uint8))
    return (spare_keys, spare_values) if both_keys.selector else (keys, values)


def library():
    """The package, None in the CUDA simulator; it needs a driver.  Raises DeviceError where it is missing."""
    if SIMULATED:
        return None
    with installed("cuda-cccl", CUDA_EXTRA):
        from cuda import compute

        compute.radix_sort  # noqa: B018  (it is there only where a driver is)
    return compute


@functools.cache
def _sorter(capability):
    """The compiled sort of (uint64, uint32) pairs for GPUs of a compute capability."""
    compute = library()
    name = f"radix_sort-{capability[0]}{capability[1]}-cuda{cuda_driver.toolkit()}"
    kept = object_cache.read(name)
    if kept is not None:
        with contextlib.suppress(ValueError):  # of another version of cuda-cccl
            return compute.deserialize(kept)
    keys, values = (_Shown(cuda_array.empty(1, kind)) for kind in (np.uint64, np.uint32))
    sorter = compute.make_radix_sort(
        d_in_keys=compute.DoubleBuffer(keys, keys), d_out_keys=None,
        d_in_values=compute.DoubleBuffer(values, values), d_out_values=None,
        order=compute.SortOrder.ASCENDING,
    )  # fmt: skip
    object_cache.write(name, compute.serialize(sorter))
    return sorter
