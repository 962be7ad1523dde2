"""BAM's records through pysam's samtools, in a process of its own: sorted with an index, or as CRAM.

    records, not compressed -> pipe -> samtools sort (pieces of bounded memory in a folder beside) -> output

The folder is a draft: it holds the output and its index until both are whole.  CRAM keeps the letters of
reads (no_ref), so that it can be read without the reference, unless its FASTA is given.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol

from ..errors import OutputError, installed
from ..input import alignments
from ..input.streams import STANDARD, descriptor_of, is_special, named_output, whole_output
from ..system.files import DraftFolder, sync_names, sync_tree

if TYPE_CHECKING:
    from ..index.reference import Reference
    from .search_output import RecordOutput

MEMORY = 1 << 30  # bytes of records held at a time by all threads
LEAST = 32 << 20  # of these by one
LONGEST = 2**29  # bases of a contig that a .bai holds; more take a .csi
INDEXES = ".bai", ".csi", ".crai"


def is_needed(output: "RecordOutput") -> bool:
    """Whether the records of BAM or CRAM go through samtools."""
    return output.sort or output.kind == "cram"


@dataclass(frozen=True)
class Samtools:
    """``kind`` bam or cram, sorted with an ``index`` of this suffix beside it, or as it comes.

    ``fasta``: by which CRAM is compressed; without one it keeps the letters of reads.
    """

    kind: str
    index: str | None
    fasta: str | None
    is_framed: ClassVar[bool] = False

    def opened(self, path: str, n_threads: int) -> AbstractContextManager[BinaryIO]:
        """What takes records of BAM that are not compressed.  Raises OutputError."""
        with installed("pysam", alignments.PACKAGE, OutputError):
            import pysam  # noqa: F401
        threads = ["-@", str(n_threads), "--no-PG"]
        letters = []
        if self.kind == "cram":
            letters = ["--reference", self.fasta] if self.fasta else ["--output-fmt-option", "no_ref=1"]
        if not self.index:
            return _opened(["view", "-C", *threads, *letters], None, path)
        size = max(MEMORY // n_threads, LEAST)
        return _opened(["sort", "-O", self.kind, "-m", str(size), *threads, *letters], self.index, path)


@contextmanager
def _opened(arguments: Sequence[str], index: str | None, path: str) -> Iterator[BinaryIO]:
    """A binary file for records of BAM, which samtools brings to ``path``, with an index beside a file."""
    with ExitStack() as stack, named_output(path):
        if path == STANDARD or is_special(path):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fmx-"))
            descriptor = 1 if path == STANDARD else descriptor_of(path)
            target = os.dup(descriptor) if descriptor is not None else os.open(path, os.O_WRONLY)
            stack.callback(os.close, target)
            with _child([*arguments, *_sorting(arguments, folder), "-o", "-"], target) as sink:
                yield sink
            return
        draft = stack.enter_context(DraftFolder(path))
        made = f"{draft.path}/out"
        options = [*arguments, *_sorting(arguments, draft.path)]
        if index:
            options += ["--write-index", "-o", f"{made}##idx##{made}{index}"]
        else:
            options += ["-o", made]
        with _child(options, alignments.NOTHING) as sink:
            yield sink
        _put_in_place(draft, made, index)


def _sorting(arguments: Sequence[str], folder: str | Path) -> list:
    """Where a sort keeps what does not fit into its memory."""
    return ["-T", f"{folder}/piece"] if arguments[0] == "sort" else []


def _put_in_place(draft: DraftFolder, made: str, index: str | None) -> None:
    """Give the output and its index their names; an index of what stood there is removed first."""
    sync_tree(draft.path)
    for suffix in INDEXES:
        with suppress(FileNotFoundError):
            os.unlink(f"{draft.final}{suffix}")
    os.replace(made, draft.final)
    if index:
        os.replace(f"{made}{index}", f"{draft.final}{index}")
    sync_names(draft.final.parent)


@contextmanager
def _child(arguments: Sequence[str], output: int) -> Iterator[BinaryIO]:
    """The standard input of a samtools under way, a binary file; it has ended well at the end.

    ``output``: its standard output.  Raises OutputError.
    """
    with tempfile.TemporaryFile() as said, ExitStack() as stack:
        child = alignments.start([*arguments, "-"], stdin=alignments.PIPE, stdout=output, stderr=said)
        stack.callback(child.wait)
        stack.callback(child.kill)  # nothing, if it has ended
        pipe: Any = child.stdin
        stack.callback(_close, pipe)
        with suppress(BrokenPipeError):
            yield pipe
            pipe.close()
        if child.wait() != 0:
            raise OutputError(f"samtools could not write: {alignments.said(said, child.returncode)}")


def _close(pipe: BinaryIO) -> None:
    with suppress(BrokenPipeError):
        pipe.close()


# What pieces become: a plain file, or what makes another file of them.


class Container(Protocol):
    """What the pieces of an output become: those of one run, or those of its shards, one after the other.

    So merged shards are the bytes of one run, whatever the format.  A frozen dataclass of JSON's types, which
    shards keep (jobs/identity.py).  To add one: write it, let ``container`` choose it, and name its module in
    CONTAINERS; tests/test_every_output.py runs over all.
    """

    is_framed: ClassVar[bool]  # whether it takes whole pieces, which shards keep apart

    def opened(self, path: str, n_threads: int) -> AbstractContextManager[Any]:
        """What takes pieces (a Sink), which appear at ``path`` in the end.  Raises OutputError."""


@dataclass(frozen=True)
class Plain:
    """The pieces one after the other."""

    is_framed: ClassVar[bool] = False

    def opened(self, path: str, n_threads: int) -> AbstractContextManager[BinaryIO]:
        return whole_output(path)


CONTAINERS = {
    "Plain": "fmx.output.containers", "Samtools": "fmx.output.containers",
    "ParquetTable": "fmx.output.formats.parquet", "SparseMatrix": "fmx.output.formats.matrix",
    "SquareMatrix": "fmx.output.formats.matrix",
}  # fmt: skip


def as_fields(container: Container) -> dict:
    """A Container as JSON's types."""
    return {"container": type(container).__name__, **asdict(container)}  # type: ignore[call-overload]


def from_fields(fields: dict) -> Container:
    """The Container that these are.  Raises KeyError, TypeError where they are none."""
    own = dict(fields)
    name = own.pop("container")
    return getattr(import_module(CONTAINERS[name]), name)(**own)


def container(output: "RecordOutput", reference: "Reference") -> Container:
    """What the pieces of a RecordOutput become.  Raises OutputError."""
    if output.kind == "parquet":
        from .formats import parquet

        return parquet.container(output)
    if output.kind == "npz":
        from .formats import matrix

        return matrix.container(reference, output)
    if not is_needed(output):
        return Plain()
    fasta = os.path.abspath(output.fasta) if output.fasta and output.kind == "cram" else None
    index = ".crai" if output.kind == "cram" else ".csi" if max(reference.lengths) > LONGEST else ".bai"
    return Samtools(output.kind, index if output.sort else None, fasta)
