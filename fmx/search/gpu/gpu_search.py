"""Forms of seed and verify on a GPU, which differ in what they fetch.

They are made on the GPU from the index's arrays:

    wide rows, text in sectors    9 bytes per symbol      index/positions.py
    arrays of the index           4.25 bytes per symbol   suffix array and packed text

Both have seeds as long as the memory allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.cuda import WARP
from ...index.contracts import on_device
from ...index.positions import BYTES, SECTOR, CutText, FullSA, Widen, WideRows, n_sectors
from ...index.seed_table import Lengthen, SeedTable
from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ..hits import Intervals, SARows
from ..queries.verify import Verify, VerifyOnDevice, VerifyWide

if TYPE_CHECKING:
    from ...input.reads import Patterns
    from ...machines.gpu_session import GpuStream
    from ...machines.jobs import Backend
    from ..queries.exact import Exact

LONGEST = 16  # symbols of a seed
_MANY = 8  # most strings of a seed's length per symbol of the text


class VerifyForm(NamedTuple):
    """Whether rows are wide, and the length of a seed in symbols."""

    wide: bool
    s: int


def seed_lengths(n: int, own: int) -> list:
    """Return the possible seed lengths for a text of n symbols, longest first, down to that of its index."""
    return [*(s for s in range(LONGEST, own, -1) if 4**s <= _MANY * n), own]


def reshape(query: VerifyOnDevice, form: VerifyForm, backend: "Backend | type[Backend]") -> VerifyWide:
    """Return a VerifyOnDevice in another form, with seeds at least as long; ``backend`` holds its arrays."""
    prefix, seeds, sa, words, blocks = query
    n = sa.size
    if form.s > seeds.s:
        starts = backend.empty(4**form.s + 1, np.uint32)
        backend.run(Lengthen(seeds, sa, words, blocks, form.s, starts), starts.size)
        seeds = SeedTable(starts, form.s)
    if not form.wide:
        return VerifyOnDevice(prefix, seeds, sa, words, blocks)
    rows = backend.empty(n, np.uint64)
    backend.run(Widen(sa, words, blocks, seeds.s, rows), n)
    sectors = backend.empty(SECTOR * n_sectors(n), np.uint64)
    backend.run(CutText(words, blocks, sectors), n_sectors(n))
    return VerifyWide(prefix, seeds, WideRows(rows), sectors, blocks)


# Search on a GPU: what an engine launches, and copies of arrays to and from the GPU.


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
        self,
        query: "Exact | VerifyOnDevice | VerifyWide",
        patterns: "Patterns",
        intervals: Any,
        stream: int = 0,
    ) -> None:
        """Start the search; ``intervals``, or what another query fills, must hold zeros."""
        n = int(patterns.length.size * self.threads_per_pattern)
        if n:
            n_threads = gpu.block_size(self.n_threads)
            launch = self.kernel[-(-n // n_threads), n_threads, stream, self.warp_bytes * n_threads // WARP]
            launch(*self.arguments, query, patterns, intervals)


@singledispatch
def search(
    query: Any, held: Any, launch: Launch, stream: "GpuStream", patterns: "Patterns", report: Any
) -> "SARows":
    """Launch the search of Patterns.

    Return occurrences on the GPU that hits are selected from (search/hits.py).

    ``held``: (suffix array, layout), which locate rows. ``report`` int64[1 or more]: its first number becomes
    1 if a read cannot be searched this way.
    """
    n = patterns.length.size
    intervals = Intervals(*(stream.there(name, n, np.uint32)[:n] for name in Intervals._fields))
    for array in intervals:
        gpu.fill_zero(array, stream.handle)
    launch(query, patterns, intervals, stream.handle)
    return SARows(held[0], held[1], intervals.lo, intervals.hi)


def upload(value: Any) -> Any:
    """Return a NamedTuple (or array, or number) with its arrays copied to the device."""
    return gpu.take(_for_device(value))


def _for_device(value: Any) -> Any:
    """Return a NamedTuple, and those in it, in the types that a GPU uses."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        value = on_device(value)
        return type(value)(*map(_for_device, value))
    return value


def download(value: Any) -> Any:
    """Return a NamedTuple (or array, or number) with its arrays in the host's memory."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(download, value))
    return value if isinstance(value, int) else gpu.to_host(value)


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


# Choice of a form of seed and verify for a GPU: the fastest one that fits its memory.


def choose(queries: "Sequence[Any]", memory: int, stream_bytes: int = 0) -> VerifyForm | None:
    """Return the fastest form in which queries, one per part of the text, fit into ``memory`` bytes of a GPU.

    A quarter of the memory, or the bytes that a stream needs, is left to streams. Returns None if the method
    is not seed and verify, and the smallest form if none fits.
    """
    if not all(isinstance(query, Verify) for query in queries):
        return None
    n, own = max(query.sa.size for query in queries), max(query.seeds.s for query in queries)
    most = memory - max(memory // 4, stream_bytes)
    forms = [VerifyForm(wide, s) for wide in (True, False) for s in seed_lengths(n, own)]
    return next((form for form in forms if peak_bytes(queries, form) <= most), forms[-1])


def form_bytes(query: Any, sa: FullSA | np.ndarray, form: VerifyForm | None) -> int:
    """Return the bytes of a query on the GPU in a form, and of the suffix array to locate with."""
    if form is None:
        return n_bytes((query, sa))
    tables = n_bytes((query.prefix, query.blocks)) + 4 * (4**form.s + 1)
    return tables + (BYTES * query.sa.size if form.wide else query.sa.nbytes + query.words.nbytes)


def peak_bytes(queries: Sequence[Verify], form: VerifyForm) -> int:
    """Return the peak bytes while all queries are made in a form, one after the other."""
    own = max(n_bytes((query.sa, query.words, query.seeds)) for query in queries)
    return sum(form_bytes(query, query.sa, form) for query in queries) + own


def bring(query: Any, form: VerifyForm | None) -> "Exact | VerifyOnDevice | VerifyWide":
    """Copy a query to the GPU, in a form (None: unchanged)."""
    there = upload(query)
    return there if form is None else reshape(there, form, Gpu)


def suffix_array(query: Any) -> Any:
    """Return the suffix array of a query on the GPU, or None."""
    held = getattr(query, "sa", None)
    return held if held is None or isinstance(held, WideRows) else FullSA(held)
