"""Short ways to maximal matches for tests: letters (blocks and their separators) and queries to matches."""

from itertools import accumulate
from typing import NamedTuple

import naive
import numpy as np
from packed import codes_of, pack
from texts import numbered

from fmx.dna import FORWARD, REVERSE, pack_text
from fmx.index.bwt import build_lcp, invert
from fmx.index.reference import make_blocks
from fmx.machines.jobs import ONE_CORE
from fmx.mem import Matcher, Matches, Strands, collected
from fmx.mem.matching import ALL, IN_BOTH, JoinedMatchers
from fmx.mem.mummergpu import MummerGpu, Segment


def mummergpu(letters, least) -> MummerGpu:
    """The matcher of MUMmerGPU++ over a text, its suffix array sorted naively."""
    text = codes_of(letters)
    sa = np.array(naive.suffix_array(letters), np.uint32)
    lcp = build_lcp(text, sa)
    ends = np.flatnonzero(text == 0)
    starts = np.concatenate([[0], ends[:-1] + 1])
    blocks = make_blocks(starts, np.arange(starts.size), np.zeros_like(starts), ends - starts)
    return MummerGpu(Segment(sa, invert(ONE_CORE, sa), lcp.small, pack_text(text), blocks, 0), lcp, least)


def strands(queries) -> Strands:
    """Queries (A, C, G, T alone) as strands."""
    words, first, lengths = pack(queries)
    zeros = np.zeros_like(lengths)
    return Strands(words, first, lengths, zeros, lengths, np.arange(len(queries)), zeros)


def matches_of(matcher, strands, anchors, slice_size=None) -> list:
    """(strand, position, text, length) of all anchors, collected some at a time."""
    found = []
    for start in range(0, anchors.lo.size, slice_size or max(anchors.lo.size, 1)):
        stop = min(start + (slice_size or anchors.lo.size), anchors.lo.size)
        room = int((anchors.hi[start:stop].astype(np.int64) - anchors.lo[start:stop]).sum())
        matches = Matches(*(np.empty(room, np.int64) for _ in Matches._fields))
        n = matcher.collect(strands, anchors, start, stop, matches)
        found += zip(*(column[:n].tolist() for column in matches), strict=True)
    return found


class InSlices(NamedTuple):
    """A matcher that looks at ``n_rows`` rows at a time."""

    matcher: Matcher
    n_rows: int

    def slices(self, strands):
        return collected(self.matcher, strands, self.matcher.seek(strands), n_rows=self.n_rows)


def in_slices(matcher, n_rows):
    """A matcher, or those of all parts, in slices of so many rows."""
    if isinstance(matcher, JoinedMatchers):
        return matcher._replace(matchers=[InSlices(part, n_rows) for part in matcher.matchers])
    return InSlices(matcher, n_rows)


def ask(matcher, queries) -> list:
    """All matches of the queries."""
    found = matcher.slices(strands(queries))
    return [match for part in found for match in zip(*(column.tolist() for column in part), strict=True)]


def expect(letters, queries, least) -> list:
    """What ``ask`` must answer."""
    blocks = letters.split("$")[:-1]
    starts = list(accumulate((len(block) + 1 for block in blocks), initial=0))
    contigs, found = numbered(blocks), []
    for strand, query in enumerate(queries):
        for position, block, place, length in naive.maximal_matches(contigs, query, least):
            found.append((strand, position, starts[block] + place, length))
    return found


def rows(lines: bytes) -> list:
    """Lines of TSV as (query, begin, end, strand, contig, start, length)."""
    listed = []
    for line in lines.decode().splitlines():
        query, begin, end, strand, contig, start, stop, length = line.split("\t")
        assert int(stop) - int(start) == int(end) - int(begin) == int(length)
        listed.append((int(query), int(begin), int(end), strand, contig, int(start), int(length)))
    return listed


def expect_rows(contigs, queries, least, strands, unique) -> list:
    """What ``rows`` must give, ordered by query, strand, position in it, contig and position."""
    listed = []
    for number, query in enumerate(queries):
        for strand, bit in (("+", FORWARD), ("-", REVERSE)):
            if not strands & bit:
                continue
            spelled = query if strand == "+" else naive.reverse_complement(query)
            if unique == ALL:
                found = naive.maximal_matches(contigs, spelled, least)
            else:
                found = naive.unique_matches(contigs, spelled, least, unique == IN_BOTH)
            for position, contig, start, length in found:
                begin = position if strand == "+" else len(query) - position - length
                name = contigs[contig][0]
                listed.append((number, begin, begin + length, strand, name, start, length))
    return listed
