"""SA -> the k-step Burrows-Wheeler transform: for each row, the k symbols that precede its suffix.

A row whose k preceding symbols hold a separator (or the start of the text) has no k-symbol: it is NONE and
is counted in no column of an occurrence table, which is what makes hi - lo the exact number of occurrences.
"""

import numpy as np

from .jit import compiled, prefetch
from .parallel import run_all, spans

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
