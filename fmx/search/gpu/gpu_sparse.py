"""Search of both strands of reads by a sparse suffix array on a GPU: one thread or one warp per read.

    _search_kernel      the smallest k-mer of a read's first window, and the rows of its bucket at which the
                        read occurs; reads with many rows are queued, also below
    windows_kernel      the smallest k-mers of other windows, until one has few rows: of the last window,
                        then, for reads with still many rows, of all others
    many_rows_kernel    the rows that continue as the read does, by binary search, and where it occurs there:
                        few by its thread, more by the warp; of equal reads with very many rows only the first
    share_kernel        reads with very many rows, shared by several warps
    repeat_kernel       results of reads that are equal to these

A warp waits for its slowest read, so each kernel gets only the reads that need it. For each read the rows and
the first occurrence are kept: the rows to list all its occurrences later, the first one because most reads
need no other. The k-mers may differ from those on the CPU; the result is the same. The bits of rows are those
of index/sparse.py, and queries/sparse.py and hits.py are compiled here.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, trailing_zeros
from ...compiler.warp import (
    UINT64,
    WARP,
    atomic_add,
    atomic_min,
    ballot,
    claim,
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
from ...index.sparse import SMALL_BUCKET, SparseTable, bucket_of, canonical, is_near, position_in
from ...index.sparse_gpu import N_STEPS, make_steps, smallest_kmer
from ...machines import gpu
from ..hits import all_keys, first_key, n_occurrences
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
from .engines import Launch

if TYPE_CHECKING:
    from ...index.reference import Blocks
    from ...input.reads import Patterns
    from ...machines.gpu import GpuStream


_ROWS_OF_THREAD = 16  # rows that one thread compares alone
_FEW_AT_ONCE, _MANY_AT_ONCE = 2, 8  # rows that a thread loads at once: alone, and together with others
_WINDOWS = 24  # per read
_ROWS_OF_WARP = 256  # rows that one warp compares alone
_SLOTS, _TRIES, _FACTOR = 1 << 16, 8, 40503  # for reads with more rows; slots tried for one; of the hash
_WARPS_OF_READ = 32  # warps that share the rows of such a read
_NOWHERE = 2**32 - 1  # no position
_FOR_LAST, _FOR_OTHERS, _FOR_ROWS, _FOR_SHARES = range(4)  # queues, in the two halves of ``queue`` in turn
_N_COUNTED = _SLOTS + 4


@device
def _window(query, patterns, r, length, room, window):
    """Return (offset, strand, first row, row after the last) of the smallest k-mer in a window of read r.

    Window 0 is the first, 1 the last; window i > 1 begins at symbol 16 * (i - 1).
    """
    k, w = query.table.k, query.table.w
    from_end = np.int64(window == 1)
    begin, first = max(window - 1, np.int64(0)) * (1 - from_end), at(patterns.first, 2 * r + from_end)
    offset = 16 * begin + smallest_kmer(k, query.steps, room, patterns.words, first, begin, w)
    if from_end:
        offset = length - k - offset
    kmer, strand = canonical(patterns.words, at(patterns.first, 2 * r), offset, k)
    bucket = bucket_of(kmer, query.n_bits)
    lo, hi = np.int64(at(query.table.starts, bucket)), np.int64(at(query.table.starts, bucket + 1))
    return offset, strand, lo, hi


@inlined
def _occurrences(query, patterns, r, anchor, start, step, at_once):
    """Return (n, first position) on + and on -, over each ``step``-th row of an Anchor from ``start``."""
    left, length = left_of_read(query, patterns, r, anchor), length_of(patterns, r)
    by_text = looks_at_text(query, length, anchor)
    n = n_reverse = np.int64(0)
    first = first_reverse = least = least_reverse = np.int64(_NOWHERE)
    for begin in range(start, anchor.hi, at_once * step):
        waiting, last = np.int64(0), anchor.hi - 1
        for j in range(at_once):  # these loads are in flight together
            i = begin + j * step
            row = at(query.table.rows, min(i, last))
            is_one = may_be(row, left) and i <= last
            is_sure = is_one and not (by_text or is_near(row))
            waiting |= np.int64(is_one and not is_sure) << j
            position, reverse = position_in(row), strand_at(anchor, row)
            n += np.int64(is_sure) & (1 - reverse)
            n_reverse += np.int64(is_sure) & reverse
            least = min(least, position if is_sure and reverse == 0 else _NOWHERE)
            least_reverse = min(least_reverse, position if is_sure and reverse else _NOWHERE)
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
        n, least = np.int64(0), np.int64(_NOWHERE)
    if at(patterns.length, 2 * r + 1) == 0:
        n_reverse, least_reverse = np.int64(0), np.int64(_NOWHERE)
    if least != _NOWHERE:
        first = min(first, least - anchor.offset)
    if least_reverse != _NOWHERE:
        first_reverse = min(first_reverse, least_reverse - (length - query.table.k - anchor.offset))
    return n, first, n_reverse, first_reverse


@device
def _together(n, first, n_reverse, first_reverse):
    """Return the results of the threads of a warp, combined."""
    mask = np.int64(WARP >> 1)
    while mask > 0:
        n, n_reverse = n + take_across(n, mask), n_reverse + take_across(n_reverse, mask)
        first = min(first, take_across(first, mask))
        first_reverse = min(first_reverse, take_across(first_reverse, mask))
        mask >>= 1
    return n, first, n_reverse, first_reverse


@inlined
def _least_key(first, first_reverse):
    """Return the smallest key of a read from its first position on each strand."""
    return min(text_key(first, 0), text_key(first_reverse, 1))


@inlined
def _keep_anchor(result, r, offset, strand, lo, hi, is_sorted):
    """Store the Anchor of a read."""
    result.lo[2 * r] = result.lo[2 * r + 1] = np.uint32(lo)
    result.stop[r], result.how[r] = np.uint32(hi), np.uint32(offset << 2 | strand << 1 | is_sorted)


@inlined
def _anchor_of(result, r):
    """Return the stored Anchor of read r."""
    how, lo = np.int64(result.how[r]), np.int64(result.lo[2 * r])
    return Anchor(how >> 2, (how >> 1) & 1, lo, np.int64(result.stop[r]), how & 1)


@inlined
def _keep(result, r, lo, n, n_reverse, key):
    """Store how often a read occurs on each strand, as hi - ``lo``, and its smallest key."""
    result.hi[2 * r], result.hi[2 * r + 1] = np.uint32(lo + n), np.uint32(lo + n_reverse)
    result.first[r] = key


@device
def _look_alone(query, patterns, result, r, anchor):
    """Store the result of a read's own thread for the rows of its Anchor."""
    counts = _occurrences(query, patterns, r, anchor, anchor.lo, 1, _FEW_AT_ONCE)
    _keep(result, r, anchor.lo, counts[0], counts[2], _least_key(counts[1], counts[3]))


@device
def _put_in_queue(result, number, is_one, r):
    """Put read r of each thread for which ``is_one`` is true in a queue."""
    lane, waiting, before = thread_in_block(), ballot(is_one), np.int64(0)
    if waiting != 0:
        if lane == 0:
            before = np.int64(atomic_add(result.counted, _SLOTS + number, np.int64(n_bits(waiting))))
        before = take(before, 0) + n_bits(waiting & ((np.int64(1) << lane) - 1))
        if is_one:
            result.queue[(number & 1) * (result.queue.size >> 1) + before] = np.uint32(r)


@inlined
def _in_queue(result, number, i):
    """Return the i-th read of a queue."""
    return np.int64(at(result.queue, (number & 1) * (result.queue.size >> 1) + i))


@inlined
def _are_equal(patterns, r, other):
    """Return whether two reads are equal and searched on the same strands."""
    for strand in range(2):
        if at(patterns.length, 2 * r + strand) != at(patterns.length, 2 * other + strand):
            return False
    first, other_first = at(patterns.first, 2 * r), at(patterns.first, 2 * other)
    for j in range((length_of(patterns, r) + 31) >> 5):
        if at(patterns.words, first + j) != at(patterns.words, other_first + j):
            return False
    return True


@device
def _first_of_equal(patterns, result, r, slot):
    """Return the read that represents all reads equal to r with the same ``slot``."""
    for _ in range(_TRIES):
        other = np.int64(claim(result.counted, slot & (_SLOTS - 1), r + 1)) - 1
        if other < 0:
            return r
        if _are_equal(patterns, r, other):
            return other
        slot += 1
    return r


@device
def _fill_room(query, room):
    """Copy the steps of hashes to a warp's shared memory."""
    lane = thread_in_block()
    if lane < N_STEPS:
        room[lane] = query.steps[lane]
    sync_warp()


@kernel
def _search_kernel(query, patterns, result):
    """Fill a SparseFound, one warp per 32 reads; queue reads with many rows.

    Shared memory: 8 bytes for each of the steps.
    """
    r, room = thread_index(), cuda.shared.array(0, UINT64)
    _fill_room(query, room)
    is_read, length = 2 * r < patterns.length.size, np.int64(0)
    if is_read:
        length = length_of(patterns, r)
        if 0 < length < query.table.k + query.table.w - 1:
            result.report[0] = 1
            length = np.int64(0)
    offset = strand = lo = hi = np.int64(0)
    if length > 0:
        offset, strand, lo, hi = _window(query, patterns, r, length, room, np.int64(0))
    if is_read:
        _keep_anchor(result, r, offset, strand, lo, hi, np.int64(0))
        if hi - lo <= SMALL_BUCKET:
            _look_alone(query, patterns, result, r, Anchor(offset, strand, lo, hi, np.int64(0)))
    _put_in_queue(result, _FOR_LAST, hi - lo > SMALL_BUCKET, r)


@kernel
def windows_kernel(query, patterns, result, window, end, most, number):
    """Fill a SparseFound for reads in a queue, by their windows from ``window`` to ``end``.

    Reads that then have more than ``most`` rows are put in the next queue.
    """
    lane, room = thread_in_block(), cuda.shared.array(0, UINT64)
    _fill_room(query, room)
    k, w, n_queued = query.table.k, query.table.w, at(result.counted, _SLOTS + number)
    begin = thread_index() - lane
    while begin < n_queued:
        r = lo = hi = np.int64(0)
        if begin + lane < n_queued:
            r = _in_queue(result, number, begin + lane)
            offset, strand, lo, hi, _ = _anchor_of(result, r)
            length, current = length_of(patterns, r), np.int64(window)
            least = cost_of(query, length, Anchor(offset, strand, lo, hi, np.int64(0)))
            n_windows = min(2 + ((length - k - w) >> 4), np.int64(end))
            while current < n_windows:
                start, side, begin_row, end_row = _window(query, patterns, r, length, room, current)
                cost = cost_of(query, length, Anchor(start, side, begin_row, end_row, np.int64(0)))
                if cost < least:
                    least, offset, strand, lo, hi = cost, start, side, begin_row, end_row
                current = n_windows if least <= SMALL_BUCKET else current + 1
            _keep_anchor(result, r, offset, strand, lo, hi, np.int64(0))
            if hi - lo <= most:
                _look_alone(query, patterns, result, r, Anchor(offset, strand, lo, hi, np.int64(0)))
        _put_in_queue(result, number + 1, hi - lo > most, r)
        begin += grid_size()


@kernel
def many_rows_kernel(query, patterns, result):
    """Fill a SparseFound for reads with many rows in all windows, up to _ROWS_OF_WARP of them.

    Of equal reads with more, one is put in the next queue; ``first`` of the others becomes -1 - its number.
    """
    lane, n_queued = thread_in_block(), at(result.counted, _SLOTS + _FOR_ROWS)
    begin = thread_index() - lane
    while begin < n_queued:
        r = offset = strand = lo = hi = np.int64(0)
        if begin + lane < n_queued:
            r = _in_queue(result, _FOR_ROWS, begin + lane)
            anchor = _anchor_of(result, r)
            offset, strand = anchor.offset, anchor.strand
            lo, hi = range_of(query, patterns, r, anchor)
            _keep_anchor(result, r, offset, strand, lo, hi, np.int64(1))
            if hi - lo <= _ROWS_OF_THREAD:
                _look_alone(query, patterns, result, r, Anchor(offset, strand, lo, hi, np.int64(1)))
        leader = r
        if hi - lo > _ROWS_OF_WARP:
            leader = _first_of_equal(patterns, result, r, lo + _FACTOR * (offset << 1 | strand))
            none = _least_key(np.int64(_NOWHERE), np.int64(_NOWHERE))
            _keep(result, r, lo, np.int64(0), np.int64(0), none if leader == r else -1 - leader)
        waiting = ballot(_ROWS_OF_THREAD < hi - lo <= _ROWS_OF_WARP)
        while waiting != 0:
            source = np.int64(first_bit(waiting))
            waiting &= waiting - 1
            theirs = Anchor(
                take(offset, source), take(strand, source), take(lo, source), take(hi, source), np.int64(1)
            )
            begin_row = theirs.lo + lane
            counts = _occurrences(query, patterns, take(r, source), theirs, begin_row, WARP, _FEW_AT_ONCE)
            n, first, n_reverse, first_reverse = _together(counts[0], counts[1], counts[2], counts[3])
            if lane == source:
                _keep(result, r, lo, n, n_reverse, _least_key(first, first_reverse))
        _put_in_queue(result, _FOR_SHARES, hi - lo > _ROWS_OF_WARP and leader == r, r)
        begin += grid_size()


@kernel
def share_kernel(query, patterns, result):
    """Fill a SparseFound for the reads that many_rows_kernel queued, with _WARPS_OF_READ warps per read."""
    lane, n_shares = thread_in_block(), _WARPS_OF_READ * at(result.counted, _SLOTS + _FOR_SHARES)
    share = thread_index() // WARP
    while share < n_shares:
        r = _in_queue(result, _FOR_SHARES, share // _WARPS_OF_READ)
        anchor = _anchor_of(result, r)
        start, step = anchor.lo + share % _WARPS_OF_READ * WARP + lane, _WARPS_OF_READ * WARP
        counts = _occurrences(query, patterns, r, anchor, start, step, _MANY_AT_ONCE)
        n, first, n_reverse, first_reverse = _together(counts[0], counts[1], counts[2], counts[3])
        if lane == 0 and n + n_reverse > 0:
            atomic_add(result.hi, 2 * r, np.uint32(n))
            atomic_add(result.hi, 2 * r + 1, np.uint32(n_reverse))
            atomic_min(result.first, r, _least_key(first, first_reverse))
        share += grid_size() // WARP


@kernel
def repeat_kernel(query, patterns, result):
    """Fill a SparseFound for reads that are equal to one that share_kernel has searched."""
    i, n_queued = thread_index(), at(result.counted, _SLOTS + _FOR_ROWS)
    while i < n_queued:
        r = _in_queue(result, _FOR_ROWS, i)
        leader = -1 - at(result.first, r)
        if leader >= 0:
            for strand in range(2):
                result.hi[2 * r + strand] = result.hi[2 * leader + strand]
            result.first[r] = result.first[leader]
        i += grid_size()


_WARPS = 1 << 16  # warps that take reads in turn


class _SparseOnDevice(NamedTuple):
    """A Sparse with the ``steps`` of its hashes (index/sparse_gpu.py)."""

    table: SparseTable
    words: Any
    blocks: "Blocks"
    n: int
    n_bits: int
    steps: Any


class SparseFound(NamedTuple):
    """Result of a search of Patterns, as occurrences for search/hits.py.

    ``lo``, ``hi`` uint32[2 * n_reads]: hi[i] - lo[i] is the number of occurrences of pattern i. ``first``
    int64[n_reads]: the smallest key of a read, or -1 - r until repeat_kernel copies the results of an equal
    read r. ``stop``, ``how`` uint32[n_reads]: rows lo[2r] to stop[r] are those of its Anchor, whose
    ``how`` is offset << 2 | strand << 1 | is_sorted. ``report`` int64[1 or more]: its first number becomes 1
    if a read is too short. ``queue`` uint32[2 * n_reads]: queues of reads, in two halves. ``counted``
    int64[_N_COUNTED]: 1 + numbers of some reads with many rows, or 0, then the number of reads in each queue.
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
    return _SparseOnDevice(*query, make_steps(query.table.k))


class _SparseLaunch(Launch):
    """A Launch of _search_kernel and the kernels after it."""

    def __call__(self, query: Any, patterns: "Patterns", result: Any, stream: int = 0) -> None:
        gpu.fill_zero(result.counted, stream)
        super().__call__(query, patterns, result, stream)
        n_warps = min(-(-patterns.length.size // (2 * WARP)), _WARPS)
        if n_warps:
            windows = windows_kernel[n_warps, WARP, stream, self.warp_bytes]
            windows(query, patterns, result, 1, 2, SMALL_BUCKET, _FOR_LAST)
            windows(query, patterns, result, 2, _WINDOWS, _ROWS_OF_THREAD, _FOR_OTHERS)
            for following in (many_rows_kernel, share_kernel, repeat_kernel):
                following[n_warps, WARP, stream](query, patterns, result)

    def occurrences_of(
        self, query: _SparseOnDevice, locating: tuple, stream: "GpuStream", patterns: "Patterns", report: Any
    ) -> SparseFound:
        n, buffer = patterns.length.size, stream.device_array
        lo, hi = (buffer(name, n, np.uint32)[:n] for name in ("lo", "hi"))
        first = buffer("first key of read", n // 2, np.int64)
        stop, how = (buffer(name, n // 2, np.uint32) for name in ("last row", "anchor"))
        queue, counted = buffer("queue", n, np.uint32), buffer("counted reads", _N_COUNTED, np.int64)
        result = SparseFound(query, patterns, lo, hi, first, stop, how, report, queue, counted)
        self(query, patterns, result, stream.handle)
        return result


@own_launch.register(Sparse)
def _own_launch(query):
    return _SparseLaunch(_search_kernel, 1 / 2, WARP, warp_bytes=8 * N_STEPS)


@first_key.register(SparseFound)
def _first_key(result, r):
    return np.int64(at(result.first, r))


@all_keys.register(SparseFound)
def _all_keys(result, r, keys):
    n = n_occurrences(result, r)
    if n == 1:
        keys[0] = at(result.first, r)
    elif n > 1:
        query, patterns, anchor, i = result.query, result.patterns, _anchor_of(result, r), np.int64(0)
        left, length = left_of_read(query, patterns, r, anchor), length_of(patterns, r)
        by_text = looks_at_text(query, length, anchor)
        for j in range(anchor.lo, anchor.hi):
            row = at(query.table.rows, j)
            if may_be(row, left) and occurs(query, patterns, r, anchor, row, by_text):
                keys[i] = text_key(position_at_row(query, length, anchor, row), strand_at(anchor, row))
                i += 1
