"""How results are written: one file a format, for every command that writes it.

To add a format: write its file and add its line to FORMATS (docs/adding.md).  What its commands write tells
which of these functions the file has; each gives (writer, bytes before the first record):

    search, locate   open_hits(reference, output, sam_header)             hits.HitWriter
    mem              open_matches(reference, output, which, sam_header)   matches.MatchWriter
    pairwise         open_pairs(names, lengths, with_path)                pairs.PairWriter

``output`` is what the command was told of its output; ``sam_header(names)`` gives SAM's header;
``which`` strands of queries are matched; ``names`` and ``lengths`` are those of queries and of targets.
"""

from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, Protocol


class RecordWriter(Protocol):
    """Makes of hits what is written; one instance serves all threads.

    To add one: derive from hits.BatchWriter and write ``format``; or give hits.HitWriter a form (records.py),
    whose records a GPU can make as well.  tests/output/test_writer_protocol.py runs over all of them.
    """

    is_sam: bool
    on_gpu: bool  # whether a GPU can make its records: then it has ``made_on_gpu``, as HitWriter
    takers: tuple

    def allow(self, changes: int) -> None:
        """Let hits have so many changes, at most (input/sets.py)."""

    def format(self, batch: Any, hits: Any, start: int, first_hit: int, last_hit: int) -> Any:
        """A piece: the records of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""

    def split(self, batches: Any, is_hit: Any) -> Any:
        """Yield pieces for the other outputs: reads as they came, by whether each has a reported hit."""

    def of(self, span: Any) -> "RecordWriter":
        """What writes the reads of a span."""

    def owns(self, piece: Any) -> bool:
        """Is a piece the beginning of an array of this writer?"""

    def written(self, piece: Any) -> None:
        """What ``format`` or ``split`` gave has been written."""

    def refusals(self) -> set:
        """Why GPUs do not deflate the records that they make, as they should: sentences."""

    def end(self) -> bytes:
        """What stands after the last record."""


class Sink(Protocol):
    """Takes the pieces of a RecordWriter in order: a plain file, samtools, rows of Parquet or of a matrix.

    To add one: write a context manager that gives it for a path, and let run.container choose it.
    """

    def write(self, piece: Any, /) -> object:
        """Take one piece."""


class Format(NamedTuple):
    """The module that writes a format, and the commands that offer it."""

    module: str
    commands: tuple


FORMATS = {
    "mummer": Format("fmx.output.formats.mummer", ("mem",)),
    "sam": Format("fmx.output.formats.sam", ("search", "locate", "mem")),
    "bam": Format("fmx.output.formats.bam", ("search",)),
    "cram": Format("fmx.output.formats.bam", ("search",)),
    "tsv": Format("fmx.output.formats.tsv", ("search", "locate", "mem", "pairwise")),
    "paf": Format("fmx.output.formats.paf", ("search", "mem", "pairwise")),
    "bed": Format("fmx.output.formats.bed", ("search", "locate", "mem")),
    "rtab": Format("fmx.output.formats.matrix", ()),
    "npz": Format("fmx.output.formats.matrix", ()),
    "nothing": Format("fmx.output.formats.nothing", ()),
    "parquet": Format("fmx.output.formats.parquet", ("search", "locate")),
}


def kinds_of(command: str) -> list:
    """The formats that a command offers."""
    return [kind for kind, made in FORMATS.items() if command in made.commands]


def module_of(kind: str) -> ModuleType:
    """The module of a format, imported."""
    return import_module(FORMATS[kind].module)


class Aside(bytes):
    """A piece of output for the file number ``place`` beside the main one."""

    place = 0
