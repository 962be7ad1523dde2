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
from typing import NamedTuple


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
