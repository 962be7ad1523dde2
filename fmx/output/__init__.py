"""Output formats: one file per format, used by every command that writes it; and how pieces become a file.

To add a format, write its file and add a line to _FORMATS (docs/layouts.md).  The commands that offer the
format need these functions in the file; each returns (writer, bytes before the first record):

    search, locate   open_hits(reference, output, sam_header)             hits.HitWriter
    mem              open_matches(reference, output, which, sam_header)   lines.MatchWriter
    pairwise         open_pairs(names, lengths, with_path)                lines.PairWriter

``output``: the command's output options; ``sam_header(names)`` returns the SAM header; ``which``: strands of
queries that are matched; ``names``, ``lengths``: those of queries and of targets.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from .files import OutputFile
    from .put import NameLines

SamHeader: TypeAlias = "Callable[[NameLines], bytes]"  # from the names of contigs
Opening: TypeAlias = "tuple[Any, bytes]"  # a writer, and the bytes before the first record


_FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {  # the module, and the commands that offer the format
    "mummer": ("formats.mummer", ("mem",)),
    "sam": ("formats.sam", ("search", "locate", "mem")),
    "bam": ("formats.bam", ("search",)),
    "cram": ("formats.bam", ("search",)),
    "tsv": ("formats.tsv", ("search", "locate", "mem", "pairwise")),
    "paf": ("formats.paf", ("search", "mem", "pairwise")),
    "bed": ("formats.bed", ("search", "locate", "mem")),
    "rtab": ("formats.matrix", ()),
    "npz": ("formats.matrix", ()),
    "nothing": ("hits", ()),
    "parquet": ("formats.parquet", ("search", "locate")),
}


def kinds_of(command: str) -> list:
    """Return the formats that a command offers."""
    return [kind for kind, (_, commands) in _FORMATS.items() if command in commands]


def module_of(kind: str) -> ModuleType:
    """Import the module of a format."""
    return import_module(f"{__name__}.{_FORMATS[kind][0]}")


class ReadsPiece(NamedTuple):
    """Pieces of files of reads: (number of the file, bytes or uint8[n]) of each."""

    parts: "list[tuple[int, bytes | np.ndarray]]"

    @property
    def nbytes(self) -> int:
        return sum(len(data) for _, data in self.parts)


@dataclass(frozen=True)
class Container:
    """How the pieces of an output become a file; this one: one after another, unchanged.

    The same for one run, a shard and merged shards, so a shard is a complete file, and merged shards have the
    bytes of one run, whatever the format.  To add one, write a frozen dataclass of JSON types, which shards
    store, and a function ``container(reference, output)`` in the module of the format;
    tests/test_every_output.py tests all of them.
    """

    @property
    def whole(self) -> "Container":
        """That of the whole run, if this is one of a shard."""
        return self

    def opened(self, file: "OutputFile", n_threads: int) -> AbstractContextManager[Any]:
        """Open what writes pieces to a file that was just opened.  Raises OutputError."""
        return nullcontext(file)

    def pieces(self, path: str, data: Iterator[bytes], n_head: int) -> Iterator[bytes]:
        """Yield pieces of a complete file at ``path``, perhaps others than were written, to make it again.

        ``n_head``: bytes of its first pieces that are left out, as they are from ``data``, the bytes of the
        file; reading ``data`` checks it, so that comes first.
        """
        return data


PLAIN = Container()


def as_fields(value: Any) -> dict:
    """Return a dataclass of JSON types, such as a Container, as a dict of them."""
    return {"type": f"{type(value).__module__}.{type(value).__name__}", **asdict(value)}


def of_fields(fields: dict) -> Any:
    """Return the dataclass of as_fields, of a module of fmx.

    Raises ImportError, AttributeError, KeyError, TypeError if the fields are wrong.
    """
    values = dict(fields)
    module, _, name = values.pop("type").removeprefix("fmx.").rpartition(".")
    return getattr(import_module(f"fmx.{module}"), name)(**values)
