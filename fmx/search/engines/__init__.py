"""How the work is spread: one file an engine, or those that share their ways.

That of the CPU has ``search(query, patterns) -> Intervals``.  Engines of GPUs are imported by name, since
that imports CUDA; each has ``prepare(query, ...)``, which gives a gpu_search.Launch for what is on the GPU.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError

if TYPE_CHECKING:
    from ..gpu.gpu_search import Launch

# Names of the GPU's engines: module, variant.
CUDA = {
    "cuda_task-naive": ("cuda_task", "naive"),
    "cuda_task-naive16": ("cuda_task", "naive16"),
    "cuda_task-improved": ("cuda_task", "improved"),
    "cuda_memory": ("cuda_groups", "memory"),
    "cuda_full": ("cuda_groups", "full"),
    **{f"cuda_full-{size}": ("cuda_groups", "full", size) for size in (2, 4, 8, 16)},
}


def prepare(name: str, query: Any) -> "Launch":
    """The Launch of a GPU's engine for a query.  Raises UnsupportedError, DeviceError."""
    if name not in CUDA:
        raise UnsupportedError(f"no GPU engine {name!r}; there are: {', '.join(CUDA)}")
    module, *variant = CUDA[name]
    return importlib.import_module(f".{module}", __package__).prepare(query, *variant)
