"""Engines: how a search is spread over threads; one file per engine or family of engines.

The CPU engine has ``search(query, patterns) -> Intervals``. GPU engines are imported by name, because that
imports CUDA. Each has ``prepare(query, ...)``, which returns a gpu_search.Launch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError

if TYPE_CHECKING:
    from ..gpu.gpu_search import Launch

# GPU engines: (module, variant).
CUDA = {
    "cuda_task-naive": ("cuda_task", "naive"),
    "cuda_task-naive16": ("cuda_task", "naive16"),
    "cuda_task-improved": ("cuda_task", "improved"),
    "cuda_memory": ("cuda_groups", "memory"),
    "cuda_full": ("cuda_groups", "full"),
    **{f"cuda_full-{size}": ("cuda_groups", "full", size) for size in (2, 4, 8, 16)},
}


def prepare(name: str, query: Any) -> "Launch":
    """Return the Launch of a GPU engine for a query. Raises UnsupportedError, DeviceError."""
    if name not in CUDA:
        raise UnsupportedError(f"no GPU engine {name!r}; the GPU engines are {', '.join(CUDA)}")
    module, *variant = CUDA[name]
    return importlib.import_module(f".{module}", __package__).prepare(query, *variant)
