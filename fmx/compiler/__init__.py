"""The doors to the compiler: what is compiled, for the CPU and for GPUs, and where machine code is kept.

What numba is told by the environment holds for all of them.
"""

import os


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


SIMULATED = _is_set("NUMBA_ENABLE_CUDASIM")  # kernels run in numba's simulator of CUDA
DISABLED = _is_set("NUMBA_DISABLE_JIT")  # plain Python, as in the CUDA simulator
CHECKED = _is_set("NUMBA_BOUNDSCHECK")  # compiled code raises IndexError for an index outside of its array
