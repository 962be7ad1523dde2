"""Output formats: one file per format, used by every command that writes it.

To add a format, write its file and add a line to FORMATS (docs/adding.md).  The commands that offer the
format need these functions in the file; each returns (writer, bytes before the first record):

    search, locate   open_hits(reference, output, sam_header)             hits.HitWriter
    mem              open_matches(reference, output, which, sam_header)   matches.MatchWriter
    pairwise         open_pairs(names, lengths, with_path)                pairs.PairWriter

``output``: the command's output options; ``sam_header(names)`` returns the SAM header; ``which``: strands of
queries that are matched; ``names``, ``lengths``: those of queries and of targets.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np


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
    """Return the formats that a command offers."""
    return [kind for kind, made in FORMATS.items() if command in made.commands]


def module_of(kind: str) -> ModuleType:
    """Import the module of a format."""
    return import_module(FORMATS[kind].module)


class Aside(NamedTuple):
    """A ``piece`` of output, bytes or uint8[n], for the additional file number ``place``."""

    piece: "bytes | np.ndarray"
    place: int

    @property
    def nbytes(self) -> int:
        return len(self.piece)
