"""What ``fmx search`` and ``fmx locate`` write, where and how."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..codecs.readers import BGZF_END
from ..report.facts import Report
from ..system.files import PLACE
from .records import EVERY


@dataclass(frozen=True)
class ReadGroups:
    """``lines`` of SAM's header, and the ``name`` (ID) that all reads have; ``longest``: letters that the
    one of a read may have, where their header lines name some; ``of_files``: those of all files of reads, in
    order, where they are several."""

    lines: str = ""
    name: str = ""
    longest: int = 0
    of_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordOutput:
    """Hits as ``kind``, one of output.FORMATS; of kind "nothing", and with no path, none.

    For SAM and its kind: ``unmapped`` reads, too; ``tags``, bits of records.TAGS; ``groups``; of BAM and CRAM
    ``sort``, and ``fasta``, by which CRAM is compressed, or None.  ``mismatches``: the most that a hit has;
    ``absent``: whether TSV has a line for a read without one; ``matrix``: "presence" or "counts" of patterns
    by groups of contigs, in the place of hits.
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


@dataclass(frozen=True)
class CountsOutput:
    """A table of reads and hits per contig, or ``by_group`` of contigs."""

    path: str = field(metadata=PLACE)
    by_group: bool = False


class Taker(NamedTuple):
    """Whether reads with a hit are taken, or those without, and whether what is taken is compressed.

    Of pairs: mates ``mate``, 1 or 2, or with 0 both, in turn.
    """

    with_hit: bool
    is_gzip: bool
    mate: int = 0

    @property
    def name(self) -> str:
        """Tells it from others of a run."""
        return f"{'al' if self.with_hit else 'un'}{f'_{self.mate}' if self.mate else ''}"

    @property
    def end(self) -> bytes:
        """What stands after the last piece."""
        return BGZF_END if self.is_gzip else b""


def is_gzip(path: str) -> bool:
    """Does the name of an output for reads ask for compressed ones?"""
    return path.lower().endswith(".gz")


def of_mates(path: str | Path) -> tuple:
    """Names for the files of mates 1 and of mates 2: clean.fq.gz becomes clean_1.fq.gz and clean_2.fq.gz."""
    folder, name = os.path.split(path)
    stem, dot, suffix = name.partition(".")
    return tuple(os.path.join(folder, f"{stem}_{mate}{dot}{suffix}") for mate in (1, 2))


@dataclass(frozen=True)
class ReadsOutput:
    """Where reads with a reported hit, ``mapped``, and those without are written as they came, or None;
    mates in two files with ``has_mates``."""

    mapped: str | None = field(default=None, metadata=PLACE)
    unmapped: str | None = field(default=None, metadata=PLACE)
    has_mates: bool = False

    def takers(self) -> dict[str, Taker]:
        """{path: Taker} of all files."""
        return {
            path: Taker(hit, is_gzip(path), mate)
            for hit, whole in ((True, self.mapped), (False, self.unmapped))
            if whole
            for mate, path in (enumerate(of_mates(whole), 1) if self.has_mates else [(0, whole)])
        }


@dataclass(frozen=True)
class SearchOutput:
    """All that a search writes: ``records`` of hits, a table of ``counts``, a ``screen`` (the path of a table
    by combinations of groups), ``reads`` as they came, a ``report``."""

    records: RecordOutput = RecordOutput()
    counts: CountsOutput | None = None
    screen: str | None = field(default=None, metadata=PLACE)
    reads: ReadsOutput = ReadsOutput()
    report: Report | None = field(default=None, metadata=PLACE)

    @property
    def path(self) -> str | None:
        """Of the records."""
        return self.records.path

    @property
    def kind(self) -> str:
        """Of the records."""
        return self.records.kind

    @property
    def by_group(self) -> bool:
        """Is it groups of contigs whose reads are counted?"""
        return self.counts.by_group if self.counts else bool(self.screen)

    @property
    def places(self) -> tuple[str | None, ...]:
        """Where all of it is written."""
        counts = [self.counts.path] if self.counts else []
        screen = [self.screen] if self.screen else []
        return self.path, *counts, *screen, *self.reads.takers(), *self.reports

    def beside(self) -> dict:
        """What each shard leaves beside its part of the hits, by the options that ask for it."""
        reads = {"--al": self.reads.mapped, "--un": self.reads.unmapped}
        how = {option: path and ("gzip" if is_gzip(path) else "plain") for option, path in reads.items()}
        tables = {"--counts": bool(self.counts), "--screen": bool(self.screen)}
        return {**tables, "--report": bool(self.report), **how}

    @property
    def reports(self) -> tuple[str, ...]:
        """The paths of the report."""
        return self.report.paths if self.report else ()
