"""A run: the input that it reads, and the files that it writes, which appear together or not at all.

The main output, tables beside it, files of reads (--al, --un) and reports.  A shard is a run over a range of
the input, with its files in a folder (jobs/shard.py).
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from ..input import PairedFiles, spans
from ..input.read_range import InputRange, ReadRange
from ..input.streams import STANDARD, is_special, named_output, whole_output
from . import PLAIN, Aside, Container

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from _typeshed import DataclassInstance

    from ..index.reference import Reference
    from .search_output import RecordOutput


CONTAINERS = {
    "Container": "fmx.output", "Samtools": "fmx.output.formats.bam",
    "ParquetTable": "fmx.output.formats.parquet", "SparseMatrix": "fmx.output.formats.matrix",
    "SquareMatrix": "fmx.output.formats.matrix",
}  # fmt: skip


def as_fields(container: Container) -> dict:
    """Return a Container as JSON types."""
    return {"container": type(container).__name__, **asdict(container)}


def from_fields(fields: dict) -> Container:
    """Return the Container of as_fields.  Raises KeyError, TypeError if the fields are wrong."""
    name = fields["container"]
    values = {key: value for key, value in fields.items() if key != "container"}
    return getattr(import_module(CONTAINERS[name]), name)(**values)


def container(output: "RecordOutput", reference: "Reference") -> Container:
    """Return the Container of a RecordOutput.  Raises OutputError."""
    if output.kind == "parquet":
        from .formats import parquet

        return parquet.container(output)
    if output.kind == "npz":
        from .formats import matrix

        return matrix.container(reference, output)
    if output.kind in ("bam", "cram"):
        from .formats import bam

        if bam.is_needed(output):
            return bam.container(reference, output)
    return PLAIN


class Run:
    """A whole run; while it is ``opened``, a binary file for its pieces."""

    n_shards, is_whole = 1, True

    def plan(self, inputs: InputRange) -> Generator[Any, None, None]:
        """Yield the spans to read."""
        files, size, n_threads, records = inputs
        if isinstance(files, PairedFiles):
            from ..input import pair_spans  # not needed for single reads

            return pair_spans.plan(files, size, n_threads, records)
        return ReadRange(records).of(spans.plan(files, size, n_threads=n_threads))

    def share_of(self, n: int) -> tuple[int, int]:
        """Return (start, stop): which of n items, known to every shard, to do."""
        return 0, n

    def why_empty(self, what: str) -> str:
        """Return why a shard has no ``what``, such as reads."""
        return ""

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the result of ``make()``, shared by all shards of this process."""
        return make()

    def _open(self, path: str) -> AbstractContextManager[BinaryIO]:
        """Open a file that appears when the context ends."""
        return whole_output(path)

    def _beside(self, path: str, stack: ExitStack, has_thread: bool = False) -> "_Beside":
        """Open a file beside the main output; ``has_thread``: a thread writes it, unless it is a device or a
        pipe."""
        with named_output(path):
            has_thread = has_thread and path != STANDARD and not is_special(path)
        file, pool = stack.enter_context(self._open(path)), None
        if has_thread:
            from concurrent.futures import ThreadPoolExecutor  # not needed without such files

            pool = stack.enter_context(ThreadPoolExecutor(1))
        return _Beside(path, file, pool)

    @contextmanager
    def opened(
        self,
        output: Any,
        head: bytes = b"",
        end: bytes = b"",
        container: Container = PLAIN,
        n_threads: int = 1,
    ) -> Iterator[Self]:
        """Open the files of a JobOutput (report/facts.py) for the pieces between ``head`` and ``end``.

        Raises OutputError.
        """
        self._facts: Callable[[], dict] | None = None
        with ExitStack() as last:
            reports = {path: self._beside(path, last) for path in output.reports}
            with ExitStack() as stack:
                self._tables = {option: self._beside(path, stack) for option, path in output.tables.items()}
                takers = output.takers()
                self._reads = [self._beside(path, stack, has_thread=True) for path in takers]
                path = output.path or os.devnull
                file = self._open(path) if container == PLAIN else container.opened(path, n_threads)
                self._main = stack.enter_context(file)  # closed first, as that may fail
                self._main.write(head)
                yield self
                self._main.write(end)
                for reads, taker in zip(self._reads, takers.values(), strict=True):
                    reads.write(taker.end)
                    reads.finish()
            if reports and self._facts:  # last, as they include the time for all the others
                from ..report.page import rendered  # only for reports

                facts = self._facts()
                for path, report in reports.items():
                    report.write(rendered(path, facts))

    def write(self, piece: Any) -> None:
        """Write one piece to the main output, or an Aside to its file of reads."""
        if isinstance(piece, Aside):
            self._reads[piece.place].write(piece.piece)
        else:
            self._main.write(piece)

    def note(
        self,
        summary: "DataclassInstance | None",
        tables: Mapping[str, bytes] | None = None,
        facts: Callable[[], dict] | None = None,
        sums: dict | None = None,
    ) -> None:
        """Write ``tables``, {option: text}, and keep ``facts()`` for reports, while the files are open.

        A shard also stores the numbers of ``summary``, and ``sums`` of JSON types.
        """
        self._facts = facts
        for option, table in (tables or {}).items():
            self._tables[option].write(table)


class _Beside:
    """A file beside the main output: errors name its path.  With a ``pool`` of one thread, this thread writes
    one piece at a time, and errors are raised later.  Raises OutputError."""

    def __init__(self, path: str, file: BinaryIO, pool: "ThreadPoolExecutor | None" = None) -> None:
        self._path, self._file, self._pool = path, file, pool
        self._last: Future[None] | None = None

    def write(self, piece: Any) -> None:
        if not self._pool:
            return self._put(piece)
        self.finish()
        self._last = self._pool.submit(self._put, piece)

    def _put(self, piece: Any) -> None:
        with named_output(self._path):
            self._file.write(piece)

    def finish(self) -> None:
        """Wait until all pieces have been written."""
        if self._last:
            self._last.result()


# The sums of tables of shards.


def added_counts(parts: Sequence[bytes]) -> bytes:
    """Add up tables of --counts: the first two columns name a row, the others are numbers."""
    tables = [[line.split(b"\t") for line in part.splitlines()] for part in parts]
    lines = [b"\t".join(tables[0][0])]
    for rows in zip(*(table[1:] for table in tables), strict=True):
        numbers = zip(*(row[2:] for row in rows), strict=True)
        lines.append(b"\t".join([*rows[0][:2], *map(_sum, numbers)]))
    return b"".join(line + b"\n" for line in lines)


def _sum(numbers: Sequence[bytes]) -> bytes:
    """Return the sum of whole numbers, or of numbers with equally many decimals."""
    from decimal import Decimal  # takes 5 ms to import, so only here

    return str(sum(Decimal(number.decode()) for number in numbers)).encode()


def added_screens(parts: Sequence[Mapping]) -> bytes:
    """Add up screens of shards: the arguments of tsv.screen, with ``combinations`` as a list of rows."""
    from ..report.facts import joined_screens
    from .formats import tsv

    rows = joined_screens([part["combinations"] for part in parts])
    combinations = {tuple(row["groups"]): row["reads"] for row in rows}
    return tsv.screen(combinations, parts[0]["of"], parts[0]["what"], sum(part["n_all"] for part in parts))
