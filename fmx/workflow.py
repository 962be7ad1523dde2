"""The journeys, on one page: build an index, map reads, list occurrences.

    build   FASTA -> Reference, text -> prefix table, SA, BWT -> layouts -> ref.fmx/
    map     bytes -> Chunk -> ReadBatch -> Patterns -> Intervals -> Hits -> records
"""

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from itertools import chain

import numpy as np

from . import __version__, bwt, chunks, hits, jit, layouts, reads
from .engines import cpu
from .index import reference_arrays
from .index_store import IndexWriter
from .prefix_table import build_prefix_table, default_length
from .progress import Progress
from .queries import Exact
from .reference import read_fasta
from .sampled_sa import sample
from .suffix_array import suffix_array

SLICE_HITS = 1 << 17  # hits located and formatted at a time
BOTH = reads.FORWARD | reads.REVERSE


def build_index(fasta, path, layout_names=(layouts.DEFAULT,), sa_rate=1, prefix_length=None, n_threads=1,
                progress=None):  # fmt: skip
    """Index a FASTA file into the directory ``path``.

    ``sa_rate`` keeps every s-th position of the suffix array.  Peak memory is about 9 bytes a base.
    """
    progress = progress or Progress(quiet=True)
    names = [layouts.parse_name(name) for name in layout_names]
    tell_if_cold(progress)
    with IndexWriter(path, n_threads) as writer:
        with progress.stage("read reference"):
            reference, text = read_fasta(fasta)
            for name, array in reference_arrays(reference).items():
                writer.add(name, array)
        with progress.stage("prefix table"):
            prefix_length = prefix_length or default_length(reference.n_text)
            table = build_prefix_table(text, prefix_length)
            writer.add("prefix_pairs", table.pairs)
            column_starts = {k: first_rows(table, k) for k in {name.k for name in names}}
            del table
        with progress.stage("suffix array"):
            sa = suffix_array(text)
        for name in names:
            with progress.stage(f"layout {name}"):
                codes = bwt.kmer_bwt(text, sa, name.k, n_threads)
                build = layouts.REGISTRY[name.family].build
                layout = build(codes, column_starts[name.k], name.k, name.d, n_threads)
                for key, array in layout._asdict().items():
                    if isinstance(array, np.ndarray):
                        writer.add(f"{name}.{key}", array)
                del codes, layout
        del text
        with progress.stage("write suffix array"):
            if sa_rate > 1:
                sampled = sample(sa, reference.blocks.text_start, sa_rate, max(name.k for name in names))
                writer.add("sa_marks", sampled.marks)
                writer.add("sa_positions", sampled.positions)
            else:
                writer.add("sa_positions", sa)
        writer.commit(
            {
                "fmx_version": __version__,
                "n_text": reference.n_text,
                "n_contigs": len(reference.names),
                "n_bases": int(reference.lengths.sum()),
                "n_blocks": reference.blocks.length.size,
                "layouts": [str(name) for name in names],
                "sa_rate": sa_rate,
                "prefix_length": prefix_length,
            }
        )


def first_rows(table, k) -> np.ndarray:
    """The first row of each k-symbol, int64[4^k]: the C array of a k-step index."""
    start = (4**k - 1) // 3
    return table.pairs[2 * start : 2 * (start + 4**k) : 2].astype(np.int64)


def tell_if_cold(progress) -> None:
    """Say that the first run compiles."""
    if jit.is_cold():
        progress.say("compiling for this machine (once; later runs start at once) ...")


@dataclass
class MapOptions:
    """How reads are mapped."""

    policy: hits.SelectionPolicy = field(default_factory=hits.SelectionPolicy)
    strands: int = BOTH
    n_threads: int = 1
    chunk_size: int = chunks.CHUNK_SIZE


@dataclass
class Summary:
    """What a run has seen, in reads (``hits`` in occurrences)."""

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    unique: int = 0
    suppressed: int = 0
    hits: int = 0

    def add(self, other) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


class Mapper:
    """One index and one set of options; turns chunks into pieces of output."""

    def __init__(self, index, options: MapOptions, n_tally: int = 0):
        self.index, self.options = index, options
        self.query = Exact(index.prefix, index.layout)
        self.n_tally, self.tallies = n_tally, deque()

    def search(self, chunk):
        """(ReadBatch, Intervals) of a chunk."""
        batch = reads.parse(chunk)
        return batch, cpu.search(self.query, reads.pack(batch, self.options.strands))

    def hits_of(self, batch, intervals):
        """Yield (start, Hits) for runs of reads with at most SLICE_HITS reported hits, or one read."""
        options = self.options
        total = hits.count(intervals)
        reported = np.where(total > options.policy.at_most, 0, np.minimum(total, options.policy.limit))
        ends = np.cumsum(np.maximum(reported, 1))
        start, n_reads = 0, batch.length.size
        while start < n_reads:
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + SLICE_HITS, "right")))
            tally = self._take_tally()
            yield start, hits.select(
                self.index.sa, self.index.layout, self.index.reference.blocks, batch, intervals,
                (start, stop), options.policy, tally,
            )  # fmt: skip
            self.tallies.append(tally)
            start = stop

    def _take_tally(self):
        try:
            return self.tallies.pop()
        except IndexError:
            return np.zeros((self.n_tally, 2), np.int64)

    def tally(self) -> np.ndarray:
        """(reads, hits) of each contig, int64[n_contigs, 2]."""
        return np.sum(self.tallies, axis=0) if self.tallies else np.zeros((self.n_tally, 2), np.int64)

    def summarise(self, batch, intervals) -> Summary:
        total = hits.count(intervals)
        suppressed = total > self.options.policy.at_most
        return Summary(
            reads=total.size,
            bases=int(batch.length.sum()),
            mapped=int(np.count_nonzero((total > 0) & ~suppressed)),
            unique=int(np.count_nonzero((total == 1) & ~suppressed)),
            suppressed=int(np.count_nonzero(suppressed)),
            hits=int(total[~suppressed].sum()),
        )


def map_reads(mapper, paths, writer, sink, progress=None) -> Summary:
    """Map files of reads, in order, and write the records to ``sink`` (a binary file)."""
    progress, summary, start = progress or Progress(quiet=True), Summary(), time.monotonic()
    tell_if_cold(progress)

    def work(chunk):
        batch, intervals = mapper.search(chunk)
        pieces = _pieces(mapper, batch, intervals, writer)
        return mapper.summarise(batch, intervals), chain([next(pieces, b"")], pieces)

    source = chunks.read_chunks(paths, mapper.options.chunk_size)
    for part, pieces in in_order(work, source, mapper.options.n_threads):
        for piece in pieces:
            sink.write(piece)
        summary.add(part)
        rate = summary.reads / max(time.monotonic() - start, 1e-9)
        progress.show(f"{summary.reads:,} reads, {rate:,.0f} reads/s, {summary.mapped:,} mapped")
    sink.write(writer.end())
    return summary


def _pieces(mapper, batch, intervals, writer):
    """Records of a chunk in pieces; all but the first are made when they are asked for."""
    for start, found in mapper.hits_of(batch, intervals):
        for first in range(0, max(1, found.position.size), SLICE_HITS):
            yield writer.format(batch, found, start, first, first + SLICE_HITS)


def in_order(work, items, n_threads):
    """Yield work(item) for each item in order, at most 2 n_threads at once, by n_threads threads."""
    pool = ThreadPoolExecutor(n_threads)
    pending: deque = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) >= 2 * n_threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
