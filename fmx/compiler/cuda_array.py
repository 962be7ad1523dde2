"""Arrays in a GPU's memory, as kernels and other libraries take them."""

import math

import numpy as np

from . import cuda_driver


class CudaArray:
    """An array of the device, in C order; ``dtype``, ``shape``, ``ndim``, ``size``, ``nbytes`` as of NumPy's.

    ``address`` of its first byte; ``owner`` keeps the memory.
    """

    __slots__ = ("__weakref__", "address", "dtype", "nbytes", "ndim", "owner", "shape", "size")

    def __init__(self, shape, dtype, address, owner):
        self.shape, self.dtype, self.address, self.owner = shape, np.dtype(dtype), address, owner
        self.ndim, self.size = len(shape), math.prod(shape)
        self.nbytes = self.size * self.dtype.itemsize

    def __getitem__(self, part):
        """A run of it along its first axis, over the same memory."""
        if not isinstance(part, slice):
            raise TypeError("an array of the device has no elements for the host; copy it there")
        start, stop, step = part.indices(self.shape[0])
        if step != 1:
            raise ValueError("an array of the device is cut into runs only")
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        shape = (max(stop - start, 0), *self.shape[1:])
        return CudaArray(shape, self.dtype, self.address + start * row, self.owner)

    @property
    def strides(self) -> tuple:
        """Bytes between neighbours along each axis."""
        steps: list = []
        size = self.dtype.itemsize
        for n in reversed(self.shape):
            steps.insert(0, size)
            size *= n
        return tuple(steps)

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": None,
            "version": 3,
        }  # fmt: skip


def empty(shape, dtype) -> CudaArray:
    """An array that is not initialised; ``shape`` a number or a tuple of them."""
    shape = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = cuda_driver.Memory(n_bytes) if n_bytes else None
    return CudaArray(shape, dtype, memory.handle if memory else 0, memory)


def over(array, n, dtype) -> CudaArray:
    """The memory of an array as n elements of another type."""
    return CudaArray((n,), dtype, array.address, array.owner)


def pinned(shape, dtype) -> np.ndarray:
    """An array of the host that is copied from and to the device without a detour, not initialised."""
    shape, dtype = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),), np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    return np.asarray(cuda_driver.PinnedMemory(shape, dtype, n_bytes)) if n_bytes else np.empty(shape, dtype)


def copy_in(source, target, stream=0) -> None:
    """Fill the array ``target`` with the first bytes of a contiguous one of the host."""
    cuda_driver.copy_in(target.address, source.ctypes.data, min(source.nbytes, target.nbytes), stream)


def copy_out(source, target, stream=0) -> None:
    """Fill a contiguous array of the host with the first bytes of ``source``."""
    cuda_driver.copy_out(target.ctypes.data, source.address, min(source.nbytes, target.nbytes), stream)
