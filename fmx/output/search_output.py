"""The output options of ``fmx search`` and ``fmx locate`` as data."""

from dataclasses import dataclass, field

from ..report import JobOutput
from ..system import PLACE
from .files import ReadsOutput
from .records import EVERY


@dataclass(frozen=True)
class ReadGroups:
    """``lines`` of the SAM header, and the ``name`` (ID) for all reads; ``longest``: longest ID that header
    lines of reads may name, or 0."""

    lines: str = ""
    name: str = ""
    longest: int = 0


@dataclass(frozen=True)
class SearchOutput(JobOutput):
    """Hits in the format ``kind``, one of output.FORMATS; none if it is "nothing" or without a path.

    For SAM, BAM and CRAM: whether to write ``unmapped`` reads; ``tags``, bits of records.TAGS; ``groups``;
    for BAM and CRAM ``sort``, and ``fasta``, the reference for CRAM, or None.  ``mismatches``: the most in a
    hit; ``absent``: whether TSV has a line for reads without a hit; ``matrix``: "presence" or "counts", to
    write a matrix of patterns by groups of contigs instead of hits.  ``by_group``: whether --counts counts
    groups of contigs.
    """

    kind: str = "sam"
    reads: ReadsOutput = field(default_factory=ReadsOutput)
    unmapped: bool = True
    tags: int = EVERY
    groups: ReadGroups = ReadGroups()
    sort: bool = False
    fasta: str | None = field(default=None, metadata=PLACE)
    mismatches: int = 0
    absent: bool = False
    matrix: str | None = None
    by_group: bool = False
