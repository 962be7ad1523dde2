"""LazyRScan with two pairs a thread in 16-bit halves: three instructions for two cells.

    gain      one byte permutation: the query's letter gives a word of four bytes (what it gains against A, C,
              G, T), the target's two letters give the selector   0x5050 | first | second << 8
              (digit 4: the mismatch byte, for letters that equal nothing; digit 5: a zero byte)
    best      max(diagonal + gain, above), one fused instruction on sm_90
    value     max(best, left)

The slice's row and selectors live in registers (k of each).  The halves share the query.  H never exceeds
larger gain x shorter length, so 16 bits are exact up to 65,535 / gain bases (8,191 at the default scores);
columns past a target's end may wrap, but nothing to their left sees them.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from ...compiler.cuda import add_max_u16x2, cuda, kernel, max_u16x2, permute_bytes

LIMIT = 65535
SLICE, BLOCK, REGISTERS = 48, 384, 168  # measured: docs/align-benchmarks.md


class Doubles(NamedTuple):
    """A batch of threads, each one query and two targets: ``words`` uint32, gains of every query letter
    against A, C, G, T (lowest byte first), and a spare one; ``target`` uint8 codes; int64 ``*_starts``;
    int32 per thread ``query``, ``first``, ``second``."""

    words: np.ndarray
    query_starts: np.ndarray
    target: np.ndarray
    target_starts: np.ndarray
    query: np.ndarray
    first: np.ndarray
    second: np.ndarray


def fits(queries, targets, gains) -> bool:
    """Are 16 bits exact for every pair of these sets?"""
    longest = min(int(queries.lengths().max(initial=0)), int(targets.lengths().max(initial=0)))
    return max(gains) <= 255 and max(gains) * longest <= LIMIT


def gain_words(codes, gains) -> np.ndarray:
    """uint32 of each query letter: a byte a target letter."""
    match, mismatch = gains
    rows = np.full((5, 4), mismatch, np.uint8)
    rows[:4][np.eye(4, dtype=bool)] = match
    return rows.view("<u4").reshape(-1)[codes]


@cache
def packed_kernel(k=SLICE, registers=REGISTERS):
    """The kernel for slices of k columns, with at most so many registers a thread (None: as it likes)."""

    def run(doubles, mismatch, column, out, n_work):
        """Both H of a work item of Doubles by a thread, for items more than there are threads one after
        the other: ``mismatch`` uint32, its gain; ``column`` uint32[(longest m + 1) x threads]; ``out``
        uint32[n_work]."""
        thread, stride = cuda.grid(1), cuda.gridsize(1)
        row = cuda.local.array(k, np.uint32)
        selector = cuda.local.array(k, np.uint32)
        zero, step = np.uint32(0), np.uint64(stride)
        for work in range(thread, n_work, stride):
            query, first, second = doubles.query[work], doubles.first[work], doubles.second[work]
            a = doubles.query_starts[query]
            m = np.int32(doubles.query_starts[query + 1] - a)
            b = doubles.target_starts[first]
            n = doubles.target_starts[first + 1] - b
            b2 = doubles.target_starts[second]
            n2 = doubles.target_starts[second + 1] - b2
            result = zero
            for column0 in range(0, max(n, n2), k):
                for c in range(k):
                    low = np.uint32(doubles.target[b + column0 + c]) if column0 + c < n else np.uint32(4)
                    high = np.uint32(doubles.target[b2 + column0 + c]) if column0 + c < n2 else np.uint32(4)
                    selector[c] = np.uint32(0x5050) | low | np.uint32(high << np.uint32(8))
                    row[c] = zero
                seen = np.uint32(0xFFFFFFFF) if column0 > 0 else zero
                diagonal, letter, place = zero, np.uint64(a), np.uint64(thread)
                word, kept = doubles.words[letter], column[place]
                for _ in range(m):  # loads run a row ahead; indices are unsigned: no test for negative ones
                    now, left = word, kept & seen
                    letter += np.uint64(1)
                    word, kept = doubles.words[letter], column[place + step]
                    next_diagonal = left
                    for c in range(k):
                        above = row[c]
                        gain = permute_bytes(now, mismatch, selector[c])
                        left = max_u16x2(add_max_u16x2(diagonal, gain, above), left)
                        row[c] = left
                        diagonal = above
                    column[place] = left
                    place += step
                    diagonal = next_diagonal
                for c in range(k):
                    if column0 + c == n - 1:
                        result |= row[c] & np.uint32(0xFFFF)
                    if column0 + c == n2 - 1:
                        result |= row[c] & np.uint32(0xFFFF0000)
            out[work] = result

    return kernel(run, registers)


def pair_up(pair_query, pair_target):
    """Two pairs of one query to a thread; pairs must be ordered by query.

    Returns (query, first, second) int32[threads] and ``slot`` int64[pairs]: 2 * thread + half.
    """
    n = pair_query.size
    new = np.ones(n, bool)
    new[1:] = pair_query[1:] != pair_query[:-1]
    begin = np.maximum.accumulate(np.where(new, np.arange(n), 0))
    half = (np.arange(n) - begin) & 1
    thread = np.cumsum(half == 0) - 1
    query = pair_query[half == 0].astype(np.int32)
    first = pair_target[half == 0].astype(np.int32)
    second = first.copy()
    second[thread[half == 1]] = pair_target[half == 1]
    return query, first, second, 2 * thread + half
