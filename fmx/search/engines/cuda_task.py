"""Task-parallel search on a GPU: threads work alone (Chacon et al. 2014 and 2015, section 4.1).

    variant     threads a pattern     an entry is loaded
    naive       1, for lo and hi      by 4-byte loads
    naive16     1, for lo and hi      by 16-byte loads
    improved    2, one for each end   by 16-byte loads; the other end is read in shared memory

Queries that are no backward search, and layouts that step in their own way, run as they are, one thread a
pattern (naive16; there are no entries to load otherwise).
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
N_ALONE = 32  # where a thread loads whole entries, columns or texts (benchmarks-gpu.md)


# How an entry comes: by loads of 4 bytes, of 16 bytes; there is none, and the layout steps in its own way.
Narrow, Wide, Own = (static_type(name, "n_bytes", __name__) for name in ("Narrow", "Wide", "Own"))


@by_type
def step(how, layout, c, lo, hi):
    """The interval (lo, hi) of a string to that of the k-symbol c before it."""


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
    """How to launch a variant for a query.  Raises UnsupportedError where the two do not go together."""
    if variant not in VARIANTS:
        raise UnsupportedError(f"no variant {variant!r} of cuda_task; there are: {', '.join(VARIANTS)}")
    by_steps = start.knows(query)
    if not by_steps or units(query.layout) == 0:
        if variant == "naive":
            raise UnsupportedError(
                "cuda_task-naive needs a layout with entries: take cuda_task-naive16, or another --layout"
            )
        if not by_steps:
            return own_launch(query) if own_launch.knows(query) else Launch(find_kernel, 1, N_ALONE)
        return Launch(alone_kernel, 1, N_ALONE, (Own(0),))
    if variant == "improved":
        return Launch(improved_kernel, 2, N_THREADS, warp_bytes=4 * WARP)
    return Launch(alone_kernel, 1, N_ALONE, (Narrow(4) if variant == "naive" else Wide(16),))


@inlined
def count(load, layout, c, i):
    """C[c] + Occ(c, i), from all units of the entry."""
    word, offset, surplus = address(layout, c, i)
    total = np.uint32(-surplus)
    for unit in range(units(layout)):
        a, b = load(layout.entries, word + 2 * unit)
        total = np.uint32(total + share(layout, np.int32(unit), a, b, c, np.int32(offset)))
    return np.int64(total)


@kernel
def alone_kernel(how, query, patterns, intervals):
    """``intervals`` (zeros) of ``patterns`` by backward search, a thread a pattern; ``how`` it loads."""
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi, to_come = start(query, patterns, i)
        k, first, left = np.int32(query.layout.k), patterns.first[i], np.int32(to_come)
        n_ahead, ahead = np.int32(0), np.uint64(0)
        while left > 0 and lo < hi:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            lo, hi = step(how, query.layout, np.int64(c), lo, hi)
        write(intervals, i, lo, hi)


@partial(kernel, max_registers=64)  # so that all loads of an entry are under way at once
def improved_kernel(query: Any, patterns: "Patterns", intervals: "Intervals") -> None:
    """``intervals`` (zeros) of ``patterns``, a thread for each end.  Shared memory: 4 bytes a thread."""
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
    """``intervals`` (zeros) of ``patterns`` by seed and verify, a thread a pattern."""
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi, _ = find(query, patterns, i)
        write(intervals, i, lo, hi)
