"""Matching by suffix array, rank array and LCP array: one query after another, one thread each.

The matching stage of MUMmerGPU++ (Gharaibeh and Ripeanu 2010, III.C, figure 6).  For each subquery, a suffix
of a strand, it finds a row of the suffix array whose suffix has the longest match with it:

    subquery i       binary search; say it matches m >= l symbols of the suffix in row r
    subquery i + 1   matches m - 1 symbols of the suffix one symbol further, in row rank[SA[r] + 1]; from
                     there, rows are scanned towards the subquery's own place in the order (up or down)
    m < l            no match: the next subquery begins with a binary search again

In a scan the LCP array tells for each next row, before its suffix is touched, that it matches less (the scan
is over), the same (further), or has to be compared, from the symbols on that are known to match.

The same functions run on a CPU and, called by a kernel, on a GPU.  They look at a segment: the suffixes that
start in a part of the text.  A suffix is in one segment, and the text is whole in each, so a match may run
across the end of a segment, and no match is in two of them.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at
from ..index.building.suffix_array.lcp import LARGE
from ..index.reference import Blocks
from .compare import Subquery, compare

N_SUBQUERIES = 1024  # of a job at most: longer strands are several jobs, each begun by binary search


class Segment(NamedTuple):
    """The suffixes that start at text positions ``first`` to ``first + n - 1``, in the order of their rows.

    ``sa`` uint32[n] text positions; ``rank`` uint32[n] the row of the suffix at ``first + i``; ``lcp``
    uint8[n] symbols in common with the row before, 255 also for more; ``words`` the packed text.
    """

    sa: np.ndarray
    rank: np.ndarray
    lcp: np.ndarray
    words: np.ndarray
    blocks: Blocks
    first: int


class Jobs(NamedTuple):
    """Runs of subqueries, in order.  Job j is subqueries ``begin[j]`` on of strand ``strand[j]``.

    Its results are ``slot[j]`` to ``slot[j + 1] - 1``: one a subquery.  All int64; n, n and n + 1 long.
    """

    strand: np.ndarray
    begin: np.ndarray
    slot: np.ndarray


class Found(NamedTuple):
    """By subquery: the ``row`` of a longest match and its ``length`` in symbols, uint32[n] each.

    The row of a length below l means nothing.
    """

    row: np.ndarray
    length: np.ndarray


def make_jobs(strands, least) -> Jobs:
    """Jobs of all subqueries of ``strands`` (Strands) that are wanted and have ``least`` symbols or more."""
    stop = np.minimum(strands.stop, strands.length - least + 1)
    n_subqueries = np.maximum(stop - strands.start, 0)
    n_jobs = -(-n_subqueries // N_SUBQUERIES)
    strand = np.repeat(np.arange(n_jobs.size), n_jobs)
    done = (np.arange(strand.size) - (np.cumsum(n_jobs) - n_jobs)[strand]) * N_SUBQUERIES
    slot = np.zeros(strand.size + 1, np.int64)
    np.cumsum(np.minimum(n_subqueries[strand] - done, N_SUBQUERIES), out=slot[1:])
    return Jobs(strand, strands.start[strand] + done, slot)


@inlined
def match_job(segment, strands, jobs, least, job, found):
    """Find the longest match of each subquery of a job in a segment."""
    strand = at(jobs.strand, job)
    first, m = at(strands.first, strand), at(strands.length, strand)
    i, n = at(jobs.begin, job), np.int64(segment.sa.size)
    position = row = length = np.int64(0)
    for slot in range(at(jobs.slot, job), at(jobs.slot, job + 1)):
        subquery = Subquery(strands.words, first, i, m)
        next_one = position + 1 - segment.first
        if length >= least and length > 1 and next_one < n:
            row = np.int64(at(segment.rank, next_one))
            length, order = compare(segment, position + 1, subquery, length - 1)
            if order != 0:
                row, length = _scan(segment, subquery, row, length, order)
        else:
            row, length = _binary_search(segment, subquery)
        position = np.int64(at(segment.sa, row))
        found.row[slot] = np.uint32(row)
        found.length[slot] = np.uint32(length)
        i += 1


@inlined
def _scan(segment, subquery, row, length, step):
    """(row, length) of a longest match, from a row whose suffix has ``length`` symbols of the subquery.

    ``step`` is where the subquery's own place is: 1, in rows below that sort after it, or -1, above.
    """
    order = step
    while order == step and 0 <= row + step < segment.sa.size:
        shared = np.int64(at(segment.lcp, max(row, row + step)))
        if shared < length and shared < LARGE:
            break
        if shared <= length:
            position = np.int64(at(segment.sa, row + step))
            longer, order = compare(segment, position, subquery, shared)
            if longer < length:
                break
            length = longer
        row += step
    return row, length


@inlined
def _binary_search(segment, subquery):
    """(row, length) of a longest match: one of the two rows between which the subquery belongs.

    The symbols that both bounds share with the subquery are not compared again (Manber and Myers 1990).
    """
    low, high = np.int64(-1), np.int64(segment.sa.size)  # rows before and after the subquery
    low_length = high_length = np.int64(0)
    while high - low > 1:
        middle = (low + high) >> 1
        position = np.int64(at(segment.sa, middle))
        length, order = compare(segment, position, subquery, min(low_length, high_length))
        if order == 0:
            return middle, length
        if order < 0:
            high, high_length = middle, length
        else:
            low, low_length = middle, length
    if low_length > high_length or high == segment.sa.size:
        return low, low_length
    return high, high_length
