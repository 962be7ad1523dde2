"""The output options of ``fmx search`` and ``fmx locate`` as data."""

from dataclasses import dataclass, field

from ..report import JobOutput, Report
from ..system import PLACE
from .files import ReadsOutput
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


@dataclass(frozen=True)
class SearchOutput(JobOutput):
    """All outputs of a search: ``records`` of hits; a table of reads and hits per contig, ``counts``, or
    ``by_group`` of contigs; a table by combinations of groups, ``screen``; unchanged ``reads``; a ``report``.
    """

    records: RecordOutput = RecordOutput()
    counts: str | None = field(default=None, metadata=PLACE)
    by_group: bool = False
    screen: str | None = field(default=None, metadata=PLACE)
    reads: ReadsOutput = field(default_factory=ReadsOutput)
    report: Report | None = field(default=None, metadata=PLACE)

    @property
    def path(self) -> str | None:  # type: ignore[override]
        return self.records.path

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.records.kind

    @property
    def tables(self) -> dict[str, str]:
        paths = {"--counts": self.counts, "--screen": self.screen}
        return {option: path for option, path in paths.items() if path}

    def additional(self) -> dict:
        return {"--counts": bool(self.counts), "--screen": bool(self.screen), **super().additional()}
