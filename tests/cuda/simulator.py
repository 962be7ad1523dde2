"""The CUDA simulator, in which a kernel's threads are Python threads."""

import os
import sys


def start() -> None:
    """Let kernels run in the simulator; to be called before fmx is imported."""
    os.environ.update(NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1")
    sys.setswitchinterval(1e-5)
    import numpy as np

    np.seterr(over="ignore")  # words wrap, as in compiled code
