"""The compiler: compiled functions for the CPU and for GPUs, and their machine code on disk.

The settings of numba in the environment apply to all modules.
"""

import os


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


SIMULATED = _is_set("NUMBA_ENABLE_CUDASIM")  # kernels run in numba's simulator of CUDA
DISABLED = _is_set("NUMBA_DISABLE_JIT")  # plain Python, as in the CUDA simulator
CHECKED = _is_set("NUMBA_BOUNDSCHECK")  # compiled code raises IndexError for an index outside its array
LANES = 32  # of a vector (simd.py)
