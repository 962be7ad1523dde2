"""Task-parallel search on a GPU: each thread works alone (Chacon et al. 2014 and 2015, section 4.1).

    variant     threads per pattern   an entry is loaded
    naive       1, for lo and hi      by 4-byte loads
    naive16     1, for lo and hi      by 16-byte loads
    improved    2, one for each end   by 16-byte loads; the other end is read in shared memory

Queries other than backward search, and layouts with their own step, run with one thread per pattern
(naive16).
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.functions import by_type, inlined, static_type
from ...compiler.primitives import load_unit
from ...compiler.warp import (
    UINT32,
    WARP,
    any_lane,
    cuda,
    is_odd,
    kernel,
    load_unit_narrow,
    sync_warp,
    thread_in_block,
    thread_index,
)
from ...errors import UnsupportedError
from ...index.contracts import address, extend, find, own_launch, share, start, units
from ...input.dna import symbol_before
from ..gpu.gpu_search import Launch
from .cuda_groups import begin_end, write

if TYPE_CHECKING:
    from ...input.reads import Patterns
    from ..hits import Intervals

VARIANTS = ("improved", "naive16", "naive")
N_THREADS = 128
N_ALONE = 32  # threads of a block if each loads whole entries, columns or texts (benchmarks-gpu.md)


# How an entry is loaded: by 4 bytes, by 16 bytes, or not at all, because the layout has its own step.
Narrow, Wide, Own = (static_type(name, "n_bytes", __name__) for name in ("Narrow", "Wide", "Own"))


@by_type
def step(how, layout, c, lo, hi):
    """Return the interval of a string extended by the k-symbol c before it.

    (lo, hi) is that of the string.
    """


@step.register(Narrow)
def _step_narrow(how, layout, c, lo, hi):
    return count(load_unit_narrow, layout, c, lo), count(load_unit_narrow, layout, c, hi)


@step.register(Wide)
def _step_wide(how, layout, c, lo, hi):
    return count(load_unit, layout, c, lo), count(load_unit, layout, c, hi)


@step.register(Own)
def _step_own(how, layout, c, lo, hi):
    return extend(layout, c, lo, hi)


def prepare(query: Any, variant: str = VARIANTS[0]) -> Launch:
    """Return the Launch of a variant for a query. Raises UnsupportedError if they cannot be combined."""
    if variant not in VARIANTS:
        raise UnsupportedError(f"no variant {variant!r} of cuda_task; the variants are {', '.join(VARIANTS)}")
    by_steps = start.knows(query)
    if not by_steps or units(query.layout) == 0:
        if variant == "naive":
            raise UnsupportedError(
                "cuda_task-naive needs a layout with entries: use cuda_task-naive16, or another --layout"
            )
        if not by_steps:
            return own_launch(query) if own_launch.knows(query) else Launch(find_kernel, 1, N_ALONE)
        return Launch(alone_kernel, 1, N_ALONE, (Own(0),))
    if variant == "improved":
        return Launch(improved_kernel, 2, N_THREADS, warp_bytes=4 * WARP)
    return Launch(alone_kernel, 1, N_ALONE, (Narrow(4) if variant == "naive" else Wide(16),))


@inlined
def count(load, layout, c, i):
    """Return C[c] + Occ(c, i), from all units of the entry."""
    word, offset, surplus = address(layout, c, i)
    total = np.uint32(-surplus)
    for unit in range(units(layout)):
        a, b = load(layout.entries, word + 2 * unit)
        total = np.uint32(total + share(layout, np.int32(unit), a, b, c, np.int32(offset)))
    return np.int64(total)


@kernel
def alone_kernel(how, query, patterns, intervals):
    """Fill ``intervals`` (zeros) by backward search, one thread per pattern; ``how`` entries are loaded."""
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi, to_come = start(query, patterns, i)
        k, first, left = np.int32(query.layout.k), patterns.first[i], np.int32(to_come)
        n_ahead, ahead = np.int32(0), np.uint64(0)
        while left > 0 and lo < hi:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            lo, hi = step(how, query.layout, np.int64(c), lo, hi)
        write(intervals, i, lo, hi)


@partial(kernel, max_registers=64)  # so that all loads of an entry are in flight at once
def improved_kernel(query: Any, patterns: "Patterns", intervals: "Intervals") -> None:
    """Fill ``intervals`` (zeros), one thread per end. Shared memory: 4 bytes per thread."""
    thread, own = thread_index(), thread_in_block()
    i, ends, k = thread >> 1, cuda.shared.array(0, UINT32), np.int32(query.layout.k)
    end, other, left, first, searching = begin_end(query, patterns, i, own)
    n_ahead, ahead = np.int32(0), np.uint64(0)
    while any_lane(searching):
        if searching:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            end = np.uint32(count(load_unit, query.layout, np.int64(c), np.int64(end)))
            ends[own] = end
        sync_warp()
        if searching:
            other = ends[own ^ 1]
            searching = left > 0 and end != other
        sync_warp()
    if not is_odd(own) and i < patterns.length.size:
        write(intervals, i, end, other)


@kernel
def find_kernel(query, patterns, intervals):
    """Fill ``intervals`` (zeros) by seed and verify, one thread per pattern."""
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi = find(query, patterns, i)
        write(intervals, i, lo, hi)
