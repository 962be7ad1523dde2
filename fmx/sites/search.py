"""``fmx offtargets``: from guides and a genome to sites, by several threads, in batches of guides.
jobs/merge.py uses listed, say_cap, summary_table and the keys of ``sums``."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..dna import pack_text
from ..errors import InputError, n_of, shown
from ..index.disk import part_arrays, part_sizes, part_span, read_checked, read_meta
from ..index.fasta import read_fasta
from ..index.fm_index import load_reference
from ..index.reference import Reference, part_of
from ..machines.jobs import Cores
from ..machines.pipeline import run_ordered
from ..machines.progress import Measurement, Progress, RunCounts
from ..output import PLAIN, Container, put
from ..output.run import Run
from ..report import JobOutput, Report
from ..system import PLACE
from . import kernels
from .kernels import HEAD, Part, SiteForm, lines_of

if TYPE_CHECKING:
    from ..guides.library import Library

_SHORTEST, _LONGEST = 16, 28  # bases of a guide
_CODES = str.maketrans("ACGT", "0123")
_PIECE = 1 << 18  # bases of the text that a thread takes at a time
_AT_ONCE = 1 << 14  # sites, and lines, that are made at a time
_OF_SITE = 36  # bytes, while sites are sorted
_NO_SITES = np.empty(0, np.int32), np.empty(0, np.int64)


@dataclass(frozen=True)
class SiteOptions:
    """``pams``, IUPAC codes, after or (``is_5prime``) before protospacers; ``mismatches``, 0 to 4; ``most``
    sites to list of each guide, or None; ``max_memory``, bytes of tables and sites."""

    pams: tuple[str, ...] = ("NGG",)
    is_5prime: bool = False
    mismatches: int = 4
    most: int | None = None
    max_memory: int = field(default=10**9, metadata=PLACE)
    n_threads: int = field(default=1, metadata=PLACE)


@dataclass(frozen=True)
class SiteSummary(RunCounts):
    """Bases that were searched, and sites of guides in them."""

    bases: int
    sites: int

    things = "bases"

    def sentence(self) -> str:
        """Return one line that describes the run."""
        return f"{n_of(self.sites, 'site')} in {n_of(self.bases, 'base')}"


Genome: TypeAlias = tuple[Reference, tuple[Part, ...]]


def read_genome(path: Any, n_threads: int, progress: Progress) -> Genome:
    """Read an index, or FASTA (a path, or bytes).  Raises InputError, IndexFileError."""
    with progress.wall.spending("reading"), progress.stage("reading the reference") as done:
        if isinstance(path, bytes) or not os.path.isdir(path):
            reference, text = read_fasta(path, n_threads, done=done, warn=progress.warn)
            words, spans = [pack_text(text, Cores(n_threads))], [(0, reference.n_text)]
        else:
            meta = read_meta(path)
            reference, numbers = load_reference(path, meta, n_threads), range(len(part_sizes(meta)))
            names = [part_arrays(meta, number)["text_words"] for number in numbers]
            words = [*read_checked(path, meta, names, n_threads).values()]
            spans = [part_span(meta, number) for number in numbers]
    parts = zip(words, spans, strict=True)
    return reference, tuple(Part(each, part_of(reference, *span).blocks, span[0]) for each, span in parts)


def checked(library: "Library") -> "Library":
    """Return a library.  Raises InputError unless its guides can be searched for."""
    if library.seconds:
        what = "this is a library of pairs of guides: name one of its sequences, as in --columns sequence=2"
        raise InputError(library.path, "", what)
    for name, sequence in zip(library.ids, library.sequences, strict=True):
        if other := sequence.strip("ACGT"):
            what = f"its sequence contains {other[0]}; only A, C, G and T can be searched for"
            raise InputError(library.path, f"guide {shown(name)}", what)
        if not _SHORTEST <= len(sequence) <= _LONGEST:
            size, limit = n_of(len(sequence), "base"), f"{_SHORTEST} to {_LONGEST}, without the PAM"
            raise InputError(library.path, f"guide {shown(name)}", f"its sequence has {size}; needs {limit}")
    return library


def batches(
    genome: Genome, library: "Library", options: SiteOptions, start: int, stop: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (first, rank, key, counts) for guides from number ``first`` on, in batches of them.

    ``rank`` int32, (guide - first) << 3 | mismatches, and ``key`` int64, the place (kernels.py), are those of
    the sites to list in ``start`` to ``stop`` of the text, in order; ``counts`` int64[guides, mismatches + 1]
    are of all sites.  If the sites of a batch take too much memory, half of its guides wait for the next.
    """
    room, last = options.max_memory, 0
    while (first := last) < len(library):
        last = min(first + max(1, room // 2 // kernels.OF_GUIDE), len(library))
        limit = (room - (last - first) * kernels.OF_GUIDE) // _OF_SITE
        counts, pieces, n_sites = np.zeros(8 * (last - first), np.int64), [_NO_SITES], 0
        with closing(_matches(genome[1], library.sequences[first:last], options, start, stop)) as matches:
            for rank, key in matches:
                chosen = rank < counts.size
                pieces.append((rank[chosen], key[chosen]))
                np.add.at(counts, rank[chosen], 1)
                n_sites += pieces[-1][0].size
                if n_sites > limit:
                    rank, key = _sorted_sites(pieces, counts.size, options.most)
                    while 2 * rank.size > limit and last - first > 1:
                        last = (first + last) // 2
                        counts = counts[: 8 * (last - first)]
                        rank, key = rank[rank < counts.size], key[rank < counts.size]
                    pieces, n_sites, limit = [(rank, key)], rank.size, max(limit, 2 * rank.size)
        of_guides = counts.reshape(-1, 8)[:, : options.mismatches + 1]
        yield first, *_sorted_sites(pieces, counts.size, options.most), of_guides


def _matches(
    parts: Sequence[Part], sequences: Sequence[str], options: SiteOptions, start: int, stop: int
) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
    """Yield (rank, key) of the sites of guides in pieces of the text."""
    lengths = np.array([*map(len, sequences)], np.int64)
    words = np.array([int(each.translate(_CODES), 4) for each in sequences], np.uint64)
    of_lengths = [
        (
            kernels.make_patterns(n, options.pams, options.is_5prime),
            kernels.make_tables(words, np.flatnonzero(lengths == n), n, options.mismatches),
        )
        for n in np.unique(lengths).tolist()
    ]

    def plan() -> Iterator[tuple[Part, int, int]]:
        for part in parts:
            end = min(stop - part.begin, int(part.blocks.text_start[-1] + part.blocks.length[-1]))
            for i in range(max(start - part.begin, 0), end, _PIECE):
                yield part, i, min(i + _PIECE, end)

    def work(emit: object, item: tuple[Part, int, int]) -> tuple[np.ndarray, np.ndarray]:
        part, begin, end = item
        protospacers, keys = np.empty(2 * _PIECE, np.uint64), np.empty(2 * _PIECE, np.int64)
        size, pieces = max(_AT_ONCE, words.size), [_NO_SITES]
        rank, site = np.empty(size, np.int32), np.empty(size, np.int64)
        for patterns, tables in of_lengths:
            n_sites, s = kernels.find_sites(part, patterns, begin, end, protospacers, keys), 0
            while s < n_sites:
                n, s = kernels.match_sites(tables, protospacers, s, n_sites, rank, site)
                pieces.append((rank[:n].copy(), keys[site[:n]]))
        ranks, of_sites = map(np.concatenate, zip(*pieces, strict=True))
        return ranks, of_sites

    return run_ordered(plan(), [work] * options.n_threads, None)


def _sorted_sites(pieces: Sequence[tuple], n_ranks: int, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return (rank, key) of the sites of ``pieces`` in order, at most ``most`` of each guide."""
    rank, key = map(np.concatenate, zip(*pieces, strict=True))
    counts = np.bincount(rank, minlength=n_ranks)
    begins, in_order = np.cumsum(counts) - counts, np.empty_like(key)
    kernels.place_keys_by_rank(rank, key, begins, begins.copy(), in_order)
    rank = np.repeat(np.arange(n_ranks, dtype=np.int32), counts)
    if most is None:
        return rank, in_order
    is_listed = np.arange(rank.size) - begins[rank >> 3 << 3] < most
    return rank[is_listed], in_order[is_listed]


def find(
    genome: Genome, library: "Library", options: SiteOptions, output: JobOutput, run: Run, progress: Progress
) -> SiteSummary:
    """Write the sites of guides in the contigs of a ``run``."""
    measurement, (reference, parts), counts = Measurement(output.report or Report((), {})), genome, []
    measurement.begin(progress.wall)
    blocks = reference.blocks
    begins = np.append(blocks.text_start[np.diff(blocks.contig, prepend=-1) > 0], reference.n_text)
    start, stop = (int(begins[np.searchsorted(begins, at)]) for at in run.share_of(int(begins[-1])))
    n_bases = int(blocks.length[(blocks.text_start >= start) & (blocks.text_start < stop)].sum())
    names, sequences, contigs = map(put.make_names, (library.ids, library.sequences, reference.names))
    form = SiteForm(names, sequences, contigs, blocks, parts, options.is_5prime, output.kind == "bed")
    container: Container = PLAIN
    if output.kind == "parquet":
        from ..output.formats.parquet import ParquetTable  # needs pyarrow

        container = ParquetTable(tuple(HEAD.decode().split()))
    head = HEAD if output.kind == "tsv" else b""
    with run.opened(output, head, container=container) as outputs:
        with progress.wall.spending("searching"):
            for first, rank, key, of_batch in batches(genome, library, options, start, stop):
                counts.append(of_batch)
                with progress.wall.spending("writing"):
                    for i in range(0, key.size, _AT_ONCE):
                        some = slice(i, i + _AT_ONCE)
                        outputs.write(lines_of(form, rank[some] + (np.int64(first) << 3), key[some]))
        of_guides = np.concatenate(counts)
        summary = SiteSummary(n_bases, int(of_guides.sum()))
        tables = {"--summary": summary_table(library.ids, of_guides, options.most)} if output.tables else {}
        sums = {} if run.is_whole else {"guides": library.ids, "sites": of_guides.tolist()}

        def facts() -> dict[str, Any]:
            by_mismatches = [[n, n, total] for n, total in enumerate(of_guides.sum(axis=0).tolist())]
            more = {"library": {"guides": len(library)}, "mismatches": by_mismatches}
            return measurement.facts(["the CPU"], summary, more)

        outputs.finish(summary, tables, facts if output.report else None, sums)
    if run.is_whole:
        say_cap(of_guides, options.most, progress)
    return summary


def listed(counts: np.ndarray, most: int | None) -> np.ndarray:
    """Return how many of the sites ``counts`` int64[..., guides, mismatches + 1] are listed."""
    ends = np.cumsum(counts, axis=-1)
    return np.diff(ends if most is None else np.minimum(ends, most), prepend=0)


def summary_table(names: Sequence[str], counts: np.ndarray, most: int | None) -> bytes:
    """Return the table of --summary: sites of each guide by mismatches; those that are listed; uniqueness."""
    columns = "\t".join(f"mismatches_{n}" for n in range(counts.shape[1]))
    lines = [f"guide\t{columns}\tsites\tlisted\tunique\n"]
    n_listed = listed(counts, most).sum(axis=1).tolist()
    for name, row, n in zip(names, counts.tolist(), n_listed, strict=True):
        numbers = "\t".join(map(str, [*row, sum(row), n]))
        lines.append(f"{name}\t{numbers}\t{'yes' if row[0] == 1 else 'no'}\n")
    return "".join(lines).encode()


def say_cap(counts: np.ndarray, most: int | None, progress: Progress) -> None:
    """Report how many guides have more sites than are listed."""
    if most is not None and (n := int((counts.sum(axis=1) > most).sum())):
        n_left = int(counts.sum() - listed(counts, most).sum())
        have = n_of(n, "guide has", "guides have")
        left = n_of(n_left, "site is", "sites are")
        progress.say(f"{have} more than {n_of(most, 'site')} (-m): {left} not listed")
