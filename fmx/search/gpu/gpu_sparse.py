"""Search of both strands of reads by a sparse suffix array on a GPU: launches and results."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.primitives import at
from ...compiler.warp import WARP
from ...index.contracts import on_device, own_launch
from ...index.reference import text_key
from ...index.sparse.minimizers_gpu import N_STEPS, make_steps
from ...index.sparse.table import FEW, SparseTable
from ...machines import gpu
from ..hits import all_keys, first_key
from ..queries.sparse import (
    Anchor,
    Sparse,
    left_of_read,
    length_of,
    looks_at_text,
    may_be,
    occurs,
    position_at_row,
    strand_at,
)
from .gpu_search import Launch, search
from .gpu_sparse_kernels import (
    ALONE,
    FOR_LAST,
    FOR_OTHERS,
    N_COUNTED,
    WINDOWS,
    many_rows_kernel,
    repeat_kernel,
    search_kernel,
    share_kernel,
    windows_kernel,
)

if TYPE_CHECKING:
    from ...index.reference import Blocks
    from ...input.reads import Patterns
    from ...machines.gpu_session import GpuStream

_WARPS = 1 << 16  # warps that take reads in turn


class SparseOnDevice(NamedTuple):
    """A Sparse with the ``steps`` of its hashes (index/sparse/minimizers_gpu.py)."""

    table: SparseTable
    words: Any
    blocks: "Blocks"
    n: int
    n_bits: int
    steps: Any


class SparseFound(NamedTuple):
    """Result of a search of Patterns, as occurrences for search/hits.py.

    ``lo``, ``hi`` uint32[2 * n_reads]: as many numbers as each pattern has occurrences. ``first``
    int64[n_reads]: the smallest key of a read. ``stop``, ``how`` uint32[n_reads]: rows lo[2r] to stop[r] are
    those of its Anchor, whose other fields are bits of ``how``. ``report`` int64[1 or more]: its first number
    becomes 1 if a read is too short. ``queue`` uint32[2 * n_reads]: queues of reads, in two halves.
    ``counted`` int64[N_COUNTED]: 1 + the numbers of some reads with many rows, or 0, followed by the number
    of reads in each queue.
    """

    query: Any
    patterns: Any
    lo: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    stop: np.ndarray
    how: np.ndarray
    report: np.ndarray
    queue: np.ndarray
    counted: np.ndarray


@on_device.register(Sparse)
def _on_device(query):
    return SparseOnDevice(*query, make_steps(query.table.k))


class SparseLaunch(Launch):
    """A Launch of search_kernel and the kernels after it."""

    def __call__(self, query: Any, patterns: "Patterns", found: Any, stream: int = 0) -> None:
        gpu.fill_zero(found.counted, stream)
        super().__call__(query, patterns, found, stream)
        n_warps = min(-(-patterns.length.size // (2 * WARP)), _WARPS)
        if n_warps:
            windows = windows_kernel[n_warps, WARP, stream, self.warp_bytes]
            windows(query, patterns, found, 1, 2, FEW, FOR_LAST)
            windows(query, patterns, found, 2, WINDOWS, ALONE, FOR_OTHERS)
            for kernel in (many_rows_kernel, share_kernel, repeat_kernel):
                kernel[n_warps, WARP, stream](query, patterns, found)


@own_launch.register(Sparse)
def _own_launch(query):
    return SparseLaunch(search_kernel, 1 / 2, WARP, warp_bytes=8 * N_STEPS)


@first_key.register(SparseFound)
def _first_key(found, r):
    return np.int64(at(found.first, r))


@all_keys.register(SparseFound)
def _all_keys(found, r, keys):
    n = np.int64(found.hi[2 * r]) - np.int64(found.lo[2 * r])
    n += np.int64(found.hi[2 * r + 1]) - np.int64(found.lo[2 * r + 1])
    if n == 1:
        keys[0] = at(found.first, r)
    elif n > 1:
        query, patterns, how = found.query, found.patterns, np.int64(at(found.how, r))
        lo, hi = np.int64(at(found.lo, 2 * r)), np.int64(at(found.stop, r))
        anchor, length = Anchor(how >> 2, (how >> 1) & 1, lo, hi, how & 1), length_of(patterns, r)
        left, by_text = left_of_read(query, patterns, r, anchor), looks_at_text(query, length, anchor)
        i = np.int64(0)
        for j in range(lo, hi):
            row = at(query.table.rows, j)
            if may_be(row, left) and occurs(query, patterns, r, anchor, row, by_text):
                keys[i] = text_key(position_at_row(query, length, anchor, row), strand_at(anchor, row))
                i += 1


@search.register(SparseOnDevice)
def search_sparse(
    query: SparseOnDevice, held: Any, launch: Launch, stream: "GpuStream", patterns: "Patterns", report: Any
) -> SparseFound:
    n, there = patterns.length.size, stream.there
    lo, hi = (there(name, n, np.uint32)[:n] for name in ("lo", "hi"))
    first = there("first key of read", n // 2, np.int64)
    stop, how = (there(name, n // 2, np.uint32) for name in ("last row", "anchor"))
    queue, counted = there("queue", n, np.uint32), there("counted reads", N_COUNTED, np.int64)
    found = SparseFound(query, patterns, lo, hi, first, stop, how, report, queue, counted)
    launch(query, patterns, found, stream.handle)
    return found
