"""A test whether kernels.py can launch kernels: whether numba's convention is as expected on this driver.

If it differs, a kernel reads memory that it must not, and its process can no longer use the GPU.  So before a
kernel is kept, a separate process launches one that takes every kind of argument.
"""

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import cuda_driver, object_cache
from .cuda import cuda, kernel
from .kernels import kinds_of, spread
from .native import Code
from .probe import ask

_N_BLOCKS, _N_THREADS = 3, 64


class ProbeTuple(NamedTuple):
    """A named tuple as an argument; ``table`` int32[2, 5]."""

    table: Any
    factor: Any
    pair: tuple


@kernel
def read_all(out, group, wide, small, marks, nothing, half):
    """Take every kind of argument; each thread writes what it received to ``out`` (float64[threads, 12])."""
    shared = cuda.shared.array(0, np.uint32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = t * small[1]
    cuda.syncthreads()
    total = 0.0
    for r in range(group.table.shape[0]):
        for c in range(group.table.shape[1]):
            total += group.table[r, c] * (10 * r + c + 1)
    out[i, 0] = total
    out[i, 1] = group.factor
    out[i, 2] = group.pair[0][t % group.pair[0].size]
    out[i, 3] = group.pair[1]
    out[i, 4] = wide[0] >> 20
    out[i, 5] = wide[1] >> np.uint64(40)
    out[i, 6] = small[0]
    out[i, 7] = small[2]
    out[i, 8] = 2 if marks[0] else (1 if marks[1] else 0)
    out[i, 9] = shared[cuda.blockDim.x - 1 - t]
    out[i, 10] = nothing.size + out.shape[0] + out.strides[0]
    out[i, 11] = half + cuda.gridDim.x


def arguments(take: Callable[[np.ndarray], Any]) -> tuple:
    """Return the arguments for the launch; ``take`` copies an array to where it is used."""
    table = take(np.arange(-3, 7, dtype=np.int32).reshape(2, 5))
    line = take(np.arange(3, 40, dtype=np.uint8))
    group = ProbeTuple(table, np.float32(0.5), (line, np.int16(-300)))
    wide = -(2**62), np.uint64(2**63 + 2**41)
    small = np.int8(-7), np.uint16(65000), np.int32(-70000)
    out = take(np.zeros((_N_BLOCKS * _N_THREADS, 12), np.float64))
    return out, group, wide, small, (False, np.bool_(True)), take(np.zeros(0, np.uint64)), 2.25


def expected() -> np.ndarray:
    """Return what ``out`` must contain afterwards."""
    out, group, wide, small, _, _, half = arguments(np.asarray)
    t = np.arange(out.shape[0]) % _N_THREADS
    weights = 10 * np.arange(2)[:, None] + np.arange(5) + 1
    out[:, 0], out[:, 1], out[:, 3] = (group.table * weights).sum(), group.factor, group.pair[1]
    out[:, 2] = group.pair[0][t % group.pair[0].size]
    out[:, 4], out[:, 5] = wide[0] >> 20, wide[1] >> np.uint64(40)
    out[:, 6], out[:, 7], out[:, 8] = small[0], small[2], 1
    out[:, 9] = (_N_THREADS - 1 - t) * int(small[1])
    out[:, 10], out[:, 11] = out.shape[0] + out.strides[0], half + _N_BLOCKS
    return out


def code_for(capability: tuple) -> Code | None:
    """Return the code of this kernel if it is kept: it came with all others, or was made before them."""
    return read_all.kept(kinds_of(arguments(np.asarray)), capability)


def holds(capability: tuple) -> bool:
    """Return whether the compiler's code can be launched on this thread's GPU."""
    try:
        code = code_for(capability) or read_all.compile(kinds_of(arguments(np.asarray)), capability)
        told = json.dumps([cuda_driver.number(), object_cache.pack(code).hex()])
        return json.loads(ask(__name__, told) or "[]") == expected().tolist()
    except Exception:  # any error: another numba-cuda or driver may lack anything
        return False


def answer() -> None:
    """Launch the code read from standard input, and print what it wrote."""
    number, packed = json.load(sys.stdin)
    cuda_driver.use(number)
    code = object_cache.unpack(bytes.fromhex(packed))
    given = arguments(_to_device)
    launch = cuda_driver.LoadedKernel(code.body, code.symbol)
    launch(_N_BLOCKS, _N_THREADS, cuda_driver.Stream(), 4 * _N_THREADS, spread(given)[1])
    cuda_driver.synchronize()
    found = np.empty(given[0].shape, given[0].dtype)
    cuda_driver.download(given[0], found)
    print(json.dumps(found.tolist()))


def _to_device(array: Any) -> cuda_driver.CudaArray:
    made = cuda_driver.empty(array.shape, array.dtype)
    if array.size:
        cuda_driver.upload(np.ascontiguousarray(array), made)
    return made
