"""Search on a GPU: what an engine launches, and copies of arrays to and from the GPU."""

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.warp import WARP
from ...index.contracts import on_device
from ...machines import gpu
from ..hits import Intervals, SARows

if TYPE_CHECKING:
    from ...input.reads import Patterns
    from ...machines.gpu_session import GpuStream
    from ..queries.exact import Exact
    from ..queries.verify import VerifyOnDevice


@dataclass(frozen=True)
class Launch:
    """A kernel (…, query, patterns, intervals), its threads per pattern and per block, its first arguments.

    ``warp_bytes``: shared memory per warp of a block.
    """

    kernel: Any
    threads_per_pattern: float
    n_threads: int
    arguments: tuple = ()
    warp_bytes: int = 0

    def __call__(
        self, query: "Exact | VerifyOnDevice", patterns: "Patterns", intervals: Any, stream: int = 0
    ) -> None:
        """Start the search; ``intervals``, or what another query fills, must hold zeros."""
        n = int(patterns.length.size * self.threads_per_pattern)
        if n:
            n_threads = gpu.block_size(self.n_threads)
            launch = self.kernel[-(-n // n_threads), n_threads, stream, self.warp_bytes * n_threads // WARP]
            launch(*self.arguments, query, patterns, intervals)


@singledispatch
def search(
    query: Any, locating: Any, launch: Launch, stream: "GpuStream", patterns: "Patterns", report: Any
) -> "SARows":
    """Launch the search of Patterns.

    Return occurrences on the GPU that hits are selected from (search/hits.py).

    ``locating``: (suffix array, layout), which locate rows. ``report`` int64[1 or more]: its first number
    becomes 1 if a read cannot be searched this way.
    """
    n = patterns.length.size
    intervals = Intervals(*(stream.device_array(name, n, np.uint32)[:n] for name in Intervals._fields))
    for array in intervals:
        gpu.fill_zero(array, stream.handle)
    launch(query, patterns, intervals, stream.handle)
    return SARows(locating[0], locating[1], intervals.lo, intervals.hi)


def upload(value: Any) -> Any:
    """Return a NamedTuple (or array, or number) with its arrays copied to the device."""
    return gpu.take(_for_device(value))


def _for_device(value: Any) -> Any:
    """Return a NamedTuple, and those in it, in the types that a GPU uses."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        value = on_device(value)
        return type(value)(*map(_for_device, value))
    return value


def n_bytes(value: Any) -> int:
    """Return the bytes of the arrays of a NamedTuple; an array that occurs twice counts once."""
    seen: dict = {}

    def visit(item: Any) -> None:
        if isinstance(item, np.ndarray):
            seen[item.__array_interface__["data"][0], item.nbytes] = item.nbytes
        elif isinstance(item, tuple):
            for part in item:
                visit(part)

    visit(value)
    return sum(seen.values())
