"""Task-parallel search on a GPU: threads work alone (Chacon et al. 2014 and 2015, section 4.1).

    variant     threads a pattern     an entry is loaded
    naive       1, for lo and hi      by 4-byte loads
    naive16     1, for lo and hi      by 16-byte loads
    improved    2, one for each end   by 16-byte loads; the other end is read in shared memory

Queries that are no backward search, and layouts that step in their own way, run as they are, one thread a
pattern (naive16; there are no entries to load otherwise).
"""

from typing import NamedTuple

import numpy as np

from ..contracts import HI, LO, N_STATE, address, advance, begin, extend, lanes, share, start
from ..device import Launch, run
from ..dna import symbols
from ..errors import UnsupportedError
from ..jit import by_type
from ..jit_warp import (
    INT64,
    UINT64,
    any_lane,
    cuda,
    device,
    is_odd,
    kernel,
    load_lane,
    load_lane_narrow,
    sync_warp,
    thread_in_block,
    thread_index,
)

VARIANTS = ("improved", "naive16", "naive")
N_THREADS = 128


class Narrow(NamedTuple):
    """Loads of 4 bytes."""

    n_bytes: int = 4


class Wide(NamedTuple):
    """Loads of 16 bytes."""

    n_bytes: int = 16


@by_type
def load(how, words, i):
    """(words[i], words[i + 1]), loaded that way."""


@load.register(Narrow)
def _load_narrow(how, words, i):
    return load_lane_narrow(words, i)


@load.register(Wide)
def _load_wide(how, words, i):
    return load_lane(words, i)


def search(query, patterns, variant=VARIANTS[0]):
    """The interval of every pattern, as the CPU engine gives it."""
    return run(prepare(query, variant), query, patterns)


def prepare(query, variant=VARIANTS[0]) -> Launch:
    """How to launch a variant for a query.  Raises UnsupportedError where the two do not go together."""
    if variant not in VARIANTS:
        raise UnsupportedError(f"no variant {variant!r} of cuda_task; there are: {', '.join(VARIANTS)}")
    by_steps = start.knows(query)
    if not by_steps or lanes(query.layout) == 0:
        if variant == "naive":
            raise UnsupportedError(
                "cuda_task naive loads entries by 4 bytes, and here are none: use cuda_task naive16"
            )
        return Launch(steps_kernel if by_steps else machine_kernel, 1, N_THREADS)
    if variant == "improved":
        return Launch(improved_kernel, 2, N_THREADS, shared_bytes=8 * N_THREADS)
    return Launch(naive_kernel, 1, N_THREADS, (Narrow() if variant == "naive" else Wide(),))


@device
def count(how, layout, c, i):
    """C[c] + Occ(c, i), from all lanes of the entry."""
    word, offset = address(layout, c, i)
    total = np.int64(0)
    for lane in range(lanes(layout)):
        a, b = load(how, layout.entries, word + 2 * lane)
        total += share(layout, lane, a, b, c, offset)
    return total


@device
def write(intervals, i, lo, hi):
    """Note an answer; the arrays hold zeros before, which is the empty one."""
    if lo < hi:
        intervals.lo[i] = np.uint32(lo)
        intervals.hi[i] = np.uint32(hi)


@kernel
def naive_kernel(how, query, patterns, intervals):
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi, left = start(query, patterns, i)
        k, first = np.int64(query.layout.k), patterns.first[i]
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, first, left, k))
            lo, hi = count(how, query.layout, c, lo), count(how, query.layout, c, hi)
        write(intervals, i, lo, hi)


@kernel
def improved_kernel(query, patterns, intervals):
    thread, own = thread_index(), thread_in_block()
    i, ends, k = thread >> 1, cuda.shared.array(0, UINT64), np.int64(query.layout.k)
    end = other = left = first = np.int64(0)
    if i < patterns.length.size and patterns.length[i] > 0:
        first = patterns.first[i]
        lo, hi, left = start(query, patterns, i)
        end, other = (hi, lo) if is_odd(own) else (lo, hi)
    searching = left > 0 and end != other
    while any_lane(searching):
        if searching:
            left -= k
            c = np.int64(symbols(patterns.words, first, left, k))
            end = count(Wide(16), query.layout, c, end)
            ends[own] = np.uint64(end)
        sync_warp()
        if searching:
            other = np.int64(ends[own ^ 1])
            searching = left > 0 and end != other
        sync_warp()
    if not is_odd(own) and i < patterns.length.size:
        write(intervals, i, end, other)


@kernel
def steps_kernel(query, patterns, intervals):
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi, left = start(query, patterns, i)
        k, first = np.int64(query.layout.k), patterns.first[i]
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, first, left, k))
            lo, hi = extend(query.layout, c, lo, hi)
        write(intervals, i, lo, hi)


@kernel
def machine_kernel(query, patterns, intervals):
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        state = cuda.local.array((1, N_STATE), INT64)
        begin(query, patterns, i, state, 0)
        while not advance(query, patterns, state, 0):
            pass
        write(intervals, i, state[0, LO], state[0, HI])
