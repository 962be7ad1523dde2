"""A run of a command by itself: all of its inputs, and one place for all that it writes.

A journey asks a Run what to do, and gives it what comes of it.  jobs/shard.py has that of a shard.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, BinaryIO, Protocol

from ..input import spans
from ..input.mates import PairedFiles
from ..input.read_range import ReadRange
from ..input.streams import named_output, whole_output
from ..report.facts import rendered
from .containers import Container, Plain
from .reads import Aside, Taker
from .tables import Table

PLAIN = Plain()


class Run(Protocol):
    """What a journey does: all of a job, or a shard of it.

    To add one: write these; tests/test_every_output.py runs every output through all of them.
    """

    def plan(
        self, paths: Any, size: int, n_threads: int = 1, skip: int = 0, n: int | None = None
    ) -> Generator[Any, None, None]:
        """The spans of files of reads, as spans.plan gives them, or of PairedFiles, that are to be done.

        Of all reads, or pairs, the ``n`` (None: all) after the first ``skip``.
        """

    def share_of(self, n: int) -> tuple[int, int]:
        """(start, stop): which of n things that every shard knows are to be done."""

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """What ``make()`` gives, which serves for all shards that this process does."""

    def opened(self, head: bytes, end: bytes = b"") -> AbstractContextManager[Any]:
        """A Sink for the pieces between ``head`` and ``end``.  Raises OutputError."""

    def note(
        self, summary: Any, tables: Sequence[Table] = (), facts: Callable[[], dict] | None = None
    ) -> None:
        """What was seen, while it is open: a summary, tables beside the output, ``facts()`` for reports."""


class LocalRun:
    """``path`` takes the result, which a ``container`` makes of pieces by ``n_threads``.

    ``tables``: {type of Table: path}; ``asides``: {path: reads.Taker} of the other outputs; ``reports``:
    paths of those.
    """

    def __init__(
        self,
        path: str | None = "-",
        container: Container = PLAIN,
        n_threads: int = 1,
        tables: Mapping[type[Table], str] | None = None,
        asides: Mapping[str, Taker] | None = None,
        reports: Sequence[str] = (),
    ) -> None:
        self._path, self._container, self._n_threads = path or os.devnull, container, n_threads
        self._places, self._asides, self._reports = tables or {}, asides or {}, reports
        self._tables: dict[type, Beside] = {}
        self._facts: Callable[[], dict] | None = None

    def plan(
        self, paths: Any, size: int, n_threads: int = 1, skip: int = 0, n: int | None = None
    ) -> Generator[Any, None, None]:
        if isinstance(paths, PairedFiles):
            from ..input import pair_spans  # of no use to single reads

            return pair_spans.plan(paths, size, n_threads, skip, n)
        return ReadRange(skip, n).of(spans.plan(paths, size, n_threads=n_threads))

    def share_of(self, n: int) -> tuple[int, int]:
        return 0, n

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        return make()

    @contextmanager
    def opened(self, head: bytes, end: bytes = b"") -> Iterator[Any]:
        with ExitStack() as last:
            reports = {path: beside(path, last) for path in self._reports}
            with ExitStack() as stack:
                self._tables = {table: beside(path, stack) for table, path in self._places.items()}
                asides = [beside(path, stack) for path in self._asides]
                made = self._container.opened(self._path, self._n_threads)
                sink = stack.enter_context(made)  # whose end may fail: it comes first
                sink.write(head)
                yield Sinks(sink, asides) if asides else sink
                sink.write(end)
                for file, taker in zip(asides, self._asides.values(), strict=True):
                    file.write(taker.end)
            if self._facts:  # which tell how long all the others took
                facts = self._facts()
                for path, file in reports.items():
                    file.write(rendered(path, facts))

    def note(
        self, summary: Any, tables: Sequence[Table] = (), facts: Callable[[], dict] | None = None
    ) -> None:
        self._facts = facts
        for table in tables:
            self._tables[type(table)].write(table.text())


class Beside:
    """A file that is written beside another: errors name the one that they are of.  Raises OutputError."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self._path, self._file = path, file

    def write(self, piece: Any) -> None:
        with named_output(self._path):
            self._file.write(piece)


def beside(path: str, stack: ExitStack) -> Beside:
    """A file that appears when a stack of contexts is closed."""
    return Beside(path, stack.enter_context(whole_output(path)))


class Sinks:
    """A binary file that gives an Aside to that of its place."""

    def __init__(self, sink: Any, asides: Sequence[Any]) -> None:
        self._sink, self._asides = sink, asides

    def write(self, piece: Any) -> None:
        (self._asides[piece.place] if isinstance(piece, Aside) else self._sink).write(piece)
