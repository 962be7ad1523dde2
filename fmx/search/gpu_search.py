"""Searching on a GPU: what an engine launches, and arrays brought there and back."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.cuda import WARP
from ..index.contracts import on_device
from ..machines import gpu


@dataclass(frozen=True)
class Launch:
    """A kernel (…, query, patterns, intervals), its threads a pattern and a block, its first arguments.

    ``warp_bytes`` of shared memory for each warp of a block.
    """

    kernel: Any
    threads_per_pattern: int
    n_threads: int
    arguments: tuple = ()
    warp_bytes: int = 0

    def __call__(self, query, patterns, intervals, stream=0):
        """Start the search; ``intervals`` hold zeros."""
        n = patterns.length.size * self.threads_per_pattern
        if n:
            n_threads = gpu.block_size(self.n_threads)
            launch = self.kernel[-(-n // n_threads), n_threads, stream, self.warp_bytes * n_threads // WARP]
            launch(*self.arguments, query, patterns, intervals)


def upload(value, stream=0):
    """A NamedTuple (or array, or number) with its arrays on the device."""
    if isinstance(value, np.ndarray):
        return gpu.to_device(value, stream)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        value = on_device(value)
        return type(value)(*(upload(item, stream) for item in value))
    return value


def download(value):
    """A NamedTuple (or array, or number) with its arrays in the host's memory."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(download, value))
    return value if isinstance(value, int) else gpu.to_host(value)


def n_bytes(value) -> int:
    """Bytes of the arrays of a NamedTuple; an array that is there twice counts once."""
    seen: dict = {}

    def visit(item):
        if isinstance(item, np.ndarray):
            seen[item.__array_interface__["data"][0], item.nbytes] = item.nbytes
        elif isinstance(item, tuple):
            for part in item:
                visit(part)

    visit(value)
    return sum(seen.values())
