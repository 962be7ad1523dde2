"""The output options of ``fmx search`` and ``fmx locate`` as data."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ..codecs import BGZF_END
from ..report import JobOutput, Report
from ..system import PLACE
from .records import EVERY


@dataclass(frozen=True)
class ReadGroups:
    """``lines`` of the SAM header, and the ``name`` (ID) for all reads; ``longest``: longest ID that header
    lines of reads may name, or 0; ``of_files``: the IDs for all files of reads, in order, if there are
    several."""

    lines: str = ""
    name: str = ""
    longest: int = 0
    of_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordOutput:
    """Hits in the format ``kind``, one of output.FORMATS; none if it is "nothing" or without a path.

    For SAM, BAM and CRAM: whether to write ``unmapped`` reads; ``tags``, bits of records.TAGS; ``groups``;
    for BAM and CRAM ``sort``, and ``fasta``, the reference for CRAM, or None.  ``mismatches``: the most in a
    hit; ``absent``: whether TSV has a line for reads without a hit; ``matrix``: "presence" or "counts", to
    write a matrix of patterns by groups of contigs instead of hits.
    """

    path: str | None = field(default="-", metadata=PLACE)
    kind: str = "sam"
    unmapped: bool = True
    tags: int = EVERY
    groups: ReadGroups = ReadGroups()
    sort: bool = False
    fasta: str | None = field(default=None, metadata=PLACE)
    mismatches: int = 0
    absent: bool = False
    matrix: str | None = None


class ReadsFile(NamedTuple):
    """What a file of unchanged reads contains: those ``with_hit``, or those without, perhaps compressed.

    ``mate``: of pairs, mates 1 or 2; 0: both in turn.
    """

    with_hit: bool
    is_gzip: bool
    mate: int = 0

    @property
    def name(self) -> str:
        """A name that is unique in a run."""
        return f"{'al' if self.with_hit else 'un'}{f'_{self.mate}' if self.mate else ''}"

    @property
    def option(self) -> str:
        """The option that names the file."""
        return f"--{'al' if self.with_hit else 'un'}{('', ' (first mates)', ' (second mates)')[self.mate]}"

    @property
    def end(self) -> bytes:
        """Bytes after the last piece."""
        return BGZF_END if self.is_gzip else b""


def is_gzip(path: str) -> bool:
    """Return whether an output file of reads is to be compressed, by its name."""
    return path.lower().endswith(".gz")


def of_mates(path: str | Path) -> tuple:
    """Return the names for mates 1 and mates 2: clean.fq.gz becomes clean_1.fq.gz and clean_2.fq.gz."""
    folder, name = os.path.split(path)
    stem, dot, suffix = name.partition(".")
    return tuple(os.path.join(folder, f"{stem}_{mate}{dot}{suffix}") for mate in (1, 2))


@dataclass(frozen=True)
class ReadsOutput:
    """Paths for unchanged reads with a reported hit (``mapped``) and without, or None; ``has_mates``: mates
    go to two files."""

    mapped: str | None = field(default=None, metadata=PLACE)
    unmapped: str | None = field(default=None, metadata=PLACE)
    has_mates: bool = False


@dataclass(frozen=True)
class SearchOutput(JobOutput):
    """All outputs of a search: ``records`` of hits; a table of reads and hits per contig, ``counts``, or
    ``by_group`` of contigs; a table by combinations of groups, ``screen``; unchanged ``reads``; a ``report``.
    """

    records: RecordOutput = RecordOutput()
    counts: str | None = field(default=None, metadata=PLACE)
    by_group: bool = False
    screen: str | None = field(default=None, metadata=PLACE)
    reads: ReadsOutput = ReadsOutput()
    report: Report | None = field(default=None, metadata=PLACE)

    @property
    def path(self) -> str | None:  # type: ignore[override]
        return self.records.path

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.records.kind

    def absolute(self) -> "SearchOutput":
        """Return the output with an absolute path of the reference, which is read."""
        fasta = self.records.fasta and os.path.abspath(self.records.fasta)
        return replace(self, records=replace(self.records, fasta=fasta))

    @property
    def tables(self) -> dict[str, str]:
        return {option: path for option, path in self._tables.items() if path}

    @property
    def _tables(self) -> dict[str, str | None]:
        return {"--counts": self.counts, "--screen": self.screen}

    @property
    def reads_files(self) -> dict[str, ReadsFile]:
        return {
            path: ReadsFile(hit, is_gzip(path), mate)
            for hit, name in ((True, self.reads.mapped), (False, self.reads.unmapped))
            if name
            for mate, path in (enumerate(of_mates(name), 1) if self.reads.has_mates else [(0, name)])
        }

    def additional(self) -> dict:
        reads = {"--al": self.reads.mapped, "--un": self.reads.unmapped}
        forms = {option: path and ("gzip" if is_gzip(path) else "plain") for option, path in reads.items()}
        return {name: bool(path) for name, path in self._tables.items()} | super().additional() | forms
