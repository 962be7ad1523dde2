"""Building a sparse suffix array: sample positions, distribute rows to parts, order each part.

    sample   a bit for each position of the text; the number of rows of each stretch in each part
    place    rows, by part, and within a part in text order
    order    a part: by buckets, and rows of large buckets by the text

A part is _PART_BITS bits of buckets, which fit a core's cache.  The rows do not depend on the number of
threads.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, low_bits, prefetch, trailing_zeros
from ..compiler.sorting import N_DIGITS, differing, digit_of, lay_out_digits, next_place, sort_few
from ..machines.jobs import Array, Cores, do, run_all
from .reference import Blocks, find_block
from .sparse import (
    AT_ONCE,
    DEPTH,
    ROOM,
    SMALL_BUCKET,
    SPAN,
    SparseName,
    SparseTable,
    bucket_bits,
    bucket_of,
    canonical,
    find_minimizers,
    hash_kmers,
    minimizers,
    position_in,
    row_key,
    row_of,
)  # fmt: skip

_PART_BITS = 16


class _Text(NamedTuple):
    """A text of n symbols, packed in ``words``, and its ``blocks``; k, w and 2^n_bits buckets."""

    words: Array
    blocks: Array
    n: int
    k: int
    w: int
    n_bits: int


def build_sparse(
    words: np.ndarray,
    blocks: Blocks,
    n_text: int,
    name: SparseName,
    n_threads: int = 1,
    done: Callable[[float], object] = lambda share: None,
) -> SparseTable:
    """Build the SparseTable ``name`` of a part: n_text symbols, packed in ``words``."""
    cores, n_bits = Cores(n_threads), bucket_bits(n_text, name.w)
    text = _Text(words, blocks, n_text, name.k, name.w, n_bits)
    size = cores.stretch_size(n_text, 64)
    n_stretches, n_parts = -(-n_text // size), 1 << max(n_bits - _PART_BITS, 0)
    sampled = np.zeros(n_text // 64 + 1, np.uint64)
    counts = np.zeros((n_stretches, n_parts), np.int64)
    cores.run(_SamplePositions(text, sampled, counts, np.empty((n_stretches, ROOM), np.int32)), n_text, size)
    done(0.5)
    ends = np.cumsum(counts.T).reshape(n_parts, n_stretches)
    rows, low = np.empty(ends[-1, -1], np.uint64), np.empty(ends[-1, -1], np.uint16)
    to = np.ascontiguousarray((ends - counts.T).T)
    borders = np.append(to[0], rows.size)
    cores.run(_PlaceRows(text, sampled, to, rows, low), n_text, size)
    done(0.75)
    del sampled
    starts = np.zeros((1 << n_bits) + 1, np.uint32)
    starts[-1] = rows.size
    n_buckets = 1 << min(n_bits, _PART_BITS)

    def order(part: int) -> None:
        """Order the rows of a part, and record where its buckets start."""
        start, stop = int(borders[part]), int(borders[part + 1])
        of_part = starts[part * n_buckets : (part + 1) * n_buckets]
        most = _to_buckets(rows[start:stop].copy(), low[start:stop], start, rows, of_part)
        if most > SMALL_BUCKET:
            keys, spare_keys, ends, counts = (np.empty(n, np.int64) for n in (most, most, most, N_DIGITS))
            buffers = _RowBuffers(keys, spare_keys, np.empty(most, np.uint64), ends, counts)
            _order_buckets(text, rows, of_part, stop, buffers)

    run_all(order, [(part,) for part in range(n_parts)], n_threads)
    return SparseTable(rows, starts, name.k, name.w)


@inlined
def _span_of(text, block, start, stop):
    """Return (begin, end) of a block, and its first and last k-mers that start from ``start`` to ``stop``."""
    begin = at(text.blocks.text_start, block)
    end = begin + at(text.blocks.length, block)
    if end - begin < text.k + text.w - 1:
        return begin, end, np.int64(0), np.int64(-1)
    return begin, end, max(begin, start), min(end - text.k, stop - 1)


@do.of("text sampled counts room")
def _SamplePositions(job, stretch, start, stop):
    """Set a bit of ``sampled`` uint64 for each sampled position of a _Text, and count their rows.

    ``counts`` int64[stretches, parts], both initially zero; ``room`` int32[stretches, ROOM].
    """
    text, room, counts = job.text, job.room[stretch], job.counts[stretch]
    block, reach, most = find_block(text.blocks, start), text.w - 1, SPAN - 2 * text.w - text.k
    while block < text.blocks.length.size and at(text.blocks.text_start, block) < stop:
        begin, end, i, last = _span_of(text, block, start, stop)
        while i <= last:
            n = min(last + 1 - i, most)
            low = max(i - reach, begin)
            high = min(i + n - 1 + reach, end - text.k)
            hash_kmers(text.words, 0, low, high - low + 1, text.k, room)
            find_minimizers(room, high - low + 1, text.w)
            for j in range(0, n, 32):
                bits = np.uint64(minimizers(room, i - low + j, text.w)) & low_bits(np.int32(n - j))
                word, shift = (i + j) >> 6, (i + j) & 63
                job.sampled[word] |= bits << np.uint64(shift)
                if shift > 32 and bits >> np.uint64(64 - shift):  # it may belong to another thread
                    job.sampled[word + 1] |= bits >> np.uint64(64 - shift)
                while bits:
                    kmer, _ = canonical(text.words, 0, i + j + trailing_zeros(bits), text.k)
                    counts[bucket_of(kmer, text.n_bits) >> _PART_BITS] += 1
                    bits &= bits - np.uint64(1)
            i += n
        block += 1


@do.of("text sampled to rows low")
def _PlaceRows(job, stretch, start, stop):
    """Write ``rows`` uint64 and the low bits of their buckets, ``low`` uint16.

    ``to`` int64[stretches, parts]: where those of a stretch begin.
    """
    text, to = job.text, job.to[stretch]
    block = find_block(text.blocks, start)
    begin, end, _, _ = _span_of(text, block, start, stop)
    for word in range(start >> 6, (stop + 63) >> 6):
        bits = at(job.sampled, word)
        while bits:
            position = 64 * word + trailing_zeros(bits)
            bits &= bits - np.uint64(1)
            while position >= end:
                block += 1
                begin, end, _, _ = _span_of(text, block, start, stop)
            kmer, strand = canonical(text.words, 0, position, text.k)
            bucket = bucket_of(kmer, text.n_bits)
            i = to[bucket >> _PART_BITS]
            to[bucket >> _PART_BITS] = i + 1
            job.rows[i] = row_of(text.words, position, strand, text.k, begin, end)
            job.low[i] = bucket & ((1 << _PART_BITS) - 1)


@compiled
def _to_buckets(spare, low, first, rows, starts):
    """Put a part's rows, from ``first`` on, in the order of buckets; return the size of the largest."""
    for i in range(low.size):
        starts[low[i]] += np.uint32(1)
    most, to = np.int64(0), first
    for bucket in range(starts.size):
        n = np.int64(starts[bucket])
        starts[bucket] = to
        most, to = max(most, n), to + n
    for i in range(low.size):
        bucket = low[i]
        rows[starts[bucket]] = spare[i]
        starts[bucket] += np.uint32(1)
    for bucket in range(starts.size - 1, 0, -1):  # each has become that of the next one
        starts[bucket] = starts[bucket - 1]
    starts[0] = first
    return most


# The rows of a large bucket in text order, by AT_ONCE symbols of all rows that are still equal at a time.

_SMALL = 64  # rows that are sorted by insertion
_AHEAD = 8


class _RowBuffers(NamedTuple):
    """A thread's memory for up to n rows.

    ``keys`` and ``spare_keys`` int64[n]; ``spare`` uint64[n]; ``ends`` int64[n]: at the first of a run of
    equal rows, the end of the run; ``counts`` int64[N_DIGITS].
    """

    keys: np.ndarray
    spare_keys: np.ndarray
    spare: np.ndarray
    ends: np.ndarray
    counts: np.ndarray


@compiled
def _order_buckets(text, rows, starts, stop, buffers):
    """Order the rows of each large bucket by DEPTH symbols; equal rows stay in their order."""
    for bucket in range(starts.size):
        first = np.int64(starts[bucket])
        n = (np.int64(starts[bucket + 1]) if bucket + 1 < starts.size else stop) - first
        depth = 0 if n > SMALL_BUCKET else DEPTH
        while depth < DEPTH:
            if depth == 0:
                buffers.ends[0] = n
            n_alike, i = np.int64(0), np.int64(0)
            while i < n:
                end = buffers.ends[i]
                if end - i > 1:
                    n_alike += _order_run(text, rows[first : first + n], i, end, depth, buffers)
                i = end
            depth = depth + AT_ONCE if n_alike > 0 else DEPTH


@inlined
def _order_run(text, rows, start, stop, depth, buffers):
    """Order rows start to stop by the symbols from ``depth`` on; return how many of them are still equal."""
    keys, ends = buffers.keys, buffers.ends
    for i in range(start, stop):
        if i + _AHEAD < stop:
            prefetch(text.words, (position_in(at(rows, i + _AHEAD)) + depth) >> 5)
        keys[i] = row_key(text.words, text.blocks, at(rows, i), text.k, depth)
    _sort(rows, start, stop, buffers)
    n_alike, i = np.int64(0), start
    while i < stop:
        end = i + 1
        while end < stop and keys[end] == keys[i]:
            end += 1
        if keys[i] & 63 < AT_ONCE:  # their blocks have ended
            for j in range(i, end):
                ends[j] = j + 1
        else:
            ends[i] = end
            n_alike += end - i - 1
        i = end
    return n_alike


@inlined
def _sort(rows, start, stop, buffers):
    """Sort rows start to stop by their keys, which are not negative; equal rows stay in their order."""
    keys, differ = buffers.keys, differing(buffers.keys, start, stop)
    if differ == 0:
        return
    if stop - start <= _SMALL:
        sort_few(keys, rows, start, stop)
        return
    for digit in range(8):
        shift = np.uint64(8 * digit)
        if digit_of(differ, shift):
            lay_out_digits(keys, start, stop, shift, buffers.counts)
            for j in range(start, stop):
                to = next_place(buffers.counts, at(keys, j), shift)
                buffers.spare_keys[to], buffers.spare[to] = at(keys, j), at(rows, j)
            for j in range(start, stop):
                keys[j], rows[j] = at(buffers.spare_keys, j), at(buffers.spare, j)
