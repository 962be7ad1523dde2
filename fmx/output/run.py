"""A run: the input that it reads, and the files that it writes, which appear together or not at all.

The main output, tables beside it, files of reads (--al, --un) and reports.  A shard is a run over a range of
the input, with its files in a folder (jobs/shard.py).
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ..input import InputRange, spans
from . import PLAIN, Container, ReadsPiece
from .files import OutputFile, named_output

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Output:
    """The open files of a run, in ``Run.opened``; ``summary``, ``sums``: what a shard stores."""

    def __init__(self, main: Any, tables: dict[str, OutputFile], reads: list[OutputFile]) -> None:
        self._main, self._tables, self._reads = main, tables, reads
        self.summary: DataclassInstance | None = None
        self.sums: dict = {}
        self.facts: Callable[[], dict] | None = None

    def write(self, piece: Any) -> None:
        """Write one piece to the main output, or a ReadsPiece to its file of reads."""
        if isinstance(piece, ReadsPiece):
            self._reads[piece.number].write(piece.data)
        else:
            self._main.write(piece)

    def finish(
        self,
        summary: "DataclassInstance | None",
        tables: Mapping[str, bytes] | None = None,
        facts: Callable[[], dict] | None = None,
        sums: dict | None = None,
    ) -> None:
        """Write ``tables``, {option: text}, and keep the results of the run.

        ``facts()`` is called for reports once all else is complete; ``sums``: of JSON types, which shards add
        up, as they do the numbers of ``summary``.
        """
        self.summary, self.facts, self.sums = summary, facts, sums or {}
        for option, table in (tables or {}).items():
            self._tables[option].write(table)


class Run:
    """A whole run: all of the input, and the output at its own places."""

    n_shards, is_whole = 1, True

    def plan(self, inputs: InputRange) -> Generator[Any, None, None]:
        """Yield the spans to read."""
        return spans.plan(*inputs)

    def share_of(self, n: int) -> tuple[int, int]:
        """Return (start, stop): which of n items, known to every shard, to do."""
        return 0, n

    def why_empty(self, what: str) -> str:
        """Return why a shard has no ``what``, such as reads."""
        return ""

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the result of ``make()``, shared by all shards of this process."""
        return make()

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

            def open_file(path: str, has_thread: bool = False) -> OutputFile:
                return OutputFile(path, stack, has_thread, in_folder=not self.is_whole)

            reports = {path: open_file(path) for path in output.reports}
            tables = {option: open_file(path) for option, path in output.tables.items()}
            reads = [open_file(path, has_thread=True) for path in output.reads_files]
            file = open_file(output.path or os.devnull)
            with named_output(file.path), container.opened(file, n_threads) as main:
                main.write(head)
                files = Output(main, tables, reads)
                yield files
                main.write(end)
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
            for each in (*reports.values(), *others, file):
                each.commit()
