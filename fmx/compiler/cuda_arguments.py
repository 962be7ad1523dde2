"""Arguments of a kernel as 64-bit words, by numba's convention (kernels.py)."""

from array import array

from .cuda_array import CudaArray
from .native import number_bits, number_kind


def spread(arguments) -> tuple:
    """(kinds of the arguments, a tuple; their slots, 64-bit words)."""
    kinds: list = []
    slots = array("q")
    _spread(arguments, kinds, slots)
    return tuple(kinds), slots


def _spread(values, kinds, slots) -> None:
    for value in values:
        if isinstance(value, CudaArray):
            kinds += value.dtype, value.ndim
            slots.extend((0, 0, value.size, value.dtype.itemsize, value.address))
            slots.extend((*value.shape, *value.strides))
        elif isinstance(value, tuple):
            kinds += type(value), len(value)
            _spread(value, kinds, slots)
        else:
            kind = number_kind(value)
            kinds.append(kind)
            slots.append(number_bits(value, kind))
