"""Near matches on a GPU: words of reads without a better hit, their rows, and the matches of each read.

begin      which reads can occur; letters other than A C G T U match nothing
           with strata: exact search of all reads
plan       pieces of each read that has no hit yet, with one mismatch, then with two; its number of words
spell      the words
           search of the words, as of reads; the number of rows of each word
compare    one thread per row: the key of its match (gpu_parts.py)
collect    one warp per read: the matches of its rows, sorted
choose     one thread per read: which matches are reported, and their changes

Numbers are placed by prefix sums. Words and rows are processed in runs of reads, so that they fit.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.sorting import InPlace
from ...compiler.warp import (
    WARP,
    atomic_add,
    ballot,
    grid_size,
    kernel,
    n_bits,
    sync_warp,
    take,
    thread_in_block,
    thread_index,
)
from ...input.dna import CODE
from ...input.reads import Patterns, pack_read, pack_reverse
from ...input.reads_gpu import PROBLEM
from ...input.sets import PLAIN, ReadSets, can_occur, changes_at, n_changes
from ...machines import gpu
from ...machines.gpu_jobs import SLOTS, add_up
from ...machines.jobs import runs
from ..hits import Intervals, SARows, all_keys, eligible_of, select_of_read
from ..near.matches import KEY_BITS, NearHits, WordBatch
from ..near.selection import choose_matches, rank_matches
from ..queries.near import (
    MOST_PIECES,
    N_COLUMNS,
    ROOM,
    Pieces,
    Words,
    pattern_of,
    plan_read,
    spell_read,
)
from ..queries.ways import Lookups, way_of, ways_of
from . import gpu_search
from .gpu_parts import compare_kernel

if TYPE_CHECKING:
    from ...input.reads import ReadBatch
    from ...machines.gpu_jobs import KernelReport
    from ...machines.gpu_session import GpuStream
    from ..mapping import MapOptions, TextPart
    from .gpu_hits import SelectedHits, SelectionRules

BYTES = 20  # of a stream, per byte of a chunk: pieces 16, keys and changes 4
_THREADS, _COUNTERS, N_STRATA = 128, 1 << 13, 3
_WORDS, _ROWS, MATCHES = range(SLOTS - 3, SLOTS)  # of the report


class NearRules(NamedTuple):
    """Options for kernels: most ``mismatches``; ``strands`` and ``least`` bases of reads; see Near."""

    mismatches: int
    strands: int
    least: int
    strata: bool
    best_first: bool


class NearFound(NamedTuple):
    """Occurrences with mismatches, for gpu_hits.py; read r has lo[2r] to hi[2r] on +, and so on.

    Its ``n`` int64 matches have ``keys`` (near/matches.py) from ``first[r]`` int64 on, sorted, and are
    described by ``best`` int64[n_reads] (NearHits); if there are none, it has the rows of ``exact``.
    ``sets``: the reads.
    """

    exact: SARows
    lo: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    n: np.ndarray
    best: np.ndarray
    keys: np.ndarray
    sets: ReadSets


@all_keys.register(NearFound)
def _all_keys(found, r, keys):
    lo, hi, first = found.lo, found.hi, found.first[r]
    if found.n[r] == 0:
        all_keys(found.exact, r, keys)
    else:
        for j in range(np.int64(hi[2 * r]) - lo[2 * r] + hi[2 * r + 1] - lo[2 * r + 1]):
            keys[j] = found.keys[first + j] & ((np.int64(1) << KEY_BITS) - 1)


@kernel
def begin_kernel(batch, patterns, rules, sets, sought):
    """Fill ``sought`` bool[n_reads] and the lengths of ``sets``; other reads are not searched at all."""
    r = thread_index()
    if r < sought.size:
        n = batch.length[r]
        sought[r] = n >= rules.least and can_occur(batch, r, PLAIN, rules.mismatches)
        if sought[r] and not batch.searchable[r]:
            first = patterns.first[2 * r]
            pack_read(batch.data, batch.start[r], n, CODE, patterns.words, first)
            pack_reverse(patterns.words, first, patterns.first[2 * r + 1], n)
        for strand in range(2):
            sets.length[2 * r + strand] = n if sought[r] and (rules.strands >> strand) & 1 else 0
            if not sought[r]:
                patterns.length[2 * r + strand] = 0


@kernel
def plan_kernel(batch, found, ways, most, pieces):
    """Cut pieces of reads without a hit, for ``most`` mismatches, by ways_of; one thread per read."""
    r, sets = thread_index(), found.sets
    if r < found.n.size:
        pieces.words[r], length = 0, sets.length[pattern_of(sets, r)]
        is_open = found.lo[2 * r] == found.hi[2 * r] and found.lo[2 * r + 1] == found.hi[2 * r + 1]
        if length > 0 and is_open and can_occur(batch, r, PLAIN, most):
            plan_read(sets, r, way_of(ways, length, most), pieces)


@kernel
def spell_kernel(sets, pieces, start, stop, words):
    """Write the Words of reads start to stop, one thread per read; pieces.words are prefix sums."""
    r = start + thread_index()
    if r < stop and pieces.words[r] < pieces.words[r + 1]:
        spell_read(sets, pieces, r, words, pieces.words[r] - pieces.words[start])


@kernel
def sizes_kernel(intervals, sizes):
    """Write the size of each interval, int64."""
    i = thread_index()
    if i < intervals.lo.size:
        sizes[i] = np.int64(intervals.hi[i]) - np.int64(intervals.lo[i])


@kernel
def collect_kernel(words, run, first_row, keys, strata, found, report):
    """Sort the matches of reads and count them, one warp per read.

    ``run``: the first read of those with words here, the first to do, and the end. ``words``: prefix sums of
    words of reads. ``first_row``: prefix sums of their rows. ``keys``: keys of the rows from the first read
    on. If found.keys has too little room, report[MATCHES] becomes larger than it.
    """
    (start, first_read, end), lane = run, thread_in_block() % WARP
    r = first_read + thread_index() // WARP
    if r < end:
        begin = first_row[2 * (words[first_read] - words[start])]
        row = first_row[2 * (words[r] - words[start])] - begin
        stop = first_row[2 * (words[r + 1] - words[start])] - begin
        n = first = np.int64(0)
        for i in range(row, stop, WARP):
            n += n_bits(ballot(i + lane < stop and keys[i + lane] >= 0))
        if n > 0:
            if lane == 0:
                first = atomic_add(report, MATCHES, n)
            first = take(first, 0)
            if first + n <= found.keys.size:
                to = first
                for i in range(row, stop, WARP):
                    is_match = i + lane < stop and keys[i + lane] >= 0
                    lanes = ballot(is_match)
                    if is_match:
                        before = lanes & ((np.int64(1) << lane) - 1)
                        found.keys[to + n_bits(before)] = keys[i + lane]
                    to += n_bits(lanes)
                sync_warp()
                if lane == 0:
                    own, reverse = found.keys[first:], np.int64(0)
                    best = rank_matches(InPlace(own), n)
                    total = best >> 2 if strata else n
                    for j in range(total):
                        reverse += own[j] & 1
                    found.first[r], found.n[r], found.best[r] = first, n, best
                    found.lo[2 * r] = found.lo[2 * r + 1] = 0
                    found.hi[2 * r], found.hi[2 * r + 1] = total - reverse, reverse


@kernel
def choose_kernel(batch, found, text, rules, seed, chosen):
    """Select the hits of each read, one thread per read, with their changes."""
    r = thread_index()
    hits = chosen.hits
    if r < hits.total.size:
        if found.n[r] == 0:
            hits.best[r] = hits.total[r] << 2
            room = InPlace(chosen.keys[chosen.first_key[r] :])
            select_of_read(found.exact, batch, 0, hits, r, seed, room)
            for hit in range(hits.first[r], hits.first[r + 1]):
                hits.changes[hit] = 0
        else:
            choose_near(batch, found, text, rules, seed, hits, r)


@inlined
def choose_near(batch, found, text, rules, seed, hits, r):
    """Select the hits of read r, which has matches, with their changes."""
    hits.best[r] = found.best[r]
    choose_matches(found.keys[found.first[r] :], batch, 0, hits, r, seed, rules.best_first)
    for hit in range(hits.first[r], hits.first[r + 1]):
        i, position = 2 * r + hits.reverse[hit], hits.position[hit] - text.start
        hits.changes[hit] = changes_at(text.words, position, found.sets, i, rules.mismatches)


@kernel
def strata_kernel(found, at_most, counts):
    """Count mapped reads by the mismatches of their best hit in ``counts`` int64[N_STRATA]."""
    none = one = two = np.int64(0)
    for r in range(thread_index(), found.n.size, grid_size()):
        lo, hi = found.lo, found.hi
        total = np.int64(hi[2 * r]) - lo[2 * r] + hi[2 * r + 1] - lo[2 * r + 1]
        if eligible_of(total, at_most) > 0:
            fewest = n_changes(found.best[r]) if found.n[r] > 0 else np.int64(0)
            none, one, two = none + (fewest == 0), one + (fewest == 1), two + (fewest == 2)
    atomic_add(counts, 0, none)
    atomic_add(counts, 1, one)
    atomic_add(counts, 2, two)


class NearStages:
    """The stages of a TextPart on a GPU, for MapOptions with ``near``."""

    def __init__(self, part: "TextPart", options: "MapOptions") -> None:
        near, self._sizes = options.near, options.sizes.gpu
        assert near is not None
        assert part.device is not None
        self._device, self._text, most = part.device, part.verify.text, near.mismatches
        self._rules = NearRules(most, options.strands, options.trim.least, near.strata, near.best_first)
        lookups = Lookups(float(self._text.n))
        strata = range(1 if near.strata else most, most + 1)
        self._ways = {most: gpu.take(ways_of(most, lookups)) for most in strata}

    def find(
        self, stream: "GpuStream", batch: "ReadBatch", patterns: Patterns, n_reads: int, room: int,
        report: "KernelReport",
    ) -> "tuple[ReadBatch, NearFound] | None":  # fmt: skip
        """Find the occurrences of n_reads; return them, after the batch.

        The batch has the reads that were sought as searchable ones. None: some reads are damaged, they have
        more than ``room`` matches, or one has too many rows.
        """
        there = stream.there
        sought = there("sought", n_reads, np.bool_)[:n_reads]
        length = there("length of set", 2 * n_reads, np.int64)
        sets = ReadSets(batch.data, batch.start, batch.searchable, patterns.words, patterns.first, length)
        stream.launch(begin_kernel, n_reads, _THREADS, batch, patterns, self._rules, sets, sought)
        exact = self._exact(stream, patterns, report)
        first, n, best = (there(f"{name} of matches", n_reads, np.int64) for name in ("first", "n", "best"))
        keys = there("keys of matches", room, np.int64)[:room]
        found = NearFound(exact, exact.lo, exact.hi, first, n[:n_reads], best, keys, sets)
        gpu.fill_zero(found.n, stream.handle)
        is_done = all(self._find(stream, batch, found, most, report) for most in self._ways)
        report.read()
        return (batch._replace(searchable=sought), found) if is_done and report[MATCHES] <= room else None

    def _exact(self, stream: "GpuStream", patterns: Patterns, report: "KernelReport") -> SARows:
        """Launch the exact search, with strata; return the rows, otherwise none."""
        query, held, launch = self._device
        if self._rules.strata:
            return gpu_search.search(query, held, launch, stream, patterns, report.there)
        n = patterns.length.size
        lo, hi = (stream.there(name, n, np.uint32)[:n] for name in Intervals._fields)
        for array in (lo, hi):
            gpu.fill_zero(array, stream.handle)
        return SARows(held[0], held[1], lo, hi)

    def _find(
        self, stream: "GpuStream", batch: "ReadBatch", found: NearFound, most: int, report: "KernelReport"
    ) -> bool:
        """Find the matches of reads without a hit, with up to ``most`` mismatches; False if it cannot."""
        n_reads, there = found.n.size, stream.there
        columns = there("columns of pieces", 2 * n_reads * MOST_PIECES * N_COLUMNS, np.int64)
        pieces = Pieces(columns, there("words of reads", n_reads + 1, np.int64))
        stream.begin("plan")
        stream.launch(plan_kernel, n_reads, _THREADS, batch, found, self._ways[most], most, pieces)
        add_up(stream, pieces.words, n_reads, report, _WORDS)
        report.read()
        if report[PROBLEM]:
            return False
        return all(
            self._find_words(stream, found, pieces, most, reads, n_words, report)
            for *reads, n_words in _runs(stream, pieces.words, n_reads, 2 * report[_WORDS], self._sizes.words)
        )

    def _find_words(
        self, stream: "GpuStream", found: NearFound, pieces: Pieces, most: int, reads: Sequence[int],
        n_words: int, report: "KernelReport",
    ) -> bool:  # fmt: skip
        """Find the matches of ``reads`` (from, to), which have ``n_words``; False if a read has too many."""
        n, (start, stop), there = n_words, reads, stream.there
        columns = (
            there(f"{name} of word", n, np.int64)[:n] for name in ("first", "length", "pattern", "piece")
        )
        first, length, pattern, piece = columns
        packed = there("packed words", ROOM * n + 1, np.uint64)
        words = Words(Patterns(packed, first, length), pattern, piece)
        stream.launch(spell_kernel, stop - start, _THREADS, found.sets, pieces, start, stop, words)
        stream.begin("search")
        own = Intervals(*(there(f"{name} of word", n, np.uint32)[:n] for name in Intervals._fields))
        for array in own:
            gpu.fill_zero(array, stream.handle)
        self._device.launch(self._device.query, words.patterns, own, stream.handle)
        rows = there("rows of words", n + 1, np.int64)[: n + 1]
        stream.launch(sizes_kernel, n, _THREADS, own, rows)
        add_up(stream, rows, n, report, _ROWS)
        report.read()
        sought, strata = WordBatch(found.sets, pieces, most, pattern, piece), self._rules.strata
        for a, b, begin, n_rows in _runs_of_rows(
            stream, pieces.words, reads, rows, report[_ROWS], self._sizes.rows
        ):
            if n_rows > self._sizes.rows_of_read:
                return False
            keys = there("keys of rows", n_rows, np.int64)[:n_rows]
            stream.begin("compare")
            stream.launch(
                compare_kernel, max(n_rows, 1), _THREADS, self._text, sought, own.lo, rows, begin, keys
            )
            stream.launch(
                collect_kernel, WARP * (b - a), gpu.block_size(_THREADS),
                pieces.words, (start, a, b), rows, keys, strata, found, report.there,
            )  # fmt: skip
        return True

    def choose(
        self, stream: "GpuStream", batch: "ReadBatch", found: NearFound, rules: "SelectionRules",
        chosen: "SelectedHits",
    ) -> "SelectedHits":  # fmt: skip
        """Launch the selection of hits; return SelectedHits with NearHits."""
        there, n_reads = stream.there, found.n.size
        own = chosen.hits
        changes, best = there("changes", own.position.size, np.int64), there("best", n_reads, np.int64)
        hits = NearHits(own.first, own.position, own.reverse, own.total, changes, best)
        chosen = chosen._replace(hits=hits)
        stream.begin("choose")
        stream.launch(
            choose_kernel, n_reads, _THREADS, batch, found, self._text, self._rules, rules.seed, chosen
        )
        return chosen

    def count_strata(self, stream: "GpuStream", found: NearFound, at_most: int) -> None:
        """Launch the counting of mapped reads by mismatches, for ``strata_here``."""
        counts = stream.there("strata", N_STRATA, np.int64)
        gpu.fill_zero(counts, stream.handle)
        stream.launch(strata_kernel, min(found.n.size, _COUNTERS), _THREADS, found, at_most, counts)
        stream.receive([counts], [strata_here(stream)])


def strata_here(stream: "GpuStream") -> np.ndarray:
    """Return the result of ``count_strata``, int64[N_STRATA], valid after waiting for the stream."""
    return stream.here("strata", N_STRATA, np.int64)[:N_STRATA]


def _here(stream: "GpuStream", name: str, array: Any, n: int) -> np.ndarray:
    """Return the first n numbers of a device array, int64, on the host."""
    here = stream.here(name, n, np.int64)[:n]
    stream.receive([array[:n]], [here])
    stream.wait()
    return here


def _runs(
    stream: "GpuStream", words: Any, n_reads: int, n_words: int, most: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, stop, words of both strands) of runs of reads with ``most`` words; ``words``: sums."""
    if n_words <= most:
        yield from [(0, n_reads, n_words)] * (n_words > 0)
        return
    before = 2 * _here(stream, "words of reads", words, n_reads + 1)
    for start, stop in runs(np.diff(before), most):
        if before[start] < before[stop]:
            yield start, stop, int(before[stop] - before[start])


def _runs_of_rows(
    stream: "GpuStream", words: Any, reads: Sequence[int], rows: Any, n_rows: int, most: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (start, stop, rows before, rows) of runs of ``reads`` (from, to); ``words``, ``rows``: sums."""
    start, stop = reads
    if n_rows <= most:
        yield start, stop, 0, n_rows
        return
    before = 2 * _here(stream, "words of reads", words, stop + 1)[start:]
    borders = _here(stream, "rows of words", rows, rows.size)[before - before[0]]
    for a, b in runs(np.diff(borders), most):
        yield start + a, start + b, int(borders[a]), int(borders[b] - borders[a])
