"""A run: the input that it reads, and the files that it writes, which appear together or not at all.

The main output, tables beside it, files of reads (--al, --un) and reports.  A shard is a run over a range of
the input, with its files in a folder (jobs/shard.py).
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ..input import InputRange, spans
from ..system import sync_names
from . import PLAIN, Container, ReadsPiece
from .files import OutputFile, check_number, named_output

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..machines.progress import RunCounts


class Output:
    """The open files of a run, in ``Run.opened``; ``summary``, ``sums``, ``counts``: what a shard stores.

    The thread of ``pool`` writes one ReadsPiece at a time, but not to pipes, which may never take it.
    """

    def __init__(self, main: Any, tables: dict[str, OutputFile], reads: list[OutputFile], pool: Any) -> None:
        self._main, self._tables, self._reads, self._pool = main, tables, reads, pool
        self._last: Future[None] | None = None
        self.summary: RunCounts | None = None
        self.sums: dict = {}
        self.counts = b""
        self.facts: Callable[[], dict] | None = None

    def write(self, piece: Any) -> None:
        """Write one piece to the main output, or a ReadsPiece to its files of reads."""
        if not isinstance(piece, ReadsPiece):
            self._main.write(piece)
            return
        self.wait()
        parts = [(self._reads[number], data) for number, data in piece.parts]
        self._last = self._pool.submit(_write, [(file, data) for file, data in parts if file.is_regular])
        _write([(file, data) for file, data in parts if not file.is_regular])

    def wait(self) -> None:
        """Wait until all reads have been written.  Raises OutputError."""
        if self._last:
            self._last.result()

    def finish(
        self,
        summary: "RunCounts | None",
        tables: Mapping[str, bytes] | None = None,
        facts: Callable[[], dict] | None = None,
        sums: dict | None = None,
        counts: bytes = b"",
    ) -> None:
        """Write ``tables``, {option: text}, and keep the results of the run.

        ``facts()`` is called for reports once all else is complete; ``sums``: of JSON types, which shards add
        up, as they do the numbers of ``summary``; ``counts``: those of guides, packed.
        """
        self.summary, self.facts, self.sums, self.counts = summary, facts, sums or {}, counts
        for option, table in (tables or {}).items():
            self._tables[option].write(table)


def _write(parts: Iterable[tuple[OutputFile, Any]]) -> None:
    for file, data in parts:
        file.write(data)


class Run:
    """A whole run: all of the input, and the output at its own places."""

    n_shards, is_whole = 1, True
    where = ""  # in messages, which shard, and why it may be empty

    def plan(self, inputs: InputRange) -> Generator[Any, None, None]:
        """Yield the spans to read."""
        return spans.plan(*inputs)

    def share_of(self, n: int) -> tuple[int, int]:
        """Return (start, stop): which of n items, known to every shard, to do."""
        return 0, n

    @contextmanager
    def opened(
        self,
        output: Any,
        head: bytes = b"",
        end: bytes = b"",
        container: Container = PLAIN,
        n_threads: int = 1,
    ) -> Iterator[Output]:
        """Open the files of a JobOutput (report/__init__.py) for the pieces between ``head`` and ``end``.

        All files are complete before the first appears under its name.  Raises OutputError.
        """
        with ExitStack() as stack:

            def open_file(path: str) -> OutputFile:
                return OutputFile(path, stack, in_folder=not self.is_whole)

            reports = {path: open_file(path) for path in output.reports}
            tables = {option: open_file(path) for option, path in output.tables.items()}
            check_number(len(output.reads_files))
            reads, pool = [open_file(path) for path in output.reads_files], None
            if reads:
                from concurrent.futures import ThreadPoolExecutor  # not needed without files of reads

                pool = stack.enter_context(ThreadPoolExecutor(1))
            file = open_file(output.path or os.devnull)
            with named_output(file.path), container.opened(file, n_threads) as main:
                main.write(head)
                files = Output(main, tables, reads, pool)
                yield files
                main.write(end)
            files.wait()
            for each, of_file in zip(reads, output.reads_files.values(), strict=True):
                each.write(of_file.end)
            others = [*tables.values(), *reads]
            for each in (file, *others):
                each.complete()
            if reports and files.facts:  # last, as they include the time for all the others
                from ..report.page import rendered  # only for reports

                facts = files.facts()
                for path, each in reports.items():
                    each.write(rendered(path, facts))
                    each.complete()
            for folder in set().union(*(each.commit() for each in (*reports.values(), *others, file))):
                sync_names(folder)
