"""Full-cooperative search on a GPU (Chacon et al. 2014, section 4.3): a group loads and counts together.

A thread has one end of a pattern's interval, and lanes 2i and 2i + 1 the two ends of one.  A group of 2 to 16
threads takes the entries of its members in turn, both ends of a pattern at a time, a lane each:

    1 show both addresses to the group     4 count, each thread in its own lane
    2 load both entries                    5 add up over the group
    3 show the symbol and the offsets      6 the owners keep their sums

The two sums are added up together: even threads give their share of hi for their neighbour's share of lo, and
go on with lo alone, odd threads with hi.
"""

from collections import namedtuple

import numpy as np

from ..contracts import address, lanes, share, start
from ..device import Launch, group_size, run
from ..dna import symbols
from ..errors import UnsupportedError
from ..jit import by_type
from ..jit_warp import (
    WARP,
    add_across,
    any_lane,
    device,
    is_odd,
    kernel,
    load_lane,
    take,
    take_across,
    thread_in_block,
    thread_index,
)

N_THREADS = 128
SIZES = (2, 4, 8, 16)
GROUPS: dict = {size: namedtuple(f"Group{size}", "size", module=__name__) for size in SIZES}
globals().update({cls.__name__: cls for cls in GROUPS.values()})  # a cached signature finds its type by name


@by_type
def size_of(group):
    """Threads of a group, a constant of its type."""


def _register(cls, size):
    @size_of.register(cls)
    def size_of_group(group):
        return size


for _size, _cls in GROUPS.items():
    _register(_cls, _size)


def search(query, patterns, size=None):
    """The interval of every pattern, as the CPU engine gives it."""
    return run(prepare(query, size), query, patterns)


def prepare(query, size=None) -> Launch:
    """How to launch the search of a query by groups of ``size`` (None: one that fits its entries).

    Raises UnsupportedError where query, layout and size do not go together.
    """
    if not start.knows(query):
        raise UnsupportedError(
            "cuda_full shares the counting of backward search, which this query is not: use cuda_task"
        )
    if lanes(query.layout) < 2:
        raise UnsupportedError(
            "cuda_full counts entries of 32 bytes or more by several threads; those of this layout are for "
            "one: use cuda_task"
        )
    fitting = group_size(lanes(query.layout))
    size = size or _best_size(lanes(query.layout))
    if size not in SIZES or size > fitting:
        raise UnsupportedError(
            f"a group of {size} does not share out entries of {lanes(query.layout)} lanes: cuda_full takes "
            "2, 4, 8 or 16 threads, and no more than there are lanes"
        )
    return Launch(full_kernel, 2, N_THREADS, (GROUPS[size](size),))


def _best_size(n_lanes) -> int:
    """The largest group up to 8 of which at most a third is idle (16 was never faster: benchmarks-gpu.md)."""
    return next(
        size for size in (8, 4, 2) if size <= group_size(n_lanes) and 3 * (-n_lanes % size) <= n_lanes + 2
    )


@device
def fetch(layout, word, offset, c, first, part):
    """What a thread needs for its lane of lo's entry, of the pattern of lanes ``first`` and ``first + 1``.

    (k-symbol, offset of lo, offset of hi, where lo's entry is, where hi's is, two words)
    """
    lo_word, hi_word = 2 * take(word >> 1, first), 2 * take(word >> 1, first + 1)
    a, b = load_lane(layout.entries, lo_word + 2 * part)
    return take(c, first), take(offset, first), take(offset, first + 1), lo_word, hi_word, a, b


@kernel
def full_kernel(group, query, patterns, intervals):
    thread, lane = thread_index(), thread_in_block() & (WARP - 1)
    layout, k, n_lanes = query.layout, np.int64(query.layout.k), np.int64(lanes(query.layout))
    size = np.int64(size_of(group))
    base, member = lane & ~(size - 1), lane & (size - 1)
    part = min(member, n_lanes - 1)
    i = thread >> 1
    end = left = first = np.int64(0)
    searching = False
    if i < patterns.length.size and patterns.length[i] > 0:
        first = patterns.first[i]
        lo, hi, left = start(query, patterns, i)
        searching = left > 0 and lo != hi
        if lo != hi:
            end = hi if is_odd(lane) else lo
    while any_lane(searching):
        c = word = offset = np.int64(0)
        if searching:
            left -= k
            c = np.int64(symbols(patterns.words, first, left, k))
            word, offset = address(layout, c, end)
        result = end
        here = fetch(layout, word, offset, c, base, part)
        for j in range(0, size, 2):
            following = fetch(layout, word, offset, c, base + j + 2, part) if j + 2 < size else here
            symbol, lo_offset, hi_offset, lo_word, hi_word, a, b = here
            lo_share = hi_share = np.int64(0)
            for turn in range((n_lanes + size - 1) // size):
                lane_of_entry = member + turn * size
                if lane_of_entry < n_lanes:
                    if turn > 0:
                        a, b = load_lane(layout.entries, lo_word + 2 * lane_of_entry)
                    lo_share += share(layout, lane_of_entry, a, b, symbol, lo_offset)
                    if lo_word == hi_word:  # as in most steps: what share does with a and b is done once
                        hi_share += share(layout, lane_of_entry, a, b, symbol, hi_offset)
                    else:
                        x, y = load_lane(layout.entries, hi_word + 2 * lane_of_entry)
                        hi_share += share(layout, lane_of_entry, x, y, symbol, hi_offset)
            kept, given = (hi_share, lo_share) if is_odd(lane) else (lo_share, hi_share)
            total = add_across(kept, given, 1)
            for step in range(1, 4):
                if (1 << step) < size:
                    total = add_across(total, total, 1 << step)
            if member >> 1 == j >> 1:
                result = total
            here = following
        if searching:
            end = result
        searching = take_across(end, 1) != end and left > 0 and searching
    other = take_across(end, 1)
    if not is_odd(lane) and i < patterns.length.size and end < other:
        intervals.lo[i] = np.uint32(end)
        intervals.hi[i] = np.uint32(other)
