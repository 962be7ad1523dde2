"""BAM's records through pysam's samtools, in a process of its own: sorted with an index, or as CRAM.

    records, not compressed -> pipe -> samtools sort (pieces of bounded memory in a folder beside) -> output

The folder is a draft: it holds the output and its index until both are whole.  CRAM keeps the letters of
reads (no_ref), so that it can be read without the reference, unless its FASTA is given.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import OutputError, installed
from ..input import alignments
from ..input.streams import STANDARD, descriptor_of, is_special, named_output, whole_output
from ..system.files import DraftFolder, sync_names, sync_tree

if TYPE_CHECKING:
    from ..index.reference import Reference
    from .wanted import Output

MEMORY = 1 << 30  # bytes of records held at a time by all threads
LEAST = 32 << 20  # of these by one
LONGEST = 2**29  # bases of a contig that a .bai holds; more take a .csi
INDEXES = ".bai", ".csi", ".crai"


def is_needed(output: "Output") -> bool:
    """Whether the records of BAM or CRAM go through samtools."""
    return output.sort or output.kind == "cram"


def samtools_container(
    output: Any, reference: "Reference"
) -> Callable[[str], AbstractContextManager[BinaryIO]]:
    """What opens the file for records that need it: a function of its path.  Raises OutputError."""
    with installed("pysam", alignments.PACKAGE, OutputError):
        import pysam  # noqa: F401
    threads = ["-@", str(output.n_threads), "--no-PG"]
    letters = []
    if output.kind == "cram":
        by = os.path.abspath(output.fasta) if output.fasta else None
        letters = ["--reference", by] if by else ["--output-fmt-option", "no_ref=1"]
    if not output.sort:
        return partial(_opened, ["view", "-C", *threads, *letters], None)
    size = max(MEMORY // output.n_threads, LEAST)
    index = ".crai" if output.kind == "cram" else ".csi" if max(reference.lengths) > LONGEST else ".bai"
    return partial(_opened, ["sort", "-O", output.kind, "-m", str(size), *threads, *letters], index)


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


# What takes the bytes of a format: a plain file, or what makes another file of them.


def container(output: "Output", reference: "Reference") -> Callable[[str], AbstractContextManager[Any]]:
    """A function that opens a path for the bytes of an Output.  Raises OutputError."""
    if output.kind == "parquet":
        from .formats import parquet

        return partial(parquet.opened, parquet.schema_of(output))
    if output.kind == "npz":
        from .formats import matrix

        return partial(matrix.opened, reference.groups.names, output.matrix == "presence")  # type: ignore[union-attr]
    return samtools_container(output, reference) if is_needed(output) else whole_output
