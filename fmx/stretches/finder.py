"""Stretches: whether ``least`` consecutive bases of a read occur, on either strand, inside one contig.

A read is cut at letters other than A, C, G, T and U. With a whole suffix array, seeds of k symbols lie
least - k + 1 symbols apart, so that every stretch holds one of them, and the seed table gives their rows.
With a sparse suffix array, every stretch of k + w - 1 symbols or more holds a minimizer of the read
(index/sparse.py), whose bucket has the rows. At each row the text is compared with the read to the left and
to the right. The search of a read ends with the first stretch.

Each loop takes one step with the seeds of many reads, and prefetches what the next one reads: seeds -> rows
of each seed -> positions of the rows -> words of the text around them. Seeds with many rows wait until those
of their read with few rows have been compared. Then binary search finds the longest prefix of a stretch that
the text has. Stretches that hold this prefix and the next symbol do not occur, so the next to be sought is
the last one that ends before that symbol.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, bits_from, prefetch, trailing_zeros
from ..compiler.simd import LANES
from ..dna import CODE, OTHER, WORD, symbols
from ..errors import UnsupportedError
from ..index.disk import part_span
from ..index.positions import FullSA
from ..index.reference import (
    Blocks,
    Subquery,
    common_prefix,
    common_suffix,
    compare,
    find_block,
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
from ..input.reads import ReadBatch, pack
from ..search.counts import MATES
from ..search.find import ReadFinder, TextPart
from ..search.hits import Candidates, ReadRun
from ..search.mapper import Mapper

if TYPE_CHECKING:
    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.mates import Mates
    from ..input.reads import Patterns
    from ..search.mapping import Hooks, MapOptions

_RARE_SEED = 32  # most rows of a seed that are compared one by one
_GROUP, _N_JOBS = 256, 2 * SPAN  # patterns, and seeds, that are looked up together
_PATTERN, _OFFSET, _LO, _HI, _N_JOB = range(5)  # columns of a job: a seed of a pattern


class StretchFinder(ReadFinder):
    """Finds which reads share a stretch with each part of a text, or with each of its contigs.

    ``search`` of a part returns (pattern, position), int64[n] each, of a match of each read that shares a
    stretch with the part, or for each contig with which it does. ``contigs``: the Blocks of the text if there
    is a match for each contig, or None.
    """

    contigs: Blocks | None = None

    def search(self, batch: ReadBatch) -> ReadRun:
        """Return all reads of a batch and where they share a stretch."""
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
        return ReadRun(batch, None, (), total, can_occur, weight, reverse, matches=matches)

    def candidates(self, read: np.ndarray, keys: np.ndarray, n_reads: int) -> Candidates:
        """Return Candidates from the text_keys of ``read`` int64[n], one for each contig if these count."""
        if self.contigs:
            block = np.searchsorted(self.contigs.text_start, position_of_text_key(keys), "right") - 1
            _, one = np.unique(np.stack((read, self.contigs.contig[block])), axis=1, return_index=True)
            read, keys = read[one], keys[one]
        first = np.append(0, np.cumsum(np.bincount(read, minlength=n_reads)))
        return Candidates(first, keys[np.argsort(read, kind="stable")])


class _StretchPairs:
    """Counts pairs by their stretches: a pair belongs where one of its mates does.

    Mapper uses it as a pairs.PairChooser.
    """

    def __init__(self, finder: StretchFinder) -> None:
        self._finder = finder

    def runs_of(self, mates: Sequence[ReadRun]) -> Iterator[ReadRun]:
        """Yield all pairs of mates 1 and mates 2, as if they were reads."""
        n = mates[0].total.size
        read = np.concatenate([np.repeat(np.arange(n), mate.total) for mate in mates])
        keys = np.concatenate([mate.matches.keys for mate in mates if mate.matches])
        matches = self._finder.candidates(read, keys, n)
        total, fewest = np.diff(matches.first), np.zeros(n, np.int64)
        yield mates[0]._replace(total=total, fewest=fewest, matches=matches)

    def count(self, mates: "Mates", run: ReadRun) -> list[np.ndarray]:
        """Count the pairs of a run, with both mates in the tally; return the keys of their owners."""
        hooks = self._finder.hooks
        with self._finder.timed("tally"):
            if hooks.tally:
                hooks.tally.add(run._replace(weight=MATES * run.weight), run.total)
            if hooks.screen:
                hooks.screen.add(run, run.total)
            return [hooks.demultiplexer.keys([run], [run.total])] if hooks.demultiplexer else []

    def hits_of(self, mates: "Mates", run: ReadRun) -> tuple:
        """Return no hits: no records are written."""
        return ()


def make_stretch_mapper(index: "FMIndex | JoinedIndex", options: "MapOptions", hooks: "Hooks") -> Mapper:
    """Return a mapper of an FMIndex or a JoinedIndex by stretches. Raises UnsupportedError."""
    finder = make_stretch_finder(index, options, hooks)
    return Mapper(finder, pairs=_StretchPairs(finder) if options.pairing else None)


def make_stretch_finder(
    index: "FMIndex | JoinedIndex", options: "MapOptions", hooks: "Hooks"
) -> StretchFinder:
    """Return what finds stretches in an FMIndex or a JoinedIndex. Raises UnsupportedError."""
    counters = [each for each in (hooks.screen, hooks.demultiplexer) if each]
    by_contig = bool(hooks.tally or any((each.owners.of_part < 0).any() for each in counters))
    parts: list[TextPart] = []
    for number, part in enumerate(index.parts):
        start, blocks, n = part_span(index.meta, number)[0], part.reference.blocks, part.reference.n_text
        contigs = np.unique(blocks.contig, return_inverse=True)[1] if by_contig else np.zeros(1, np.int64)
        width = part.sparse.k + part.sparse.w - 1 if part.sparse else 0
        if options.stretch < width and part.shorter:
            part = part.shorter
        if table := part.sparse:
            if options.stretch < width:
                raise too_short(f"--min-match is {options.stretch}", width, f"raise it to {width}; ")
            forms, least = (table.starts, table.rows, table.k, table.w), options.stretch
        elif part.method == "verify" and part.seeds:
            forms = (part.seeds.starts, part.sa.positions, part.seeds.s, 0)
            least = max(options.stretch, part.seeds.s)
        else:
            is_whole = isinstance(part.sa, FullSA)
            advice = "leave out --method backward" if is_whole else "build the index without --sa-rate"
            raise UnsupportedError(f"--min-match needs a whole suffix array, or a sparse one: {advice}")
        query = _Stretches(*forms, part.text_words, blocks, n, least)
        parts.append(TextPart(partial(_matches_in, query, contigs, start)))
    finder = StretchFinder(parts, options, hooks)
    finder.contigs = index.reference.blocks if by_contig else None
    return finder


class _Stretches(NamedTuple):
    """Query for stretches of ``least`` symbols in a text of n symbols, packed in ``words``.

    ``starts`` uint32: the first of ``rows`` of each seed of k symbols, or of each bucket of a SparseTable.
    ``rows``: those of the SparseTable, or the whole suffix array, uint32[n], if ``w`` is 0.
    """

    starts: np.ndarray
    rows: np.ndarray
    k: int
    w: int
    words: Any
    blocks: Blocks
    n: int
    least: int


class _Contigs(NamedTuple):
    """``of_block`` int64[n_blocks]: number of the contig of each block; ``seen`` int64[n_contigs]: last read
    matched in each, or -1; ``n_found`` int64[n_reads]: contigs of each read, searched until ``most``."""

    of_block: np.ndarray
    seen: np.ndarray
    n_found: np.ndarray
    most: int


def _matches_in(
    query: _Stretches, of_block: np.ndarray, start: int, patterns: "Patterns"
) -> tuple[np.ndarray, np.ndarray]:
    """Return (pattern, position) of a stretch of each read in each of its contigs.

    ``of_block`` int64[n_blocks]: number of the contig of each block, from 0 on; or [0] for any of them.
    """
    most, n_reads = int(of_block.max()) + 1, patterns.length.size // 2
    jobs, size = np.empty((_N_JOBS, _N_JOB), np.int64), n_reads + 1
    find = _find_by_minimizers if query.w else _find_by_seeds
    room: np.ndarray = np.empty(ROOM, np.int32) if query.w else np.empty_like(jobs)
    while True:
        contigs = _Contigs(of_block, np.full(most, -1), np.zeros(n_reads, np.int64), most)
        matches = np.empty((2, size), np.int64)
        n = find(query, contigs, patterns, matches, jobs, room)
        if n <= size:
            return matches[0, :n], matches[1, :n] + start
        size = n


@compiled
def _find_by_seeds(query, contigs, patterns, matches, jobs, late):
    """Write (pattern, position) of a stretch of each read in each contig to ``matches``; return how many.

    ``matches`` int64[2, size], perhaps less than these; ``jobs``, ``late`` int64[_N_JOBS, _N_JOB]: scratch.
    """
    k, n, n_late = np.int64(query.k), np.int64(0), np.int64(0)
    step, size = np.int64(query.least) - k + 1, np.int64(_GROUP if contigs.most == 1 else 2)
    for begin in range(0, patterns.length.size, size):
        offset, n_jobs = step - 1, min(patterns.length.size - begin, size)
        for j in range(n_jobs):
            jobs[j, _PATTERN] = begin + j
        while n_jobs:
            n_before, n_jobs = n_jobs, 0
            for j in range(n_before):
                i = jobs[j, _PATTERN]
                if offset + k <= at(patterns.length, i) and not _is_done(contigs, i):
                    seed = np.int64(symbols(patterns.words, at(patterns.first, i), offset, k))
                    prefetch(query.starts, seed)
                    jobs[n_jobs, _PATTERN], jobs[n_jobs, _OFFSET], jobs[n_jobs, _LO] = i, offset, seed
                    n_jobs += 1
            _look_up(query, jobs, n_jobs)
            for j in range(n_jobs if contigs.most == 1 else 0):
                if jobs[j, _HI] - jobs[j, _LO] > _RARE_SEED:
                    late[n_late, _PATTERN], late[n_late, _OFFSET] = jobs[j, _PATTERN], offset
                    jobs[j, _HI] = jobs[j, _LO]
                    n_late += 1
            n = _compare(query, contigs, patterns, matches, jobs, n_jobs, n)
            if n_late > _N_JOBS - _GROUP:
                n = _search_late(query, contigs, patterns, matches, late, n_late, n)
                n_late = np.int64(0)
            offset += step
    return _search_late(query, contigs, patterns, matches, late, n_late, n)


@inlined
def _is_done(contigs, i):
    return at(contigs.n_found, i >> 1) >= contigs.most


@inlined
def _look_up(query, jobs, n_jobs):
    """Replace the number of the seed, or bucket, of each job by its rows, and prefetch the first of them."""
    for j in range(n_jobs):
        seed = jobs[j, _LO]
        jobs[j, _LO], jobs[j, _HI] = np.int64(at(query.starts, seed)), np.int64(at(query.starts, seed + 1))
        prefetch(query.rows, jobs[j, _LO])


@inlined
def _compare(query, contigs, patterns, matches, jobs, n_jobs, n):
    """Compare the text at the rows of each job with its read; return the next n.

    Of the symbols to the left and to the right of a seed, a stretch holds at least ``half`` on one side.
    """
    k, least = np.int64(query.k), np.int64(query.least)
    half = min((least - k + 1) >> 1, (WORD - k) >> 1)
    left = bits_from(np.int32(WORD * 2 - 2 * half))
    seed = bits_from(np.int32(WORD * 2 - 2 * (half + k))) ^ left
    right = bits_from(np.int32(WORD * 2 - 2 * (half + k + half))) ^ left ^ seed
    for j in range(n_jobs):
        for row in range(jobs[j, _LO], min(jobs[j, _HI], jobs[j, _LO] + _RARE_SEED)):
            word = max(_position(query, row) - half, 0) >> 5
            prefetch(query.words, word)
            prefetch(query.words, word + 1)
    for j in range(2 * n_jobs):  # seeds with few rows, then those with many
        job = j if j < n_jobs else j - n_jobs
        lo, hi = jobs[job, _LO], jobs[job, _HI]
        if (hi - lo > _RARE_SEED) != (j >= n_jobs) or _is_done(contigs, jobs[job, _PATTERN]):
            continue
        for row in range(lo, hi):
            i, offset, position = jobs[job, _PATTERN], jobs[job, _OFFSET], _position(query, row)
            if query.w and strand_in(at(query.rows, row)):
                offset = max(at(patterns.length, i), at(patterns.length, i ^ 1)) - k - offset
                i ^= 1
            if min(offset, position) >= half:
                differ = symbols(patterns.words, at(patterns.first, i), offset - half, WORD)
                differ ^= symbols(query.words, 0, position - half, WORD)
                if differ & seed or (differ & left and differ & right):
                    continue
            if _has_stretch(query, least, patterns, i, offset, position):
                n = _add_match(query, contigs, i, position, matches, n)
                if _is_done(contigs, i):
                    break
    return n


@inlined
def _position(query, row):
    entry = at(query.rows, row)
    return position_in(entry) if query.w else np.int64(entry)


@inlined
def _has_stretch(query, least, patterns, i, offset, position):
    """Return whether symbol ``offset`` of pattern i is in a stretch that occurs with it at ``position``."""
    subquery = Subquery(patterns.words, at(patterns.first, i), offset, at(patterns.length, i))
    left = common_suffix(query.words, position, subquery, min(offset, min(position, least - 1)))
    # Among the rows of a seed are a few suffixes that meet a separator within k symbols.
    right, stop, block = np.int64(0), min(subquery.m - offset, query.n - position), np.int64(-1)
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
def _add_match(query, contigs, i, position, matches, n):
    """Write pattern i and a position, unless the read has a match in this contig; return the next n.

    Matches beyond the end of ``matches`` int64[2, size] are only counted.
    """
    contig = contigs.of_block[find_block(query.blocks, position) if contigs.most > 1 else 0]
    if contigs.seen[contig] == i >> 1:
        return n
    contigs.seen[contig] = i >> 1
    contigs.n_found[i >> 1] += 1
    if n < matches.shape[1]:
        matches[0, n], matches[1, n] = i, position
    return n + 1


@inlined
def _search_late(query, contigs, patterns, matches, late, n_late, n):
    """Search for the stretches that hold the seed of each late job, by binary search; return the next n."""
    k, least = np.int64(query.k), np.int64(query.least)
    for j in range(n_late):
        i, offset = late[j, _PATTERN], late[j, _OFFSET]
        start = min(offset, at(patterns.length, i) - least)  # of a stretch, from the last one on
        while start >= offset + k - least and not _is_done(contigs, i):
            seed = np.int64(symbols(patterns.words, at(patterns.first, i), start, k))
            lo, hi = np.int64(at(query.starts, seed)), np.int64(at(query.starts, seed + 1))
            subquery, longest = Subquery(patterns.words, at(patterns.first, i), start, start + least), k - 1
            while lo < hi:
                row = (lo + hi) >> 1
                position = np.int64(at(query.rows, row))
                common, order = compare(query, position, subquery, np.int64(0))
                longest = max(longest, common)
                if order > 0:
                    lo = row + 1
                else:
                    hi = row if order else lo
            if longest == least:
                n = _add_match(query, contigs, i, position, matches, n)
            start += longest - least
    return n


@compiled
def _find_by_minimizers(query, contigs, patterns, matches, jobs, room):
    """Write (pattern, position) of a stretch of each read in each contig to ``matches``; return how many.

    The first bases of the reads of a group are searched before the others. ``room`` int32[ROOM]: scratch.
    """
    k, n, n_jobs, n_reads = np.int64(query.k), np.int64(0), np.int64(0), patterns.length.size // 2
    width, size = k + query.w - 1, _GROUP if contigs.most == 1 else 1
    head = (width + LANES) // LANES * LANES
    for begin in range(0, n_reads, size):
        for is_first in (True, False):
            for r in range(begin, min(begin + size, n_reads)):
                length = max(at(patterns.length, 2 * r), at(patterns.length, 2 * r + 1))
                start, stop = (0, min(length, head)) if is_first else (head - width + 1, length)
                while start + width <= stop and not _is_done(contigs, 2 * r):
                    span = start, min(stop - start, np.int64(SPAN))
                    n_jobs = _add_minimizers(query, patterns, r, span, jobs, n_jobs, room)
                    if n_jobs > _N_JOBS - SPAN:
                        _look_up(query, jobs, n_jobs)
                        n = _compare(query, contigs, patterns, matches, jobs, n_jobs, n)
                        n_jobs = np.int64(0)
                    start += span[1] - width + 1
            _look_up(query, jobs, n_jobs)
            n = _compare(query, contigs, patterns, matches, jobs, n_jobs, n)
            n_jobs = np.int64(0)
    return n


@inlined
def _add_minimizers(query, patterns, r, span, jobs, n_jobs, room):
    """Add the minimizers of a span of read r to the jobs, and prefetch their buckets; return the number."""
    k, w, first = np.int64(query.k), np.int64(query.w), at(patterns.first, 2 * r)
    length, n_kmers = max(at(patterns.length, 2 * r), at(patterns.length, 2 * r + 1)), span[1] - k + 1
    hash_kmers(patterns.words, first, span[0], n_kmers, k, room)
    find_minimizers(room, n_kmers, w)
    n_bits = trailing_zeros(np.uint64(query.starts.size - 1))
    for i in range(0, n_kmers, LANES):
        bits = np.uint64(minimizers(room, i, w))
        while bits:
            offset = i + trailing_zeros(bits)
            bits &= bits - np.uint64(1)
            if offset < n_kmers:
                kmer, reverse = canonical(patterns.words, first, span[0] + offset, k)
                bucket = bucket_of(kmer, n_bits)
                prefetch(query.starts, bucket)
                offset += span[0]
                jobs[n_jobs, _PATTERN], jobs[n_jobs, _LO] = 2 * r + reverse, bucket
                jobs[n_jobs, _OFFSET] = length - k - offset if reverse else offset
                n_jobs += 1
    return n_jobs


@compiled
def _cut(batch, code, least, shortest, pieces, read):
    """Write the runs of at least ``least`` bases A, C, G, T and U of each read; return their number.

    ``pieces``: a ReadBatch with room for them; ``read`` int64: the read of each; ``code``: dna.CODE. Reads of
    fewer than ``shortest`` bases have none.
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
