"""Matching by suffix array, rank array and LCP array: one query after another, one thread each.

The matching stage of MUMmerGPU++ (Gharaibeh and Ripeanu 2010, III.C, figure 6). For each subquery, a suffix
of a strand, it finds a row of the suffix array whose suffix has the longest match with it:

    subquery i       binary search; say it matches m >= l symbols of the suffix in row r
    subquery i + 1   matches m - 1 symbols of the suffix one symbol further, in row rank[SA[r] + 1]; from
                     there, rows are scanned towards the subquery's own place in the order (up or down)
    m < l            no match: the next subquery begins with a binary search again

In a scan the LCP array decides about each next row before its suffix is read: it matches less (the scan
ends), the same (the scan continues), or must be compared, from the symbols on that are known to match.

The same functions run on a CPU and, called by a kernel, on a GPU. They search a segment: the suffixes that
start in a range of the text. Each suffix is in one segment, and every segment has the whole text, so a match
may cross the end of a segment, and no match is in two of them.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch
from ..compiler.sorting import N_DIGITS
from ..index.bwt import LCP, lcp_below
from ..index.contracts import LARGE_LCP
from ..index.fm_index import load_lcp
from ..index.reference import Blocks, Subquery, compare, find_block, symbol
from ..machines.jobs import run_all, spans
from . import collected, put_in_order, take

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex
    from . import Matches, Strands

N_SUBQUERIES = 1024  # per job at most: longer strands are several jobs, each begun by binary search


class Segment(NamedTuple):
    """The suffixes that start at text positions ``first`` to ``first + n - 1``, in the order of their rows.

    ``sa`` uint32[n]: text positions. ``rank`` uint32[n]: row of the suffix at ``first + i``. ``lcp``
    uint8[n]: symbols in common with the preceding row, 255 also for more. ``words``: the packed text.
    """

    sa: np.ndarray
    rank: np.ndarray
    lcp: np.ndarray
    words: np.ndarray
    blocks: Blocks
    first: int


class Jobs(NamedTuple):
    """Runs of subqueries, in order. Job j starts with subquery ``begin[j]`` of strand ``strand[j]``.

    Its results are ``slot[j]`` to ``slot[j + 1] - 1``, one per subquery. All int64, of length n, n and n + 1.
    """

    strand: np.ndarray
    begin: np.ndarray
    slot: np.ndarray


class LongestMatches(NamedTuple):
    """The ``row`` of a longest match and its ``length`` in symbols per subquery, uint32[n] each.

    If the length is below l, the row has no meaning.
    """

    row: np.ndarray
    length: np.ndarray


def make_jobs(strands: "Strands", least: int) -> Jobs:
    """Return jobs of all requested subqueries of ``strands`` with ``least`` symbols or more."""
    stop = np.minimum(strands.stop, strands.length - least + 1)
    n_subqueries = np.maximum(stop - strands.start, 0)
    n_jobs = -(-n_subqueries // N_SUBQUERIES)
    strand = np.repeat(np.arange(n_jobs.size), n_jobs)
    done = (np.arange(strand.size) - (np.cumsum(n_jobs) - n_jobs)[strand]) * N_SUBQUERIES
    slot = np.zeros(strand.size + 1, np.int64)
    np.cumsum(np.minimum(n_subqueries[strand] - done, N_SUBQUERIES), out=slot[1:])
    return Jobs(strand, strands.start[strand] + done, slot)


@inlined
def match_job(segment, strands, jobs, least, job, longest):
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
                row, length = _scan_rows(segment, subquery, row, length, order)
        else:
            row, length = _binary_search(segment, subquery)
        position = np.int64(at(segment.sa, row))
        longest.row[slot] = np.uint32(row)
        longest.length[slot] = np.uint32(length)
        i += 1


@inlined
def _scan_rows(segment, subquery, row, length, step):
    """Return (row, length) of a longest match, from a row with ``length`` symbols of the subquery.

    ``step``: direction of the subquery's own place: 1 for rows below, which sort after it, or -1 for rows
    above.
    """
    order = step
    while order == step and 0 <= row + step < segment.sa.size:
        shared = np.int64(at(segment.lcp, max(row, row + step)))
        if shared < length and shared < LARGE_LCP:
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
    """Return (row, length) of a longest match: one of the two rows between which the subquery sorts.

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


# Matching gives one row and length for each subquery (above). Post-processing scans the LCP array up and down
# from that row for all other rows (figure 7):
#
#     row     lcp   suffix                 least = 3, subquery ACGTC
#     r - 2     1   AAT                    lcp[r - 1] = 2 < 3: the scan up ends here
#     r - 1     2   ACGA      3 symbols    min(4, lcp[r])
#     r         3   ACGTA     4 symbols    found by matching
#     r + 1     4   ACGTT     4 symbols    min(4, lcp[r + 1])
#     r + 2     2   ACT                    the scan down ends here
#
# A match that extends to the left is omitted: it belongs to the preceding subquery.

_AHEAD = 8  # anchors ahead that are prefetched
_NOTHING = np.uint64(4)  # a symbol that equals no other


class MummerGpu(NamedTuple):
    """``segment``: the whole text; ``lcp``: its LCP array; ``least``: symbols of a match."""

    segment: Segment
    lcp: LCP
    least: int

    def slices(self, strands: "Strands") -> Iterator["Matches"]:
        """Yield the Matches of strands in order (Matcher)."""
        return collected(self, strands, self.seek(strands))

    def seek(self, strands: "Strands") -> "Subqueries":
        """Return the subqueries of all strands that match."""
        jobs = make_jobs(strands, self.least)
        longest = match_all(self.segment, strands, jobs, self.least)
        return subqueries(self.lcp, self.least, jobs, longest)

    def collect(
        self, strands: "Strands", anchors: "Subqueries", start: int, stop: int, matches: "Matches"
    ) -> int:
        """Write the matches of subqueries start to stop; return their number."""
        return _process(self, strands, anchors, start, stop, np.empty(N_DIGITS, np.int64), matches)


class Subqueries(NamedTuple):
    """Anchors (fmx.mem), one per subquery that matches, with ``row`` and ``length`` of a longest match.

    The rows [lo, hi) are all rows that share ``least`` symbols with the subquery.
    """

    strand: np.ndarray
    position: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    row: np.ndarray
    length: np.ndarray


def make_mummergpu(index: "FMIndex", least: int) -> MummerGpu:
    """Return a matcher with an index that was opened for seed and verify and has an LCP array.

    Raises IndexFileError, UnsupportedError.
    """
    lcp, rank = load_lcp(index)
    words, blocks = index.text_words, index.reference.blocks
    return MummerGpu(Segment(index.sa.positions, rank, lcp.small, words, blocks, 0), lcp, least)  # type: ignore[arg-type]


def match_all(segment: Segment, strands: "Strands", jobs: Jobs, least: int) -> LongestMatches:
    """Return the longest match of every subquery in a segment, found by one thread."""
    longest = LongestMatches(*(np.empty(jobs.slot[-1], np.uint32) for _ in LongestMatches._fields))
    _match(segment, strands, jobs, np.int64(least), longest)
    return longest


def subqueries(lcp: LCP, least: int, jobs: Jobs, longest: LongestMatches, n_threads: int = 1) -> Subqueries:
    """Return the subqueries that match, with their rows."""
    cuts = spans(jobs.strand.size, n_threads)
    shares = [Jobs(jobs.strand[a:b], jobs.begin[a:b], jobs.slot[a : b + 1]) for a, b in cuts]
    parts = [(longest.length[share.slot[0] : share.slot[-1]],) for share in shares]
    sizes = run_all(lambda lengths: np.count_nonzero(lengths >= least), parts, n_threads)
    ends = np.append(0, np.cumsum(sizes, dtype=np.int64))
    dtypes = (np.int64, np.int64, np.uint32, np.uint32, np.uint32, np.uint32)
    anchors = Subqueries(*(np.empty(ends[-1], dtype) for dtype in dtypes))
    slots = [take(anchors, slice(*span)) for span in pairwise(ends)]
    work = [(lcp, np.int64(least), share, longest, slot) for share, slot in zip(shares, slots, strict=True)]
    run_all(_take, work, n_threads)
    return anchors


@compiled
def _match(segment, strands, jobs, least, longest):
    for job in range(jobs.strand.size):
        match_job(segment, strands, jobs, least, job, longest)


@compiled
def _take(lcp, least, jobs, longest, anchors):
    """Write the subqueries of jobs that match, and their rows, found by scanning the LCP array."""
    n = 0
    for job in range(jobs.strand.size):
        shift = jobs.begin[job] - jobs.slot[job]
        for slot in range(jobs.slot[job], jobs.slot[job + 1]):
            if slot + _AHEAD < longest.row.size and longest.length[slot + _AHEAD] >= least:
                prefetch(lcp.small, np.int64(longest.row[slot + _AHEAD]))
            if longest.length[slot] >= least:
                lo = np.int64(longest.row[slot])
                hi = lo + 1
                anchors.row[n], anchors.length[n] = lo, longest.length[slot]
                while lcp_below(lcp, lo, least) == least:
                    lo -= 1
                while hi < lcp.small.size and lcp_below(lcp, hi, least) == least:
                    hi += 1
                anchors.lo[n], anchors.hi[n] = lo, hi
                anchors.strand[n], anchors.position[n] = jobs.strand[job], shift + slot
                n += 1


@compiled
def _process(matcher, strands, anchors, start, stop, counts, matches):
    """Post-processing: write all matches of some anchors, those of each in the order of the text.

    ``counts`` int64[N_DIGITS] is scratch.
    """
    n = 0
    for a in range(start, stop):
        if a + 2 * _AHEAD < stop:
            prefetch(matcher.segment.sa, np.int64(at(anchors.row, a + 2 * _AHEAD)))
        if a + _AHEAD < stop:
            prefetch(matcher.segment.words, np.int64(matcher.segment.sa[at(anchors.row, a + _AHEAD)]) >> 5)
        before = n
        n = _scan(matcher, strands, anchors, a, matches, n)
        put_in_order(matches, before, n, anchors.strand[a], counts)
    return n


@inlined
def _scan(matcher, strands, anchors, a, matches, n):
    """Write the maximal matches of an anchor from n on; return the next n."""
    middle, length, i = np.int64(anchors.row[a]), np.int64(anchors.length[a]), anchors.position[a]
    before = symbol(strands.words, strands.first[anchors.strand[a]], i - 1) if i > 0 else _NOTHING
    shared = length
    for row in range(middle, np.int64(anchors.lo[a]) - 1, -1):
        n = _note(matcher, i, before, row, shared, matches, n)
        shared = lcp_below(matcher.lcp, row, shared)
    shared = length
    for row in range(middle + 1, np.int64(anchors.hi[a])):
        shared = lcp_below(matcher.lcp, row, shared)
        n = _note(matcher, i, before, row, shared, matches, n)
    return n


@inlined
def _note(matcher, i, before, row, length, matches, n):
    """Write a match of subquery i in the form that put_in_order sorts, unless it extends to the left.

    Return the next n. ``before``: the symbol before the subquery.
    """
    text = np.int64(matcher.segment.sa[row])
    if text > 0 and symbol(matcher.segment.words, 0, text - 1) == before:
        blocks = matcher.segment.blocks
        if at(blocks.text_start, find_block(blocks, text)) < text:
            return n
    matches.position[n], matches.length[n] = (i << 32) | text, length
    return n + 1
