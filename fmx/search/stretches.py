"""Stretches: whether ``least`` consecutive bases of a read occur, on either strand, inside one contig.

A read is cut at letters other than A, C, G, T and U. The search of a read ends with the first stretch. With a
whole suffix array, seeds of s symbols lie least - s + 1 symbols apart, so that every stretch holds one of
them. The seed table gives the rows of a seed; at each of them the text is compared with the read to the left
and to the right. If a seed has many rows, each stretch that holds it is sought by binary search, among the
rows of the first s symbols of the stretch. With a sparse suffix array, every stretch of k + w - 1 symbols or
more holds a minimizer of the read (index/sparse.py), and the text is compared at the rows of these.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, prefetch, trailing_zeros
from ..compiler.simd import LANES
from ..errors import UnsupportedError
from ..index.contracts import FREE, HI, LO, PATTERN, advance, begin
from ..index.disk import part_span
from ..index.reference import (
    Blocks,
    Subquery,
    common_prefix,
    common_suffix,
    compare,
    find_block,
    first_row,
    position_of_text_key,
    text_key,
)
from ..index.sparse import (
    ROOM,
    SPAN,
    bucket_of,
    canonical,
    find_minimizers,
    hash_kmers,
    minimizers,
    position_in,
    strand_in,
    too_short,
)
from ..index.tables import SeedTable
from ..input.dna import CODE, OTHER, symbols
from ..input.reads import ReadBatch, pack
from .counts import MATES
from .engines import cpu
from .find import ReadFinder, SearchedReads, TextPart, make_query
from .hits import Candidates, ReadRun

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.mates import Mates
    from ..input.reads import Patterns
    from .counts import Demultiplexer, Screen, Tally
    from .mapping import MapOptions, Observers
    from .queries.sparse import Sparse
    from .queries.verify import Verify

STAGE, PLACE, SEED = range(FREE, FREE + 3)
_LOOKUP, _ROWS, _TEXTS = range(3)
_PLACE, _REVERSE, _FIRST, _LAST, _N_KMER = range(5)  # columns of a k-mer of a read
FEW, MANY = 8, 128  # rows that are compared together; most rows of a seed that are compared one by one


class Stretches(NamedTuple):
    """Query for stretches of ``least`` symbols on the CPU: ``sa`` uint32[n], the whole suffix array.

    ``words``: the packed text. Patterns are not shorter than ``least``, and that is not less than s.
    """

    seeds: SeedTable
    sa: np.ndarray
    words: np.ndarray
    blocks: Blocks
    n: int
    least: int


@begin.register(Stretches)
def begin_stretches(query, patterns, i, state, slot):
    state[slot, PATTERN] = i
    state[slot, PLACE] = np.int64(query.least) - np.int64(query.seeds.s)
    _prefetch_seed(query, patterns, state, slot)


@inlined
def _prefetch_seed(query, patterns, state, slot):
    first = at(patterns.first, state[slot, PATTERN])
    seed = np.int64(symbols(patterns.words, first, state[slot, PLACE], query.seeds.s))
    prefetch(query.seeds.starts, seed)
    state[slot, SEED], state[slot, STAGE] = seed, _LOOKUP


@advance.register(Stretches)
def advance_stretches(query, patterns, state, slot):
    """Take one step with what was prefetched, and prefetch for the next one; return whether done."""
    stage, i, place = state[slot, STAGE], state[slot, PATTERN], state[slot, PLACE]
    lo, hi = state[slot, LO], state[slot, HI]
    if stage == _ROWS:
        for row in range(lo, min(lo + FEW, hi)):
            position = np.int64(at(query.sa, row))
            prefetch(query.words, max(position - query.least + query.seeds.s, 0) >> 5)
            prefetch(query.words, (position + query.least) >> 5)
        state[slot, STAGE] = _TEXTS
        return False
    if stage == _LOOKUP:
        seed = state[slot, SEED]
        lo, hi = np.int64(at(query.seeds.starts, seed)), np.int64(at(query.seeds.starts, seed + 1))
        if hi - lo > MANY:
            row = _row_of_stretch(query, patterns, i, place)
            if row >= 0:
                state[slot, LO], state[slot, HI] = row, row + 1
                return True
            hi = lo
    else:
        for row in range(lo, min(lo + FEW, hi)):
            if _has_stretch(query, np.int64(query.least), patterns, i, place, np.int64(at(query.sa, row))):
                state[slot, LO], state[slot, HI] = row, row + 1
                return True
        lo += FEW
    if lo < hi:
        prefetch(query.sa, lo)
        prefetch(query.sa, min(lo + FEW, hi) - 1)
        state[slot, LO], state[slot, HI], state[slot, STAGE] = lo, hi, _ROWS
        return False
    place += np.int64(query.least) - np.int64(query.seeds.s) + 1
    if place + query.seeds.s > at(patterns.length, i):
        state[slot, LO] = state[slot, HI] = 0
        return True
    state[slot, PLACE] = place
    _prefetch_seed(query, patterns, state, slot)
    return False


@inlined
def _has_stretch(query, least, patterns, i, place, position):
    """Return whether symbol ``place`` of pattern i is in a stretch that occurs with it at ``position``."""
    subquery = Subquery(patterns.words, at(patterns.first, i), place, at(patterns.length, i))
    left = common_suffix(query.words, position, subquery, min(place, min(position, least - 1)))
    # Among the rows of a seed are a few suffixes that meet a separator within s symbols.
    right, stop, block = np.int64(0), min(subquery.m - place, query.n - position), np.int64(-1)
    while left + stop >= least:
        if common_prefix(query.words, position, subquery, right, least - left) < least - left:
            return False
        if block >= 0:
            return True
        right = least - left
        block = find_block(query.blocks, position)
        before = position - at(query.blocks.text_start, block)
        left, stop = min(left, before), min(stop, at(query.blocks.length, block) - before)
    return False


@inlined
def _row_of_stretch(query, patterns, i, place):
    """Return a row that starts with a stretch of pattern i that holds the seed at ``place``, or -1."""
    least, s = np.int64(query.least), np.int64(query.seeds.s)
    for start in range(max(place - (least - s), 0), min(place, at(patterns.length, i) - least) + 1):
        seed = np.int64(symbols(patterns.words, at(patterns.first, i), start, s))
        lo, end = np.int64(at(query.seeds.starts, seed)), np.int64(at(query.seeds.starts, seed + 1))
        subquery = Subquery(patterns.words, at(patterns.first, i), start, int(start + least))
        row = first_row(query, subquery, lo, end, np.int64(0))
        if row < end and compare(query, np.int64(at(query.sa, row)), subquery, np.int64(0))[1] == 0:
            return row
    return np.int64(-1)


class StretchFinder(ReadFinder):
    """Finds which reads share a stretch with each part of a text, or with each of its contigs.

    ``search`` of a part returns (pattern, position), int64[n] each, of a place for each read that shares a
    stretch with the part, or for each contig with which it does. ``contigs``: the Blocks of the text if there
    is a place for each contig, or None.
    """

    contigs: Blocks | None = None

    def search(self, untrimmed: ReadBatch, batch: ReadBatch) -> SearchedReads:
        """Search a batch of reads; ``untrimmed`` has the same reads before trimming."""
        least, n_reads = self.options.stretch, batch.length.size
        with self.timed("pack"):
            most = int((batch.length // (least + 1) + 1).sum())
            columns = [np.empty(most, np.int64) for _ in range(5)]
            pieces = ReadBatch(batch.data, *columns, np.ones(most, np.bool_))  # type: ignore[call-arg]
            read = np.empty(most, np.int64)
            n = _cut(batch, CODE, least, max(least, self.options.trim.least), pieces, read)
            pieces, read = ReadBatch(batch.data, *(column[:n] for column in pieces[1:])), read[:n]
            patterns = pack(pieces, self.options.strands)
        with self.timed("search"):
            pattern, position = (
                np.concatenate(column)
                for column in zip(*(part.search(patterns) for part in self.parts), strict=True)
            )
            matches = self.candidates(read[pattern >> 1], text_key(position, pattern & 1), n_reads)
        can_occur = np.zeros(n_reads, np.bool_)
        can_occur[read] = True
        weight = self.weights_of(batch)
        total, ends = np.diff(matches.first), np.append(0, np.cumsum(matches.keys & 1))
        reverse = np.diff(ends[matches.first])
        return SearchedReads(untrimmed, batch, None, (), total, can_occur, weight, reverse, matches=matches)

    def candidates(self, read: np.ndarray, keys: np.ndarray, n_reads: int) -> Candidates:
        """Return Candidates from the text_keys of ``read`` int64[n], one for each contig if these count."""
        if self.contigs:
            block = np.searchsorted(self.contigs.text_start, position_of_text_key(keys), "right") - 1
            _, one = np.unique(np.stack((read, self.contigs.contig[block])), axis=1, return_index=True)
            read, keys = read[one], keys[one]
        first = np.append(0, np.cumsum(np.bincount(read, minlength=n_reads)))
        return Candidates(first, keys[np.argsort(read, kind="stable")])


class PairsOfReads(NamedTuple):
    """Pairs from ``start`` on: the contigs, or parts of the text, that a mate shares a stretch with."""

    start: int
    total: np.ndarray
    fewest: np.ndarray
    matches: Candidates


class StretchPairs:
    """Counts pairs by their stretches: a pair belongs where one of its mates does.

    It has the methods of pairs.PairChooser.
    """

    def __init__(self, finder: StretchFinder) -> None:
        self._finder = finder

    def runs(self, mates: Sequence[SearchedReads]) -> Iterator[PairsOfReads]:
        """Yield all pairs of SearchedReads, mates 1 and mates 2."""
        columns = [
            (np.repeat(np.arange(mate.total.size), mate.total), mate.matches.keys)
            for mate in mates
            if mate.matches
        ]
        n = mates[0].total.size
        read, keys = (np.concatenate(column) for column in zip(*columns, strict=True))
        matches = self._finder.candidates(read, keys, n)
        yield PairsOfReads(0, np.diff(matches.first), np.zeros(n, np.int64), matches)

    def count(
        self, mates: "Mates", run: PairsOfReads, tally: "Tally | None", screen: "Screen | None",
        demultiplexer: "Demultiplexer | None",
    ) -> list[np.ndarray]:  # fmt: skip
        """Count the pairs of a run, with both mates in the tally; return the keys of their owners."""
        with self._finder.timed("tally"):
            pairs = ReadRun(None, (), run.matches, run.total, None, np.ones(run.total.size, np.int64))
            for counter, weight in ((tally, MATES), (screen, 1)):
                if counter:
                    counter.add(pairs._replace(weight=weight * pairs.weight), run.total)
            return [demultiplexer.of_reads(pairs, run.total, run.start)] if demultiplexer else []

    def hits_of(self, mates: "Mates", run: PairsOfReads) -> tuple:
        """Return no hits: no records are written."""
        return ()


def make_stretch_finder(
    index: "FMIndex | JoinedIndex", options: "MapOptions", observers: "Observers"
) -> StretchFinder:
    """Return what finds stretches in an FMIndex or a JoinedIndex. Raises UnsupportedError."""
    counters = [each for each in (observers.screen, observers.demultiplexer) if each]
    by_contig = bool(observers.tally or any((each.owners.of_part < 0).any() for each in counters))
    parts: list[TextPart] = []
    for number, part in enumerate(index.parts):
        start, blocks = part_span(index.meta, number)[0], part.reference.blocks
        most, contigs = 1, np.zeros(1, np.int64)
        if by_contig:
            numbers, contigs = np.unique(blocks.contig, return_inverse=True)
            most = numbers.size
        if part.method == "sparse":
            sparse = cast("Sparse", make_query(part))
            width = sparse.table.k + sparse.table.w - 1
            if options.stretch < width:
                raise too_short(f"--min-match is {options.stretch}", width, f"raise it to {width}; ")
            find = partial(_find_by_minimizers, sparse, options.stretch)
        elif part.method == "verify":
            query = cast("Verify", make_query(part))
            least = max(options.stretch, query.seeds.s)
            stretches = Stretches(query.seeds, query.sa, query.words, blocks, query.sa.size, least)
            if not by_contig:
                parts.append(TextPart(partial(_search, stretches, start), None))
                continue
            find = partial(_find_by_seeds, stretches)
        else:
            raise UnsupportedError(
                "--min-match needs a whole suffix array, or a sparse one: leave out --method backward, or "
                "build the index without --sa-rate"
            )
        parts.append(TextPart(partial(_places, find, contigs, most, start), None))
    finder = StretchFinder(parts, options, observers)
    finder.contigs = index.reference.blocks if by_contig else None
    return finder


def _search(query: Stretches, start: int, patterns: "Patterns") -> tuple[np.ndarray, np.ndarray]:
    """Return (pattern, position) of a row with a stretch of each read that has one.

    The reverse complement is searched only if a read has no stretch on the forward strand.
    """
    length = patterns.length.copy()
    length[1::2] = 0
    forward = cpu.search(query, patterns._replace(length=length))
    length[1::2] = np.where(forward.hi[::2] > 0, 0, patterns.length[1::2])
    length[::2] = 0
    reverse = cpu.search(query, patterns._replace(length=length))
    pattern = np.flatnonzero(forward.hi | reverse.hi)
    return pattern, query.sa[(forward.lo | reverse.lo)[pattern]].astype(np.int64) + start


def _places(
    find: Callable[..., int], contigs: np.ndarray, most: int, start: int, patterns: "Patterns"
) -> tuple[np.ndarray, np.ndarray]:
    """Return (pattern, position) of a stretch of each read in up to ``most`` contigs.

    ``contigs`` int64[n_blocks]: number of the contig of each block, from 0 on.
    """
    seen = np.empty(int(contigs.max()) + 1, np.int64)
    size = patterns.length.size // 2 + 1
    while True:
        places = np.empty((2, size), np.int64)
        seen[:] = -1
        n = find(Contigs(contigs, seen, most), patterns, places)
        if n <= size:
            return places[0, :n], places[1, :n] + start
        size = n


class Contigs(NamedTuple):
    """``of_block`` int64[n_blocks]: contig of each block; ``seen`` int64[n]: last read found in each.

    The search of a read ends once it has stretches in ``most`` contigs.
    """

    of_block: np.ndarray
    seen: np.ndarray
    most: int


@inlined
def _note(query, contigs, r, i, position, places, n):
    """Write pattern i and a position, unless read r has a place in this contig; return whether it had none.

    Places beyond the end of ``places`` int64[2, size] are only counted.
    """
    contig = contigs.of_block[find_block(query.blocks, position) if contigs.of_block.size > 1 else 0]
    if contigs.seen[contig] == r:
        return False
    contigs.seen[contig] = r
    if n < places.shape[1]:
        places[0, n], places[1, n] = i, position
    return True


@compiled
def _find_by_seeds(query, contigs, patterns, places):
    """Write (pattern, position) of a stretch of each read in each contig to ``places``; return how many."""
    s, step, n = np.int64(query.seeds.s), np.int64(query.least) - query.seeds.s + 1, np.int64(0)
    for r in range(patterns.length.size // 2):
        begin = n
        for i in range(2 * r, 2 * r + 2):
            place = step - 1
            while place + s <= at(patterns.length, i) and n - begin < contigs.most:
                seed = np.int64(symbols(patterns.words, at(patterns.first, i), place, s))
                for row in range(at(query.seeds.starts, seed), at(query.seeds.starts, seed + 1)):
                    position = np.int64(at(query.sa, row))
                    if _has_stretch(query, np.int64(query.least), patterns, i, place, position):
                        n += _note(query, contigs, r, i, position, places, n)
                        if n - begin == contigs.most:
                            break
                place += step
    return n


def _find_by_minimizers(
    query: "Sparse", least: int, contigs: Contigs, patterns: "Patterns", places: np.ndarray
) -> int:
    """Write (pattern, position) of a stretch of each read in each contig to ``places``; return how many."""
    kmers, room = np.empty((SPAN, _N_KMER), np.int64), np.empty(ROOM, np.int32)
    return _search_minimizers(query, least, contigs, patterns, places, kmers, room)


@compiled
def _search_minimizers(query, least, contigs, patterns, places, kmers, room):
    """Do the work of _find_by_minimizers; ``kmers`` int64[SPAN, _N_KMER], ``room`` int32[ROOM]: scratch."""
    k, w, n = np.int64(query.table.k), np.int64(query.table.w), np.int64(0)
    for r in range(patterns.length.size // 2):
        length, begin = max(at(patterns.length, 2 * r), at(patterns.length, 2 * r + 1)), n
        start = np.int64(0)
        while start + k + w - 1 <= length and n - begin < contigs.most:
            size = min(length - start, np.int64(SPAN))
            for j in range(_look_up(query, patterns, r, (start, size), kmers, room)):
                for row in range(kmers[j, _FIRST], kmers[j, _LAST]):
                    entry, place = at(query.table.rows, row), kmers[j, _PLACE]
                    i, position = 2 * r + (strand_in(entry) ^ kmers[j, _REVERSE]), position_in(entry)
                    place = length - k - place if i & 1 else place
                    if at(patterns.length, i) and _has_stretch(query, least, patterns, i, place, position):
                        n += _note(query, contigs, r, i, position, places, n)
                        if n - begin == contigs.most:
                            break
                if n - begin == contigs.most:
                    break
            start += size - (k + w - 2)
    return n


@inlined
def _look_up(query, patterns, r, span, kmers, room):
    """Note the minimizers of a span of read r that have rows, and prefetch these; return their number."""
    k, w, first = np.int64(query.table.k), np.int64(query.table.w), at(patterns.first, 2 * r)
    start, n_kmers = span[0], span[1] - k + 1
    hash_kmers(patterns.words, first, start, n_kmers, k, room)
    find_minimizers(room, n_kmers, w)
    n = 0
    for i in range(0, n_kmers, LANES):
        bits = np.uint64(minimizers(room, i, w))
        while bits:
            j = i + trailing_zeros(bits)
            bits &= bits - np.uint64(1)
            if j < n_kmers:
                kmer, reverse = canonical(patterns.words, first, start + j, k)
                bucket = bucket_of(kmer, query.n_bits)
                prefetch(query.table.starts, bucket)
                kmers[n, _PLACE], kmers[n, _REVERSE], kmers[n, _FIRST] = start + j, reverse, bucket
                n += 1
    for j in range(n):
        bucket = kmers[j, _FIRST]
        kmers[j, _FIRST] = np.int64(at(query.table.starts, bucket))
        kmers[j, _LAST] = np.int64(at(query.table.starts, bucket + 1))
        prefetch(query.table.rows, kmers[j, _FIRST])
    return n


@compiled
def _cut(batch, code, least, shortest, pieces, read):
    """Write the runs of at least ``least`` bases A, C, G, T and U of each read; return their number.

    ``read`` int64[n]: the read of each piece. Reads of fewer than ``shortest`` bases have none.
    """
    n = 0
    for r in range(batch.length.size):
        length = batch.length[r]
        if length < shortest:
            continue
        start = np.int64(0)
        while start + least <= length:
            stop = length if batch.searchable[r] else start
            while stop < length and code[batch.data[batch.start[r] + stop]] < OTHER:
                stop += 1
            if stop - start >= least:
                pieces.start[n], pieces.length[n], read[n] = batch.start[r] + start, stop - start, r
                n += 1
            start = stop + 1
    return n
