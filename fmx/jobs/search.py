"""The jobs of fmx search and fmx locate: map reads, or list the occurrences of patterns."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from ..input import PairedFiles, ReadFiles
from ..input.chunks import literal_fasta
from ..input.dna import is_ambiguous
from ..input.streams import STANDARD
from ..output.search_output import SearchOutput
from ..search.mapping import MapOptions
from ..search.summary import Asked
from ..system import PLACE
from ..workflow import Search, prepare, write_hits
from . import RENAME, Context, IndexChoice, IndexedJob, Opened, absolute

if TYPE_CHECKING:
    from ..search.summary import PairSummary, Summary


@dataclass(frozen=True)
class ReadInput:
    """Files of reads: single reads or mates 1 (``first``) and mates 2; ``fasta``: reference of CRAM files;
    ``sample``: its name, if there are several; ``literal``: sequences instead of files."""

    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    fasta: str | None = None
    sample: str = ""
    literal: tuple[str, ...] = ()
    tags: str = "RG"

    @property
    def paths(self) -> tuple[str, ...]:
        """All files of reads."""
        return (*self.first, *self.second)

    def absolute(self) -> "ReadInput":
        """Return the files with absolute paths."""
        first, second, fasta = absolute((self.first, self.second, self.fasta))
        return replace(self, first=first, second=second, fasta=fasta)

    def sources(self, in_pairs: bool) -> ReadFiles:
        """Return what to map: files, PairedFiles, or the literal sequences as FASTA."""
        if self.literal:
            return [literal_fasta(self.literal, self.literal)]
        first: tuple = self.first
        second: tuple = self.second
        if self.fasta or self.tags != "RG":
            from ..input.alignments import AlignmentsPath

            first, second = (
                tuple(AlignmentsPath(path, self.fasta, self.tags) for path in paths)
                for paths in (first, second)
            )
        return PairedFiles(first, second) if in_pairs else first


@dataclass(frozen=True)
class SearchJob(IndexedJob):
    """Map reads to an index."""

    name: ClassVar[str] = "search"
    paths: ClassVar[tuple[str, ...]] = ("index", "reads", "output")
    index: IndexChoice = field(metadata=PLACE)
    reads: ReadInput = field(metadata=PLACE)
    mapping: MapOptions = field(default_factory=MapOptions)
    output: SearchOutput = field(default_factory=SearchOutput)

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.reads.paths

    @property
    def skip(self) -> int:  # type: ignore[override]
        return self.mapping.skip

    def open(self, context: Context) -> Opened:
        index, near, matrix = self.index, self.mapping.near, self.output.records.matrix
        if near and near.iupac:
            index = index.of_any_length()
        opened = index.open(context, near is not None, self._remedy())
        if matrix:
            from ..index.reference import groups_of

            groups_of(opened.fm_index)
        return opened

    def _remedy(self) -> str:
        """Return what to do if several indexes have contigs of the same name, "" if no names are written."""
        output = self.output
        has_hits = output.kind != "nothing" and not output.records.matrix
        if output.counts and not output.by_group:
            return RENAME if has_hits else f"add --counts-by group, or {RENAME}"
        option = "--format" if output.path in (None, STANDARD) else "-o"
        return (RENAME if self.name == "locate" else f"{RENAME}, or leave out {option}") if has_hits else ""

    def facts(self, opened: Opened) -> dict:
        from .identity import as_json

        return {"asked": as_json(self.wording(opened)), "literal": list(self.reads.literal)}

    def prepare(self, opened: Opened, context: Context) -> Search:
        if self.reads.sample:
            context.progress.say(f"sample {self.reads.sample}: writing {self.output.path}")
        options = replace(self.mapping, n_threads=context.resources.threads, chunk_size=0)
        if self.output.records.matrix:
            from ..output.formats.matrix import chunk_size

            size = chunk_size(opened.fm_index.reference, options.chunk_size)
            options = replace(options, chunk_size=size)
        sources, output = self.reads.sources(options.pairing is not None), opened.in_report(self.output)
        place, n_shards = context.resources.place, context.run.n_shards
        return prepare(opened.fm_index, sources, options, output, context.progress, place, n_shards)

    def execute(self, opened: Opened, prepared: Search, context: Context) -> "Summary | PairSummary":
        reads, run = self.reads, context.run
        if reads.literal:
            reads = replace(reads, literal=reads.literal[slice(*run.share_of(len(reads.literal)))])
        sources = reads.sources(self.mapping.pairing is not None)
        return write_hits(prepared, sources, opened.in_report(self.output), context.progress, run)

    def wording(self, opened: Opened) -> Asked:
        wording = Asked.of(self.mapping, opened.fm_index.reference)
        return replace(
            wording, has_codes=not self.reads.literal or any(map(is_ambiguous, self.reads.literal))
        )


@dataclass(frozen=True)
class LocateJob(SearchJob):
    """List every occurrence of patterns."""

    name: ClassVar[str] = "locate"
