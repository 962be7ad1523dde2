"""A run of a command: its inputs, its output file, and the tables and reports next to it.

Commands read inputs and write outputs through a Run; that of a shard is in jobs/shard.py.
"""

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol, Self, TypeVar

from ..input import PairedFiles, spans
from ..input.read_range import InputRange, ReadRange
from ..input.streams import STANDARD, is_special, named_output, whole_output
from ..machines.progress import Writable
from ..report.facts import joined_screens
from . import Aside

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from _typeshed import DataclassInstance

    from ..index.reference import Reference
    from ..input.shards import ShardPlan
    from ..search.counts.tally import Screen
    from ..search.summary import PairSummary, Summary
    from .search_output import RecordOutput, SearchOutput, Taker

T = TypeVar("T")


class RunTable(Protocol):
    """A table that a run writes besides its output.

    To add one, implement these, pass it to Run.note, and its path to LocalRun and jobs.merge.merge.
    """

    name: ClassVar[str]  # of the file in which a shard stores it

    def text(self) -> bytes:
        """Return the table as written."""

    def part(self) -> bytes:
        """Return the table as a shard stores it."""

    @classmethod
    def merged(cls, parts: Sequence[bytes]) -> Self:
        """Return the sum of the tables of all shards."""


@dataclass(frozen=True)
class CountsTable:
    """--counts: ``lines`` of TSV; the first two columns name a row, the others are numbers."""

    name: ClassVar[str] = "counts.tsv"
    lines: bytes

    def text(self) -> bytes:
        return self.lines

    def part(self) -> bytes:
        return self.lines

    @classmethod
    def merged(cls, parts: Sequence[bytes]) -> "CountsTable":
        tables = [[line.split(b"\t") for line in part.splitlines()] for part in parts]
        lines = [b"\t".join(tables[0][0])]
        for rows in zip(*(table[1:] for table in tables), strict=True):
            numbers = zip(*(row[2:] for row in rows), strict=True)
            lines.append(b"\t".join([*rows[0][:2], *map(_sum, numbers)]))
        return cls(b"".join(line + b"\n" for line in lines))


@dataclass(frozen=True)
class ScreenTable:
    """--screen: ``rows`` of {groups, reads}, as in a report; ``total``: number of all reads (or ``what``).

    ``of``: what the groups are, "groups" of contigs or "indexes".
    """

    name: ClassVar[str] = "screen.json"
    rows: list
    of: str
    what: str
    total: int

    @classmethod
    def made(cls, screen: "Screen", of: str, summary: "PairSummary | Summary") -> "ScreenTable":
        """Return the table of a Screen and a Summary."""
        n, what = summary.seen()
        rows = [{"groups": list(names), "reads": n} for names, n in screen.combinations().items()]
        return cls(rows, of, what, n)

    def text(self) -> bytes:
        from .formats import tsv  # imported on first use

        found = {tuple(row["groups"]): row["reads"] for row in self.rows}
        return tsv.screen(found, self.of, self.what, self.total)

    def part(self) -> bytes:
        return json.dumps([self.rows, self.of, self.what, self.total]).encode()

    @classmethod
    def merged(cls, parts: Sequence[bytes]) -> "ScreenTable":
        rows, of, what, total = zip(*map(json.loads, parts), strict=True)
        return cls(joined_screens(rows), of[0], what[0], sum(total))


def tables_of(output: "SearchOutput") -> dict[type[RunTable], str]:
    """Return {type of RunTable: path} of the tables next to an output."""
    found: dict[type[RunTable], str | None] = {
        CountsTable: output.counts.path if output.counts else None, ScreenTable: output.screen
    }  # fmt: skip
    return {table: path for table, path in found.items() if path}


def _sum(numbers: Sequence[bytes]) -> bytes:
    """Return the sum of whole numbers, or of numbers with equally many decimals."""
    from decimal import Decimal  # takes 5 ms to import, so only here

    return str(sum(Decimal(number.decode()) for number in numbers)).encode()


# How pieces become a file: written unchanged, or through a converter.


class Container(Protocol):
    """How the pieces of an output become a file; the same for one run and for merged shards.

    So merged shards have the bytes of one run, whatever the format.  A frozen dataclass of JSON types, which
    shards store (jobs/identity.py).  To add one, write it, let ``container`` choose it, and name its module
    in CONTAINERS; tests/test_every_output.py tests all of them.
    """

    is_framed: ClassVar[bool]  # whether it needs whole pieces, which shards then store separately

    def opened(self, path: str, n_threads: int) -> AbstractContextManager[Any]:
        """Open a Sink for pieces, which appear at ``path`` at the end.  Raises OutputError."""


@dataclass(frozen=True)
class Plain:
    """The pieces one after another, unchanged."""

    is_framed: ClassVar[bool] = False

    def opened(self, path: str, n_threads: int) -> AbstractContextManager[BinaryIO]:
        return whole_output(path)


CONTAINERS = {
    "Plain": "fmx.output.run", "Samtools": "fmx.output.formats.bam",
    "ParquetTable": "fmx.output.formats.parquet", "SparseMatrix": "fmx.output.formats.matrix",
    "SquareMatrix": "fmx.output.formats.matrix",
}  # fmt: skip


def as_fields(container: Container) -> dict:
    """Return a Container as JSON types."""
    return {"container": type(container).__name__, **asdict(container)}  # type: ignore[call-overload]


def from_fields(fields: dict) -> Container:
    """Return the Container of as_fields.  Raises KeyError, TypeError if the fields are wrong."""
    own = dict(fields)
    name = own.pop("container")
    return getattr(import_module(CONTAINERS[name]), name)(**own)


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
    return Plain()


PLAIN = Plain()


class Run(Protocol):
    """What to do for a job: all of it, or a shard.

    To add one, implement these; tests/test_every_output.py runs every output through all of them.
    """

    def plan(self, inputs: InputRange) -> Generator[Any, None, None]:
        """Yield the spans to do."""

    def share_of(self, n: int) -> tuple[int, int]:
        """Return (start, stop): which of n items, known to every shard, to do."""

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return the result of ``make()``, shared by all shards of this process."""

    def opened(self, head: bytes, end: bytes = b"") -> AbstractContextManager[Any]:
        """Open a Sink for the pieces between ``head`` and ``end``.  Raises OutputError."""

    def note(
        self,
        summary: "DataclassInstance | None",
        tables: Sequence[RunTable] = (),
        facts: Callable[[], dict] | None = None,
    ) -> None:
        """Store the summary, tables next to the output, and ``facts()`` for reports, while it is open."""


class PartRun(Run, Protocol):
    """A shard of a run (jobs/shard.py), one of ``n_shards``."""

    n_shards: int

    def beside(self, takers: Sequence["Taker"], container: Container = PLAIN) -> Self:
        """Return this run, which also stores reads for ``takers`` and merges pieces as ``container``
        requires."""

    def cut(self, inputs: InputRange) -> "ShardPlan":
        """Return the plan that cuts the files for the shard."""

    def why_empty(self, what: str) -> str:
        """Return why the shard has no reads, or no ``what``."""


class LocalRun:
    """A whole run, written to ``path``; ``container``: how pieces become the file, with ``n_threads``.

    ``tables``: {type of RunTable: path}; ``asides``: {path: reads.Taker} of the additional files;
    ``reports``: paths of reports.
    """

    def __init__(
        self,
        path: str | None = "-",
        container: Container = PLAIN,
        n_threads: int = 1,
        tables: Mapping[type[RunTable], str] | None = None,
        asides: "Mapping[str, Taker] | None" = None,
        reports: Sequence[str] = (),
    ) -> None:
        self._path, self._container, self._n_threads = path or os.devnull, container, n_threads
        self._places, self._asides, self._reports = tables or {}, asides or {}, reports
        self._tables: dict[type, Beside] = {}
        self._facts: Callable[[], dict] | None = None

    def plan(self, inputs: InputRange) -> Generator[Any, None, None]:
        files, size, n_threads, wanted = inputs
        if isinstance(files, PairedFiles):
            from ..input import pair_spans  # not needed for single reads

            return pair_spans.plan(files, size, n_threads, wanted)
        return ReadRange(wanted).of(spans.plan(files, size, n_threads=n_threads))

    def share_of(self, n: int) -> tuple[int, int]:
        return 0, n

    def shared(self, key: str, make: Callable[[], T]) -> T:
        return make()

    @contextmanager
    def opened(self, head: bytes, end: bytes = b"") -> Iterator[Any]:
        with ExitStack() as last:
            reports = {path: beside(path, last) for path in self._reports}
            with ExitStack() as stack:
                self._tables = {table: beside(path, stack) for table, path in self._places.items()}
                asides = [aside(path, stack) for path in self._asides]
                made = self._container.opened(self._path, self._n_threads)
                sink = stack.enter_context(made)  # closed first, as that may fail
                sink.write(head)
                yield Sinks(sink, asides) if asides else sink
                sink.write(end)
                for file, taker in zip(asides, self._asides.values(), strict=True):
                    file.write(taker.end)
                    file.finish()
            if self._facts:  # last, as they include the time for all the others
                from ..report.page import rendered  # only for reports

                facts = self._facts()
                for path, file in reports.items():
                    file.write(rendered(path, facts))

    def note(
        self,
        summary: "DataclassInstance | None",
        tables: Sequence[RunTable] = (),
        facts: Callable[[], dict] | None = None,
    ) -> None:
        self._facts = facts
        for table in tables:
            self._tables[type(table)].write(table.text())


class Beside:
    """A file next to the main output: errors name its path.  Raises OutputError."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self._path, self._file = path, file

    def write(self, piece: Any) -> None:
        with named_output(self._path):
            self._file.write(piece)

    def finish(self) -> None:
        """Wait until all pieces have been written."""


class Parallel(Beside):
    """A Beside whose file a thread of ``pool`` writes, one piece at a time.  Errors are raised later."""

    def __init__(self, path: str, file: BinaryIO, pool: "ThreadPoolExecutor") -> None:
        super().__init__(path, file)
        self._pool = pool
        self._last: Future[None] | None = None

    def write(self, piece: Any) -> None:
        self.finish()
        self._last = self._pool.submit(super().write, piece)

    def finish(self) -> None:
        if self._last:
            self._last.result()


def aside(path: str, stack: ExitStack) -> Beside:
    """Open a Beside for a file of reads, which is written in parallel unless it is a device or a pipe."""
    from concurrent.futures import ThreadPoolExecutor  # not needed without such files

    with named_output(path):
        is_direct = path == STANDARD or is_special(path)
    if is_direct:
        return beside(path, stack)
    file = stack.enter_context(whole_output(path))
    return Parallel(path, file, stack.enter_context(ThreadPoolExecutor(1)))


def beside(path: str, stack: ExitStack) -> Beside:
    """Open a file that appears when a stack of contexts is closed."""
    return Beside(path, stack.enter_context(whole_output(path)))


class Sinks:
    """A binary file that writes each Aside to the file of its place."""

    def __init__(self, sink: Writable, asides: Sequence[Writable]) -> None:
        self._sink, self._asides = sink, asides

    def write(self, piece: Any) -> None:
        if isinstance(piece, Aside):
            self._asides[piece.place].write(piece.piece)
        else:
            self._sink.write(piece)
