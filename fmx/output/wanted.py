"""What ``fmx search`` and ``fmx locate`` write, where and how."""

from dataclasses import dataclass, field

from ..report.facts import Report
from ..system.files import PLACE
from .containers import Container
from .reads import Taker, is_gzip, of_mates
from .records import EVERY
from .run import LocalRun
from .tables import CountsTable, ScreenTable


@dataclass(frozen=True)
class Output:
    """What is written: ``kind`` one of output.FORMATS.

    For SAM and its kind: ``unmapped``; ``tags``, bits of output.tags; ``read_group``, lines of the header,
    and ``read_group_id``, of all reads; ``own_group``: letters that the one of a read may have, where their
    header lines name some; ``groups``: IDs of all files of reads, in order, where they are several.

    ``kind`` may be "nothing", and ``path`` None: no hits.  ``counts``: a table by contigs, or ``by_group``;
    ``screen``: one by combinations of groups.  ``matrix``: "presence" or "counts" of patterns by groups, in
    the place of hits.

    ``mismatches``: the most that a hit has; ``absent``: whether TSV has a line for a read without one;
    ``mapped_to``, ``unmapped_to``: where reads with a reported hit, and those without, are written as they
    came, mates in two files with ``has_mates``; ``sort``: BAM or CRAM; ``fasta``: by which CRAM is
    compressed, or None; ``report``: files that tell of the run.
    """

    path: str | None = field(default="-", metadata=PLACE)
    kind: str = "sam"
    unmapped: bool = True
    read_group: str = ""
    read_group_id: str = ""
    own_group: int = 0
    groups: tuple[str, ...] = ()
    tags: int = EVERY
    counts: str | None = field(default=None, metadata=PLACE)
    by_group: bool = False
    screen: str | None = field(default=None, metadata=PLACE)
    matrix: str | None = None
    mismatches: int = 0
    absent: bool = False
    mapped_to: str | None = field(default=None, metadata=PLACE)
    unmapped_to: str | None = field(default=None, metadata=PLACE)
    has_mates: bool = False
    sort: bool = False
    fasta: str | None = field(default=None, metadata=PLACE)
    report: Report | None = field(default=None, metadata=PLACE)

    @property
    def tells_groups(self) -> bool:
        """Is told of groups, instead of contigs, how many reads are theirs?"""
        return self.by_group or bool(self.screen and not self.counts)

    @property
    def places(self) -> tuple[str | None, ...]:
        """Where all of it is written."""
        reports = self.report.paths if self.report else ()
        return self.path, self.counts, self.screen, *self.takers(), *reports

    def beside(self) -> dict:
        """What each shard leaves beside its part of the hits, by the options that ask for it."""
        reads = {"--al": self.mapped_to, "--un": self.unmapped_to}
        how = {option: path and ("gzip" if is_gzip(path) else "plain") for option, path in reads.items()}
        tables = {"--counts": bool(self.counts), "--screen": bool(self.screen)}
        return {**tables, "--report": bool(self.report), **how}

    def tables(self) -> dict:
        """{type of Table: path} of the tables beside it."""
        found = {CountsTable: self.counts, ScreenTable: self.screen}
        return {table: path for table, path in found.items() if path}

    def run(self, container: Container, n_threads: int) -> LocalRun:
        """All of the inputs into ``path``, which a Container makes by n_threads."""
        reports = self.report.paths if self.report else ()
        return LocalRun(self.path, container, n_threads, self.tables(), self.takers(), reports)

    def takers(self) -> dict:
        """{path: Taker} of the outputs for reads."""
        return {
            path: Taker(hit, is_gzip(path), mate)
            for hit, whole in ((True, self.mapped_to), (False, self.unmapped_to))
            if whole
            for mate, path in (enumerate(of_mates(whole), 1) if self.has_mates else [(0, whole)])
        }
