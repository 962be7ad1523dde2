"""The jobs of fmx search and fmx locate: reads, or patterns, and where they occur."""

import os
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ..input.chunks import literal_fasta
from ..output.wanted import Output
from ..search.facts import Asked
from ..search.mapping import MapOptions
from ..system.files import PLACE
from ..workflow import Search, map_reads, prepare
from .identity import absolute, identity, n_of_files
from .kept import Kept
from .opening import IndexChoice, Opened
from .resources import Resources
from .told import tell_run


@dataclass(frozen=True)
class ReadInput:
    """Files of reads: of single ones or mates 1, and of mates 2; ``fasta``: by which those are compressed
    that are CRAM; ``sample``: its name, if it is one of several; ``literal``: sequences in place of files."""

    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    fasta: str | None = None
    sample: str = ""
    literal: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All files of reads."""
        return (*self.first, *self.second)

    def absolute(self) -> "ReadInput":
        """The same for a process in another folder."""
        fasta = absolute([self.fasta])[0] if self.fasta else None
        return replace(self, first=absolute(self.first), second=absolute(self.second), fasta=fasta)

    def sources(self, pairing: Any) -> Any:
        """What is mapped: files, or PairedFiles, or the literal sequences."""
        if self.literal:
            return [literal_fasta(self.literal, self.literal)]
        first: tuple = self.first
        second: tuple = self.second
        if self.fasta:
            from ..input.alignments import Compressed

            first, second = (
                tuple(Compressed(path, self.fasta) for path in paths) for paths in (first, second)
            )
        if not pairing:
            return first
        from ..input.mates import PairedFiles

        return PairedFiles(first, second)


@dataclass(frozen=True)
class SearchJob:
    """Reads, and how they are mapped to an index."""

    name: ClassVar[str] = "search"
    index: IndexChoice = field(metadata=PLACE)
    reads: ReadInput = field(metadata=PLACE)
    mapping: MapOptions
    output: Output

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.reads.paths

    @property
    def index_path(self) -> str:
        return str(self.index.paths[0])

    def alone(self) -> str:
        mapping, output = self.mapping, self.output
        asked = {
            "--first": mapping.first, "--skip": mapping.skip, "--collapse": mapping.collapse,
            "--screen": output.screen, "several -x": self.index.paths[1:], "--sort": output.sort,
        }  # fmt: skip
        asked[output.kind.upper()] = output.kind in ("cram", "parquet")
        return next((option for option, value in asked.items() if value), "")

    def absolute(self) -> "SearchJob":
        groups = self.output.groups
        own = groups and {os.path.abspath(path): name for path, name in groups.items()}
        output = replace(self.output, groups=own)
        return replace(self, index=self.index.absolute(), reads=self.reads.absolute(), output=output)

    def open(self, resources: Resources, progress, kept: Kept) -> Opened:
        output = self.output
        has_names = output.kind != "nothing" and not output.matrix
        has_names = has_names or bool(output.counts and not output.by_group)
        opened = self.index.open(resources, progress, kept, self.mapping.near is not None, has_names)
        if output.matrix:
            from ..index.contigs import groups_of

            groups_of(opened.fm_index)
        return opened

    def identity(self, opened: Opened) -> dict:
        asked, meta = self._asked(opened), opened.fm_index.meta
        return identity(self.name, self.inputs, meta, mapping=self.mapping, output=self.output, told=asked)

    def n_parts(self, opened: Opened, resources: Resources, progress, kept: Kept) -> int:
        return n_of_files(self.inputs, resources.engine)

    def prepare(self, opened: Opened, resources: Resources, progress, kept: Kept) -> Search:
        if self.reads.sample:
            progress.say(f"sample {self.reads.sample} to {self.output.path}")
        options = replace(self.mapping, n_threads=resources.threads, chunk_size=0)
        if self.output.matrix:
            from ..output.formats.matrix import chunk_size

            size = chunk_size(opened.fm_index.reference, options.chunk_size)
            options = replace(options, chunk_size=size)
        sources, output = self.reads.sources(options.pairing), self._output(opened, resources)
        return prepare(opened.fm_index, sources, options, output, progress, resources.place)

    def execute(self, opened: Opened, prepared: Search, shard, resources: Resources, progress) -> Any:
        sources, output = self.reads.sources(self.mapping.pairing), self._output(opened, resources)
        return map_reads(prepared, sources, output, progress, shard)

    def tell(self, opened: Opened, summary: Any, shard, progress) -> None:
        tell_run(progress, self.name, summary, self._asked(opened), self.inputs, shard)

    def merge(self, opened: Opened, folder, shards, progress) -> list:
        from .merge import merge

        output = opened.told(self.output)
        beside = {"counts": output.counts, "report": output.report, "asides": output.takers()}
        return merge(folder, shards, output.path, **beside, wall=progress.wall)

    def _asked(self, opened: Opened) -> Asked:
        return Asked.of(self.mapping, opened.fm_index.reference)

    def _output(self, opened: Opened, resources: Resources) -> Output:
        return replace(opened.told(self.output), n_threads=resources.threads)


@dataclass(frozen=True)
class LocateJob(SearchJob):
    """Patterns, of which every occurrence is listed."""

    name: ClassVar[str] = "locate"

    def alone(self) -> str:
        kind = self.output.kind
        return "-p" if self.reads.literal else kind.upper() if kind in ("parquet", "npz") else ""
