"""SA -> the k-step Burrows-Wheeler transform: for each row, the k symbols that precede its suffix.

A row whose k preceding symbols hold a separator (or the start of the text) has no k-symbol: it is NONE and
is counted in no column of an occurrence table, which is what makes hi - lo the exact number of occurrences.
"""

import numpy as np

from .jit import compiled, prefetch
from .parallel import run_all, spans
from .seed_table import build_seed_table

NONE = 255  # code of a row without k-symbol
MAX_K = 3  # 4^3 codes and NONE fit in a byte


def kmer_bwt(text, sa, k, n_threads=1):
    """uint8[n]: code of the k symbols before each suffix (first symbol highest), or NONE.

    ``text`` uint8[n] (separator 0, A C G T 1 to 4), ``sa`` uint32[n], 1 <= k <= MAX_K.
    """
    codes = np.empty(sa.size, np.uint8)
    run_all(_fill, [(text, sa, k, codes, *span) for span in spans(sa.size, n_threads)], n_threads)
    return codes


@compiled
def _fill(text, sa, k, codes, start, stop):
    for row in range(start, stop):
        ahead = row + 32
        if ahead < stop:
            prefetch(text, max(np.int64(sa[ahead]) - 1, 0))
        position = np.int64(sa[row])
        code = 0
        if position < k:
            code = NONE
        else:
            for j in range(position - k, position):
                symbol = np.int64(text[j])
                if symbol == 0:
                    code = NONE
                    break
                code = code * 4 + symbol - 1
        codes[row] = code


def counts_before(text, codes, k, parts, n_threads=1):
    """int64[len(parts) + 1, 4^k]: C[c] + Occ(c, i) where each part (start, stop) of the rows starts; at n.

    ``codes`` uint8[n], the k-step BWT of ``text``.
    """
    totals = np.zeros((len(parts), 256), np.int64)
    run_all(_count_codes, [(codes, *part, totals[i]) for i, part in enumerate(parts)], n_threads)
    return np.cumsum([build_seed_table(text, k).starts[:-1], *totals[:, : 4**k]], axis=0)


@compiled
def _count_codes(codes, start, stop, counts):
    for row in range(start, stop):
        counts[codes[row]] += 1


def fill_counters(text, codes, k, d, counters, n_threads=1):
    """Write C[c] + Occ(c, r d) into row r of ``counters`` (uint32[n // d + 1, 4^k])."""
    parts = spans(codes.size, n_threads, d)
    before = counts_before(text, codes, k, parts, n_threads)
    counters[-1] = before[-1]
    run_all(_fill_counters, [(codes, *p, before[i], d, counters) for i, p in enumerate(parts)], n_threads)


@compiled
def _fill_counters(codes, start, stop, count, d, counters):
    for run_start in range(start, stop, d):
        for c in range(count.size):
            counters[run_start // d, c] = count[c]
        for row in range(run_start, min(run_start + d, stop)):
            if codes[row] != NONE:
                count[codes[row]] += 1
