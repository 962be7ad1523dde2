"""Segments of a suffix array that does not fit into a GPU's memory, and rounds of queries over them.

A segment is the suffixes that start in a stretch of the text, taken from the whole suffix array in its
order, so nothing is sorted again; what two of its rows have in common is the least LCP value between them:

    row      0   1   2   3   4   5      text positions 0 to 2: rows 1, 2 and 5
    sa       5   1   0   4   3   2      sa     1   0   2
    lcp      0   3   4   2   5   1      lcp    0   4   1 = min(2, 5, 1)

A suffix is compared with the whole text, a sixteenth of a suffix array's size, so segments need no overlap.
The longest match of a subquery in any segment is its longest match, and its row in the whole array follows
from its text position: what comes after does not know of segments.
"""

from dataclasses import dataclass

import numpy as np

from ..compiler.functions import compiled
from ..errors import DeviceError
from ..machines.gpu import memory_beside
from ..machines.threads import run_all, spans
from .contracts import take
from .rank_walk import Segment
from .strands import word_ends

SUFFIX_BYTES = 9  # of sa, rank and lcp
JOB_BYTES, STRAND_BYTES = 24, 56  # of a strand: a word and six columns, and as much for each further word
QUERY_BYTES = 512 << 20  # of queries and results of a round, where there is room for more


@dataclass(frozen=True)
class Division:
    """``n_suffixes`` of a segment; bytes for the ``queries`` and for the ``results`` of a round; flights."""

    n_suffixes: int
    queries: int
    results: int
    n_flights: int = 1


def divide(n_text, shared, room, n_flights=1) -> Division:
    """The largest segments for ``room`` bytes, of which text and blocks take ``shared``.

    A quarter of what they leave is for queries, at most QUERY_BYTES for each flight; there is one flight
    where more of them would leave less room.  Raises DeviceError.
    """
    rest = memory_beside(room, shared, 2 * SUFFIX_BYTES, "the text")
    wanted = QUERY_BYTES * n_flights
    if rest < max(4 * wanted, wanted + SUFFIX_BYTES * n_text):
        n_flights = 1
    queries = min(QUERY_BYTES * n_flights, rest // 4)
    n_suffixes = min((rest - queries) // SUFFIX_BYTES, n_text)
    of_one = queries // n_flights
    return Division(n_suffixes, of_one // 4, of_one - of_one // 4, n_flights)


def cut_segments(whole, n_suffixes, make=np.empty, n_threads=1) -> list:
    """The segments of at most ``n_suffixes`` each, in the order of the text, in arrays by ``make``."""
    n = whole.sa.size
    if n_suffixes >= n:
        return [whole]
    segments = []
    for first in range(0, n, n_suffixes):
        size = min(n_suffixes, n - first)
        arrays = make(size, np.uint32), make(size, np.uint32), make(size, np.uint8)
        segments.append(Segment(*arrays, whole.words, whole.blocks, first))
    run_all(_fill, [(whole, segment) for segment in segments], n_threads)
    return segments


@compiled
def _fill(whole, segment):
    first, stop, n = segment.first, segment.first + segment.sa.size, 0
    shared = np.uint8(0)
    for row in range(whole.sa.size):
        shared = min(shared, whole.lcp[row])
        position = np.int64(whole.sa[row])
        if first <= position < stop:
            segment.sa[n] = position
            segment.lcp[n] = shared
            segment.rank[position - first] = n
            shared = np.uint8(255)
            n += 1


def rounds(strands, jobs, division) -> list:
    """Runs (start, stop) of jobs whose queries and results fit.  Raises DeviceError if one job does not."""
    index = JOB_BYTES * np.arange(jobs.strand.size)
    ends = STRAND_BYTES * word_ends(strands)[jobs.strand] + index + JOB_BYTES
    begins = STRAND_BYTES * strands.first[jobs.strand] + index
    cuts, start = [], 0
    while start < jobs.strand.size:
        stop = min(
            int(np.searchsorted(ends, begins[start] + division.queries, "right")),
            int(np.searchsorted(jobs.slot, jobs.slot[start] + division.results // 8, "right")) - 1,
        )
        if stop <= start:
            raise DeviceError(
                f"a query of {int(strands.length[jobs.strand[start]]):,} symbols does not fit beside a "
                "segment of the index: raise --gpu-memory, or take --engine cpu"
            )
        cuts.append((start, stop))
        start = stop
    return cuts


def merge(segment, rank, found, whole, n_threads=1):
    """Take what was ``found`` in a segment into ``whole``, of the same subqueries, where it is longer."""
    cuts = [slice(*span) for span in spans(found.row.size, n_threads)]
    run_all(_merge, [(segment, rank, take(found, cut), take(whole, cut)) for cut in cuts], n_threads)


@compiled
def _merge(segment, rank, found, whole):
    for slot in range(found.row.size):
        if found.length[slot] > whole.length[slot]:
            whole.length[slot] = found.length[slot]
            whole.row[slot] = rank[segment.sa[found.row[slot]]]
