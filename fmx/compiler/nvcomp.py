"""The door to nvCOMP (nvidia-libnvcomp-cu12 or -cu13): NVIDIA's kernels that deflate, many blocks a call.

Its C functions are called by ctypes, which leaves Python's lock to others meanwhile.  They are used for what
fmx itself has made only: nvCOMP can inflate as well, but a damaged stream makes it read and write anywhere.
"""

import ctypes
import functools
import zlib
from ctypes import c_char, c_int, c_size_t, c_void_p

from ..errors import CUDA_EXTRA, DeviceError, installed
from .cuda_driver import CudaError
from .piece import SIMULATED

_ALGORITHM = 2  # of six: the fastest that makes files no larger than isal's level 1 (docs/benchmarks-gpu.md)


class _Options(ctypes.Structure):
    """nvcompBatchedDeflateCompressOpts_t."""

    _fields_ = (("algorithm", c_int), ("reserved", c_char * 60))


@functools.cache
def library():
    """nvCOMP; None in the CUDA simulator.  Raises DeviceError where it is missing."""
    if SIMULATED:
        return None
    with installed("nvidia-libnvcomp", CUDA_EXTRA):
        from nvidia.libnvcomp import load_library

        loaded = load_library()
        loaded.nvcompBatchedDeflateCompressAsync  # noqa: B018  (it is there)
    return loaded


def why_not() -> str:
    """Why it cannot be used, and what to do; nothing where it can."""
    try:
        library()
    except DeviceError as error:
        return str(error)
    return ""


def room(n_bytes) -> int:
    """Bytes of the place for the stream of a block of ``n_bytes``, a multiple of 8."""
    if SIMULATED:
        return n_bytes + n_bytes // 8 + 64
    return _ask("GetMaxOutputChunkSize", c_size_t(n_bytes), _Options(_ALGORITHM)) + 7 & ~7


def scratch(n, n_bytes) -> int:
    """Bytes of the device's memory that ``deflate`` needs besides, for n blocks of ``n_bytes`` at most."""
    if SIMULATED:
        return 0
    sizes, options = (c_size_t(n), c_size_t(n_bytes)), _Options(_ALGORITHM)
    return _ask("GetTempSize", *sizes, options, after=(c_size_t(n * n_bytes), c_void_p(0)))


def deflate(n, n_bytes, columns, room, stream) -> None:
    """Launch the making of n streams of deflate.

    ``columns``: addresses on the device of int64[n] arrays: where blocks lie (addresses), their sizes (at
    most ``n_bytes``), where their streams go (addresses), how long these are; then of int32[n], statuses, 0
    for success.  ``room``: (address, bytes) of what ``scratch`` asks for.  Raises CudaError.
    """
    if SIMULATED:
        return _stand_in(n, *columns)
    data, sizes, out, found, statuses = map(c_void_p, columns)
    status = library().nvcompBatchedDeflateCompressAsync(
        data, sizes, c_size_t(n_bytes), c_size_t(n), c_void_p(room[0]), c_size_t(room[1]),
        out, found, _Options(_ALGORITHM), statuses, c_void_p(int(stream)),
    )  # fmt: skip
    if status:
        raise CudaError(f"nvCOMP: status {status}")


def _ask(name, *before, after=()) -> int:
    """What a function of nvCOMP gives, a size, which is its argument after those ``before``."""
    found = c_size_t()
    status = getattr(library(), f"nvcompBatchedDeflateCompress{name}")(*before, ctypes.byref(found), *after)
    if status:
        raise CudaError(f"nvCOMP: status {status}")
    return found.value


def _stand_in(n, data, sizes, out, found, statuses):
    """What ``deflate`` does, by zlib, in the host's memory."""
    numbers = ctypes.c_int64 * n
    data, sizes, out, found = (numbers.from_address(column) for column in (data, sizes, out, found))
    for i in range(n):
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        stream = packer.compress(ctypes.string_at(data[i], sizes[i])) + packer.flush()
        ctypes.memmove(out[i], stream, len(stream))
        found[i] = len(stream)
    ctypes.memset(statuses, 0, 4 * n)
