"""Reads and hits of each contig, over all occurrences, in time that grows with the occurrences.

Patterns with many occurrences are short, so there are few of them: reads that occur at the same rows are
located once, however many they are.
"""

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import find_block

_MANY = 64  # occurrences, from which on reads are looked at for being the same
_MOST = 1 << 17  # positions located at a time


def tally(parts, blocks, total, at_most, table) -> None:
    """Add to ``table`` int64[n_contigs, 2] the (reads, hits) of all reads of a batch.

    ``parts``: of each part of the text a locator, its Intervals, and where it starts in the text;
    ``total`` int64[n_reads] occurrences; reads with more than ``at_most`` do not count.
    """
    reads = np.flatnonzero((total > 0) & (total <= at_most))
    columns = [column.reshape(-1, 2)[reads] for _, intervals, _ in parts for column in intervals]
    rows = np.concatenate(columns, axis=1).astype(np.int64)  # of each part lo, lo of the reverse, hi, hi
    many = total[reads] >= _MANY
    repeated, n_times = np.unique(rows[many], axis=0, return_counts=True)
    rows = np.concatenate([rows[~many], repeated])
    weight = np.append(np.ones(rows.shape[0] - n_times.size, np.int64), n_times)
    seen = np.full(table.shape[0], -1, np.int64)
    for part, (locator, _, start) in enumerate(parts):  # a contig is in one part
        lo, hi = (rows[:, 4 * part + i : 4 * part + i + 2].ravel() for i in (0, 2))
        for first, piece_lo, size in _pieces(lo, hi - lo):
            _count(locator.locate(piece_lo, size), start, size, first, weight, blocks, seen, table)


def _pieces(lo, size):
    """Yield (number of the first interval, lo, size) of runs of intervals with at most _MOST rows in all."""
    ends = np.cumsum(size)
    n_rows = int(ends[-1]) if ends.size else 0
    for begin in range(0, n_rows, _MOST):
        end = min(begin + _MOST, n_rows)
        a = int(np.searchsorted(ends, begin, "right"))
        b = int(np.searchsorted(ends, end, "left")) + 1
        starts = np.maximum(begin - (ends[a:b] - size[a:b]), 0)
        yield a, lo[a:b] + starts, np.minimum(ends[a:b], end) - (ends[a:b] - size[a:b]) - starts


@compiled
def _count(positions, start, size, first, weight, blocks, seen, table):
    """Count positions of intervals from ``first`` on, two a read; ``seen``: last read of each contig."""
    n = 0
    for i in range(size.size):
        read = (first + i) >> 1
        for _ in range(size[i]):
            contig = blocks.contig[find_block(blocks, start + np.int64(positions[n]))]
            table[contig, 0] += weight[read] * (seen[contig] != read)
            table[contig, 1] += weight[read]
            seen[contig] = read
            n += 1
