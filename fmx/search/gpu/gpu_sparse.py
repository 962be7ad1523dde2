"""Both strands of reads by a sparse suffix array on a GPU: a thread a read, the threads of a warp together.

    search_kernel       the smallest k-mers of windows of a read, until one has few rows in its bucket, and
                        which of these the read occurs at; reads without one are put in a queue
    many_rows_kernel    of those in the queue the rows that go on as the read does, by binary search, and
                        which of these it occurs at: few by its thread, many by the warp, of equal reads once

The rows that were looked at are kept of each read, so that its occurrences can be told again, and the first
of its occurrences, which is all that most reads ask for.  The k-mers may be others than on the CPU; what is
found there is the same.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, trailing_zeros
from ...compiler.warp import (
    UINT64,
    WARP,
    atomic_add,
    ballot,
    cuda,
    device,
    first_bit,
    grid_size,
    kernel,
    n_bits,
    sync_warp,
    take,
    take_across,
    thread_in_block,
    thread_index,
)
from ...index.contracts import on_device, own_launch
from ...index.reference import text_key
from ...index.sparse.minimizers_gpu import N_STEPS, make_steps, smallest_kmer
from ...index.sparse.table import FEW, SparseTable, bucket_of, canonical, is_near, position_in
from ...machines import gpu
from ..hits import all_keys, first_key
from ..queries.sparse import (
    Anchor,
    Sparse,
    cost_of,
    left_of_read,
    length_of,
    looks_at_text,
    may_be,
    occurs,
    position_at_row,
    range_of,
    strand_at,
)
from .gpu_search import Launch, search

if TYPE_CHECKING:
    from ...index.reference import Blocks
    from ...input.reads import Patterns
    from ...machines.gpu_session import GpuStream

_ALONE = 16  # rows that a thread looks at by itself
_FEW_AT_ONCE, _MANY_AT_ONCE = 2, 8  # rows that a thread loads at once, by itself, and beside the others
_WINDOWS = 24  # of a read
_MANY, N_COUNTED = 256, 1 << 12  # rows of a read that is kept for equal ones, and how many are
_WARPS = 1 << 12  # that take reads in turn
_MOST, NOWHERE = 2**62, 2**32 - 1  # no cost is greater; no position


class SparseOnDevice(NamedTuple):
    """A Sparse with the ``steps`` of its hashes (index/sparse/minimizers_gpu.py)."""

    table: SparseTable
    words: Any
    blocks: "Blocks"
    n: int
    n_bits: int
    steps: Any


class SparseFound(NamedTuple):
    """What is found of the reads of Patterns, as search/hits.py wants occurrences.

    ``lo``, ``hi`` uint32[2 * n_reads]: as many numbers as each pattern has occurrences; ``first``
    int64[n_reads]: the smallest key of a read; ``stop``, ``how`` uint32[n_reads]: rows lo[2r] to stop[r] are
    those of its Anchor, whose other fields are bits of ``how``; ``report`` int64[1 or more]: its first number
    becomes 1 where a read is too short.  ``queue`` uint32[n_reads]: reads with many rows, as many as the last
    number of ``counted`` int64[N_COUNTED + 1] says; before it 1 + the numbers of some that are done, or 0.
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
    """A Launch of search_kernel, and of many_rows_kernel after it."""

    def __call__(self, query: Any, patterns: "Patterns", found: Any, stream: int = 0) -> None:
        gpu.fill_zero(found.counted, stream)
        super().__call__(query, patterns, found, stream)
        n_warps = min(-(-patterns.length.size // (2 * WARP)), _WARPS)
        if n_warps:
            many_rows_kernel[n_warps, WARP, stream](query, patterns, found)


@own_launch.register(Sparse)
def _own_launch(query):
    return SparseLaunch(search_kernel, 1 / 2, WARP, warp_bytes=8 * N_STEPS)


@inlined
def _bucket_of(query, patterns, r, place):
    """(strand, first row, row after the last) of the bucket of a k-mer of read r."""
    kmer, strand = canonical(patterns.words, at(patterns.first, 2 * r), place, query.table.k)
    bucket = bucket_of(kmer, query.n_bits)
    return strand, np.int64(at(query.table.starts, bucket)), np.int64(at(query.table.starts, bucket + 1))


@device
def _cheapest(query, patterns, r, length, room):
    """(place, strand, first row, row after the last) of the k-mer of read r whose bucket costs least.

    The smallest k-mer of the first window is tried, that of the last one, and of those at every 16th symbol,
    until one has few rows.
    """
    k, w = query.table.k, query.table.w
    place = strand = lo = hi = window = np.int64(0)
    least, n_windows = np.int64(_MOST), min(2 + ((length - k - w) >> 4), np.int64(_WINDOWS))
    while window < n_windows:
        from_end = np.int64(window == 1)
        half, first = max(window - 1, np.int64(0)) * (1 - from_end), at(patterns.first, 2 * r + from_end)
        own_place = 16 * half + smallest_kmer(k, query.steps, room, patterns.words, first, half, w)
        if from_end:
            own_place = length - k - own_place
        own_strand, own_lo, own_hi = _bucket_of(query, patterns, r, own_place)
        cost = own_hi - own_lo
        if cost > _ALONE:
            cost = cost_of(query, length, Anchor(own_place, own_strand, own_lo, own_hi, np.int64(0)))
        if cost < least:
            least, place, strand, lo, hi = cost, own_place, own_strand, own_lo, own_hi
        window = n_windows if least <= FEW else window + 1
    return place, strand, lo, hi


@inlined
def _occurrences(query, patterns, r, anchor, start, step, at_once):
    """(n, first position) on +, and on -, at each ``step``-th row of an Anchor from ``start``."""
    left, length = left_of_read(query, patterns, r, anchor), length_of(patterns, r)
    by_text = looks_at_text(query, length, anchor)
    n = n_reverse = np.int64(0)
    first = first_reverse = least = least_reverse = np.int64(NOWHERE)
    for begin in range(start, anchor.hi, at_once * step):
        waiting, last = np.int64(0), anchor.hi - 1
        for j in range(at_once):  # whose loads are under way together
            i = begin + j * step
            row = at(query.table.rows, min(i, last))
            is_one = may_be(row, left) and i <= last
            is_sure = is_one and not (by_text or is_near(row))
            waiting |= np.int64(is_one and not is_sure) << j
            position, reverse = position_in(row), strand_at(anchor, row)
            n += np.int64(is_sure) & (1 - reverse)
            n_reverse += np.int64(is_sure) & reverse
            least = min(least, position if is_sure and reverse == 0 else NOWHERE)
            least_reverse = min(least_reverse, position if is_sure and reverse else NOWHERE)
        while waiting != 0:
            i = begin + trailing_zeros(np.uint64(waiting)) * step
            waiting &= waiting - 1
            row = at(query.table.rows, i)
            if occurs(query, patterns, r, anchor, row, by_text):
                position = position_at_row(query, length, anchor, row)
                if strand_at(anchor, row):
                    n_reverse += 1
                    first_reverse = min(first_reverse, position)
                else:
                    n += 1
                    first = min(first, position)
    if at(patterns.length, 2 * r) == 0:
        n, least = np.int64(0), np.int64(NOWHERE)
    if at(patterns.length, 2 * r + 1) == 0:
        n_reverse, least_reverse = np.int64(0), np.int64(NOWHERE)
    if least != NOWHERE:
        first = min(first, least - anchor.place)
    if least_reverse != NOWHERE:
        first_reverse = min(first_reverse, least_reverse - (length - query.table.k - anchor.place))
    return n, first, n_reverse, first_reverse


@device
def _together(n, first, n_reverse, first_reverse):
    """What the threads of a warp have found, summed up."""
    mask = np.int64(WARP >> 1)
    while mask > 0:
        n, n_reverse = n + take_across(n, mask), n_reverse + take_across(n_reverse, mask)
        first = min(first, take_across(first, mask))
        first_reverse = min(first_reverse, take_across(first_reverse, mask))
        mask >>= 1
    return n, first, n_reverse, first_reverse


@device
def _put(found, r, lo, n, n_reverse, key):
    """Keep how often a read whose rows begin at ``lo`` occurs on each strand, and its smallest key."""
    found.hi[2 * r], found.hi[2 * r + 1] = np.uint32(lo + n), np.uint32(lo + n_reverse)
    found.first[r] = key


@device
def _equal_read(patterns, found, r, slot):
    """The read in a slot of ``found.counted`` if it is equal to read r, else -1."""
    other = np.int64(atomic_add(found.counted, slot, np.int64(0))) - 1
    if other < 0:
        return np.int64(-1)
    for strand in range(2):
        if at(patterns.length, 2 * r + strand) != at(patterns.length, 2 * other + strand):
            return np.int64(-1)
    first, other_first = at(patterns.first, 2 * r), at(patterns.first, 2 * other)
    for j in range((length_of(patterns, r) + 31) >> 5):
        if at(patterns.words, first + j) != at(patterns.words, other_first + j):
            return np.int64(-1)
    return other


@kernel
def search_kernel(query, patterns, found):
    """Fill a SparseFound, by a block of a warp for 32 reads, but for the reads it puts in ``found.queue``.

    Shared memory: 8 bytes for each of the steps.
    """
    lane, r, room = thread_in_block(), thread_index(), cuda.shared.array(0, UINT64)
    if lane < N_STEPS:
        room[lane] = query.steps[lane]
    sync_warp()
    is_read, length = 2 * r < patterns.length.size, np.int64(0)
    if is_read:
        length = length_of(patterns, r)
        if 0 < length < query.table.k + query.table.w - 1:
            found.report[0] = 1
            length = np.int64(0)
    place = strand = lo = hi = n = n_reverse = np.int64(0)
    first = first_reverse = np.int64(NOWHERE)
    if length > 0:
        place, strand, lo, hi = _cheapest(query, patterns, r, length, room)
    if 0 < hi - lo <= _ALONE:
        anchor = Anchor(place, strand, lo, hi, np.int64(0))
        n, first, n_reverse, first_reverse = _occurrences(query, patterns, r, anchor, lo, 1, _FEW_AT_ONCE)
    if is_read:
        found.lo[2 * r] = found.lo[2 * r + 1] = np.uint32(lo)
        _put(found, r, lo, n, n_reverse, min(text_key(first, 0), text_key(first_reverse, 1)))
        found.stop[r], found.how[r] = np.uint32(hi), np.uint32(place << 2 | strand << 1)
    waiting, begin = ballot(hi - lo > _ALONE), np.int64(0)
    if waiting != 0:
        if lane == 0:
            begin = np.int64(atomic_add(found.counted, N_COUNTED, np.int64(n_bits(waiting))))
        begin = take(begin, 0)
        if hi - lo > _ALONE:
            found.queue[begin + n_bits(waiting & ((np.int64(1) << lane) - 1))] = np.uint32(r)


@kernel
def many_rows_kernel(query, patterns, found):
    """Fill a SparseFound where search_kernel left reads in ``found.queue``, by blocks of a warp."""
    lane, n_queued = thread_in_block(), at(found.counted, N_COUNTED)
    begin = thread_index() - lane
    while begin < n_queued:
        r = place = strand = lo = hi = np.int64(0)
        if begin + lane < n_queued:
            r = np.int64(found.queue[begin + lane])
            lo, hi, how = np.int64(found.lo[2 * r]), np.int64(found.stop[r]), np.int64(found.how[r])
            place, strand = how >> 2, (how >> 1) & 1
            lo, hi = range_of(query, patterns, r, Anchor(place, strand, lo, hi, np.int64(0)))
            found.lo[2 * r] = found.lo[2 * r + 1] = np.uint32(lo)
            found.stop[r], found.how[r] = np.uint32(hi), np.uint32(how | 1)
            if hi - lo <= _ALONE:
                anchor = Anchor(place, strand, lo, hi, np.int64(1))
                n, first, n_reverse, first_reverse = _occurrences(
                    query, patterns, r, anchor, lo, 1, _FEW_AT_ONCE
                )
                _put(found, r, lo, n, n_reverse, min(text_key(first, 0), text_key(first_reverse, 1)))
        waiting, slot = ballot(hi - lo > _ALONE), (lo << 1 | strand) & (N_COUNTED - 1)
        while waiting != 0:
            source, other = np.int64(first_bit(waiting)), np.int64(-1)
            waiting &= waiting - 1
            if lane == source and hi - lo > _MANY:
                other = _equal_read(patterns, found, r, slot)
            if other >= 0:  # by atomics, for this multiprocessor may hold what was there before
                n = np.int64(atomic_add(found.hi, 2 * other, np.uint32(0))) - lo
                n_reverse = np.int64(atomic_add(found.hi, 2 * other + 1, np.uint32(0))) - lo
                _put(found, r, lo, n, n_reverse, np.int64(atomic_add(found.first, other, np.int64(0))))
            if ballot(other >= 0) == 0:
                theirs = Anchor(
                    take(place, source), take(strand, source), take(lo, source), take(hi, source), np.int64(1)
                )
                own = _occurrences(
                    query, patterns, take(r, source), theirs, theirs.lo + lane, WARP, _MANY_AT_ONCE
                )
                n, first, n_reverse, first_reverse = _together(own[0], own[1], own[2], own[3])
                if lane == source:
                    _put(found, r, lo, n, n_reverse, min(text_key(first, 0), text_key(first_reverse, 1)))
                    if hi - lo > _MANY:
                        cuda.threadfence()
                        found.counted[slot] = r + 1
        begin += grid_size()


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
    stop, how, queue = (there(name, n // 2, np.uint32) for name in ("last row", "anchor", "queue"))
    counted = there("counted reads", N_COUNTED + 1, np.int64)
    found = SparseFound(query, patterns, lo, hi, first, stop, how, report, queue, counted)
    launch(query, patterns, found, stream.handle)
    return found
