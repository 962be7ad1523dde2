"""What turns a chunk of reads into hits, and these into records, on the CPU.

Span -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> pieces of output
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import n_of
from ..input import chunks, reads, spans
from ..input.reads import WHOLE, Trim, trimmed, weights_of
from ..machines.jobs import runs
from ..machines.pipeline import add_up, run_at
from ..machines.progress import Progress
from .hits import Intervals, SelectionPolicy, at_hand, count, occurrences_of, select
from .queries import Exact, Verify
from .sparse import make_sparse, refuse_shorter
from .summary import PairSummary, Summary

if TYPE_CHECKING:
    from ..input.chunks import Chunk
    from ..input.pair_spans import PairSpan
    from ..input.reads import ReadBatch
    from ..input.spans import Span
    from ..machines.gpu_session import GpuSession
    from ..machines.progress import Clock, Timed, Written
    from . import MapsSpans
    from .counts.tally import ReadCounter
    from .pairs.proper import Pairing

SLICE_HITS = 1 << 17  # occurrences located, and hits formatted, at a time
FORWARD, REVERSE = reads.FORWARD, reads.REVERSE
BOTH = FORWARD | REVERSE
ANYWHERE = b"ACGT" * 8  # letters of which not too many near matches are found


@dataclass(frozen=True)
class Near:
    """Which near matches are found: with at most ``mismatches``; by ``iupac``, letters stand for their sets.

    ``strata``: only those of a read with the fewest; ``best_first``: in this order, else by position.
    """

    mismatches: int = 0
    iupac: bool = False
    strata: bool = False
    best_first: bool = True


@dataclass(frozen=True)
class MapOptions:
    """How reads are mapped: cut by ``trim``, of all ``first`` (None: all) after the ``skip`` first ones.

    ``chunk_size``: bytes of a span, 0 for what suits the number of threads; ``near``: which near matches are
    wanted, or None; ``collapse``: how reads are cut before identical ones become one with a weight, or None.
    """

    policy: SelectionPolicy = field(default_factory=SelectionPolicy)
    strands: int = BOTH
    n_threads: int = 1
    chunk_size: int = 0
    trim: Trim = WHOLE
    skip: int = 0
    first: int | None = None
    near: Near | None = None
    pairing: "Pairing | None" = None  # of mates; None: reads are single
    collapse: Trim | None = None
    counts_lengths: bool = False  # whether those of reads, and of inserts, are counted
    noun: str = "read"  # what messages call what is mapped

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_size", self.chunk_size or chunks.size_for(self.n_threads))

    def cannot_occur(self) -> str:
        """Which reads cannot occur, in words."""
        v, iupac = (self.near.mismatches, self.near.iupac) if self.near else (0, False)
        what = "no letter of bases" if iupac else "a letter other than A C G T U"
        short = "shorter than --min-length, " if self.trim.least else ""
        return f"{short}{f'not longer than {v}, or more than {v} times' if v else 'empty, or'} {what}"


def make_query(index: Any) -> Any:
    """The query that an index was opened for."""
    if index.method == "sparse":
        return make_sparse(index)
    if index.method == "backward":
        return Exact(index.prefix, index.layout)
    return Verify(index.prefix, index.seeds, index.sa.positions, index.text_words, index.reference.blocks)


class NearTotals(NamedTuple):
    """Of each read, int64[n_reads]: near matches on -, and the mismatches of the best one."""

    reverse: np.ndarray
    fewest: np.ndarray


class SearchedBatch(NamedTuple):
    """A batch of reads that were searched.

    ``given``: as they came, ``batch``: as they were cut; ``intervals`` Intervals [n_parts, 2 * n_reads], or
    None, of numbers that ``locators`` know, one a part; ``total`` int64[n_reads], the exact number of
    occurrences; ``sought`` bool[n_reads]: which may be; ``weight`` int64[n_reads], how many reads each stands
    for; ``near``: NearTotals where mismatches are allowed.
    """

    given: reads.ReadBatch
    batch: reads.ReadBatch
    intervals: Any
    locators: tuple
    total: np.ndarray
    sought: np.ndarray
    weight: np.ndarray
    near: NearTotals | None = None


class DevicePart(NamedTuple):
    """A part as a GPU that goes all the way searches it: ``held`` (suffix array, layout) say where rows are,
    ``launch`` starts the search."""

    query: Any
    held: tuple
    launch: Any


class TextPart(NamedTuple):
    """A part of the text, on the CPU or on a GPU.

    ``search`` turns Patterns into Intervals, or numbers occurrences otherwise (sparse.py); ``locator`` as of
    hits.py.  For near matches also its ``text`` on the CPU, and ``verify``, as near/matches.CpuVerifier; on a
    GPU a DevicePart.
    """

    search: Any
    locator: Any
    text: Any = None
    verify: Any = None
    device: DevicePart | None = None


class Observers(NamedTuple):
    """What is told while reads are mapped: a ``tally`` of what is found, a ``clock`` of what stages take."""

    tally: "ReadCounter | None" = None
    clock: "Clock | None" = None


UNOBSERVED = Observers()


class Mapper:
    """Turns chunks of reads into hits, with one set of options, by ``parts`` of the CPU or of ``sessions``.

    ``least``: bases of the shortest reads that may be searched.
    """

    def __init__(
        self,
        parts: Sequence[TextPart],
        options: MapOptions,
        observers: Observers = UNOBSERVED,
        sessions: "Sequence[GpuSession]" = (),
        least: int = 0,
    ) -> None:
        self.parts = tuple(parts)
        self._searchers, self._locators = [part.search for part in parts], [part.locator for part in parts]
        self._least = least
        self.options, self.tally, self.sessions = options, observers.tally, sessions
        self.timed: Callable = observers.clock.timed if observers.clock else nullcontext

    def asked(self, **options: Any) -> "Mapper":
        """The same one with other ``policy``, ``strands`` or ``pairing`` of its MapOptions."""
        other = copy(self)
        other.options = replace(self.options, **options)
        return other

    def untold(self) -> "Mapper":
        """The same one, which counts nothing."""
        other = copy(self)
        other.tally = None
        return other

    def map(self, span: "Chunk | Span", writer: Any, emit: Callable[..., Any]) -> Summary:
        """Emit the records of a span's reads in pieces, as ``writer`` (given) makes them."""
        with self.timed("read"):
            chunk = span.read()
        return self.map_chunk(chunk, writer, emit)

    def map_chunk(self, chunk: "Chunk", writer: Any, emit: Callable[..., Any]) -> Summary:
        """The same for a Chunk."""
        found = self.search(chunk)
        if writer.is_sam:
            reads.check_sam(chunk, found.batch)
        for start, hits in self.hits_of(found):
            for first in range(0, max(1, hits.position.size), SLICE_HITS):
                with self.timed("format"):
                    piece = writer.format(found.batch, hits, start, first, first + SLICE_HITS)
                emit(piece)
        if writer.takers:
            self._split(found.given, found.total, writer, emit)
        with self.timed("summarise"):
            return Summary.of(found, self.options)

    def split(self, chunk: "Chunk", total: np.ndarray | None, writer: Any, emit: Callable[..., Any]) -> None:
        """Emit the reads of a chunk as they came, where the writer has more outputs than one.

        ``total`` int64[n_reads]: how often each occurs.
        """
        if writer.takers:
            chunk = chunk.whole()
            self._split(reads.parse(chunk), total, writer, emit)

    def _split(self, given: "ReadBatch", total: Any, writer: Any, emit: Callable[..., Any]) -> None:
        for piece in writer.split((given,), self.options.policy.eligible(total) > 0):
            emit(piece)

    def parse(self, chunk: "Chunk") -> tuple:
        """The reads of a chunk as they came, and as they are cut."""
        with self.timed("parse"):
            given = reads.parse(chunk)
            return given, trimmed(given, self.options.trim)

    def search(self, chunk: "Chunk") -> SearchedBatch:
        """The reads of a chunk, and where they occur."""
        return self.search_batch(*self.parse(chunk))

    def search_batch(self, given: "ReadBatch", batch: "ReadBatch") -> SearchedBatch:
        """The same for reads as they came, and as they are cut."""
        refuse_shorter(batch, self._least)
        with self.timed("pack"):
            patterns = reads.pack(batch, self.options.strands)
        with self.timed("search"):
            found = [search(patterns) for search in self._searchers]
            intervals = Intervals(*map(_rows, zip(*((own.lo, own.hi) for own in found), strict=True)))
            total = count(intervals)
        locators = tuple(locator.of(own) for locator, own in zip(self._locators, found, strict=True))
        return SearchedBatch(
            given, batch, intervals, locators, total, batch.searchable, self.weights_of(batch)
        )

    def weights_of(self, batch: "ReadBatch") -> np.ndarray:
        """How many reads each of a batch stands for, int64[n_reads]."""
        return weights_of(batch) if self.options.collapse else np.ones(batch.length.size, np.int64)

    def hits_of(self, found: SearchedBatch) -> Any:
        """Yield (start, Hits) for runs of reads with at most SLICE_HITS occurrences to locate, or of one."""
        policy = self.options.policy
        eligible = policy.eligible(found.total)
        if self.tally:
            with self.timed("tally"):
                self.tally.add(found.locators, found.intervals, eligible, found.weight)
        if policy.limit == 0:
            return
        to_locate = policy.reported(found.total) if at_hand(found.locators) else eligible
        for start, stop in runs(to_locate, SLICE_HITS):
            with self.timed("locate"):
                own = Intervals(*(array[:, 2 * start : 2 * stop] for array in found.intervals))
                occurrences = occurrences_of(found.locators, own, eligible[start:stop])
                hits = select(occurrences, found.batch, start, found.total[start:stop], policy)
            yield start, hits


def _rows(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """Arrays as the rows of one."""
    return np.array(arrays) if len(arrays) > 1 else arrays[0][None]


# Chunks of reads -> pieces of output, by several threads, in order, in bounded memory.
#
# bytes -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> records


def map_spans(
    mappers: "Sequence[MapsSpans]",
    source: Iterator,
    writer: Any,
    sink: "Timed | Written",
    progress: Progress | None = None,
) -> Summary | PairSummary:
    """Map the reads of spans, or of PairSpans, in order, and write the records to ``sink`` (a binary file).

    ``mappers``: one for each place where reads are mapped, used by as many threads as its options say.
    """
    progress = progress or Progress(quiet=True)
    noun = mappers[0].options.noun
    summary = PairSummary() if mappers[0].options.pairing else Summary()

    def work(
        mapper: "MapsSpans", emit: Callable[..., Any], span: "Chunk | PairSpan | Span"
    ) -> PairSummary | Summary:
        return mapper.map(span, writer.of(span), emit)

    def write(piece: Any) -> None:
        sink.write(piece)
        writer.written(piece)

    def say(summary: PairSummary | Summary, seconds: float) -> str:
        rate = f"{summary.reads / seconds:,.0f} {noun}s/s"
        return f"{n_of(summary.reads, noun)}, {rate}, {summary.mapped:,} mapped"

    return add_up(run_at(mappers, work, source, write, progress.share), summary, progress, say)


def compile_all(mappers: "Sequence[MapsSpans]", writer: Any, any_length: bool = True) -> None:
    """Map one made-up read, so that what is not compiled yet is compiled before the clock starts.

    ``any_length``: whether reads of four letters may be searched.
    """
    for mapper in mappers:
        letters = ANYWHERE if mapper.options.near else b"ACGT"  # which is nearly everywhere
        warm_up(mapper, writer, letters if any_length else b"N")
        if mapper.tally:
            mapper.tally.clear()


def warm_up(mapper: "MapsSpans", writer: Any, letters: bytes = b"N") -> None:
    """The same, beside others that map already: these letters occur nowhere, so that nothing is counted."""
    record = b"@r\n%s\n+\n%s\n" % (letters, len(letters) * b"I")
    for span in _planned(record, mapper.options.pairing is not None):
        mapper.map(span, writer.of(span), writer.written)


def _planned(record: bytes, in_pairs: bool) -> Iterator[Any]:
    """The spans of a read, or of a pair of two such."""
    if not in_pairs:
        return spans.plan([record])
    from ..input import pair_spans  # of no use to single reads
    from ..input.mates import PairedFiles

    return pair_spans.plan(PairedFiles((2 * record,)))
