"""Run what tests.mlir_trial --keep wrote on a GPU: whether both compilers' kernels are right, and how fast.

python -m tests.mlir_launch FILE; it needs numpy and cuda-bindings alone.  A kernel of numba-cuda takes an
array as (owner, parent, size, itemsize, address, shape, strides in bytes), one of numba-cuda-mlir as
(address, address, 0, shape, strides in elements); both take a tuple as its elements.
"""

import pickle
import statistics
import sys
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from fmx.compiler import cuda_driver
from fmx.compiler.native import number_bits, number_kind


def slots_of(compiler: str, values: list) -> array:
    """The arguments of a kernel as words."""
    slots = array("q")
    for value in values:
        if not isinstance(value, cuda_driver.CudaArray):
            slots.append(number_bits(value, number_kind(value)))
        elif compiler == "numba-cuda":
            slots.extend((0, 0, value.size, value.dtype.itemsize, value.address))
            slots.extend((*value.shape, *value.strides))
        else:
            steps = (step // value.dtype.itemsize for step in value.strides)
            slots.extend((value.address, value.address, 0, *value.shape, *steps))
    return slots


def main(path: str) -> None:
    """Print a line for each kernel and compiler."""
    print(cuda_driver.device_name())
    for name, compiler, *work in pickle.loads(Path(path).read_bytes()):
        is_right, seconds = run(compiler, *work)
        print(name, compiler, "right" if is_right else "WRONG", f"{1e6 * seconds:.1f} us", sep="\t")


def run(
    compiler: str,
    symbol: str,
    body: bytes,
    values: list,
    blocks: int,
    threads: int,
    shared: int,
    expected: list,
) -> tuple[bool, float]:
    """Whether a kernel writes into its last arguments what is expected, and its median seconds."""
    there = [_upload(value) for value in values]
    code, slots = cuda_driver.LoadedKernel(body, symbol), slots_of(compiler, there)

    def once() -> float:
        start = cuda_driver.Event()
        code(blocks, threads, 0, shared, slots)
        stop = cuda_driver.Event()
        cuda_driver.synchronize()
        return start.seconds_until(stop)

    once()
    found = [np.empty(array.shape, array.dtype) for array in there[-len(expected) :]]
    for target, source in zip(found, there[-len(expected) :], strict=True):
        cuda_driver.copy_out(target.ctypes.data, source.address, target.nbytes)
    is_right = all(map(np.array_equal, found, expected))
    return is_right, statistics.median(once() for _ in range(50))


def _upload(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    value = np.ascontiguousarray(value)
    there = cuda_driver.empty(value.shape, value.dtype)
    cuda_driver.copy_in(there.address, value.ctypes.data, value.nbytes)
    return there


if __name__ == "__main__":
    main(sys.argv[1])
