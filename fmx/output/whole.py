"""A run of a command as a whole: all of its inputs, and one place for all that it writes."""

import os
from collections.abc import Callable
from contextlib import ExitStack, contextmanager

from ..input import pair_spans, spans
from ..input.mates import PairedFiles
from ..input.read_range import Chosen
from ..input.streams import named_output, whole_output
from ..report.facts import rendered
from .reads import Aside


class Whole:
    """``path`` takes the result, and ``tables`` what is counted beside it, if they are not None.

    ``asides``: {path: reads.Taker} of the other outputs; ``container`` opens ``path``; ``reports``: paths of
    those.  A journey asks a run what to do, and gives it what comes of it; jobs/shard.py is that of a shard.
    """

    def __init__(self, path="-", tables=(), asides=None, container=whole_output, reports=()):
        self._path, self._places, self._asides = path or os.devnull, tables, asides or {}
        self._container, self._reports = container, tuple(reports)
        self._tables: list = []
        self._facts: Callable[[], dict] = dict

    def plan(self, paths, size, n_threads=1, skip=0, n=None):
        """The spans of files of reads, as spans.plan gives them, or of PairedFiles.

        Of all reads, or pairs, the ``n`` (None: all) after the first ``skip``.
        """
        if isinstance(paths, PairedFiles):
            return pair_spans.plan(paths, size, n_threads, skip, n)
        return Chosen(skip, n).of(spans.plan(paths, size, n_threads=n_threads))

    def chunks_of(self, chunks) -> list:
        """Those of a list of chunks of pairs that are to be done."""
        return chunks

    @contextmanager
    def opened(self, head, end=b""):
        """A binary file for what stands between ``head`` and ``end``.  Raises OutputError."""
        with ExitStack() as last:

            def beside(path, stack):
                return _Beside(path, stack.enter_context(whole_output(path)))

            reports = {path: beside(path, last) for path in self._reports}
            with ExitStack() as stack:
                self._tables = [path and beside(path, stack) for path in self._places]
                asides = [beside(path, stack) for path in self._asides]
                sink = stack.enter_context(self._container(self._path))  # whose end may fail: it comes first
                sink.write(head)
                yield Sinks(sink, asides) if asides else sink
                sink.write(end)
                for file, taker in zip(asides, self._asides.values(), strict=True):
                    file.write(taker.end)
            if reports:  # which tell how long all the others took
                facts = self._facts()
                for path, file in reports.items():
                    file.write(rendered(path, facts))

    def note(self, summary, tables=(), facts=dict) -> None:
        """What was seen, while it is open; ``tables``: bytes of those beside it; ``facts()`` for reports."""
        self._facts = facts
        for file, table in zip(self._tables, tables, strict=False):
            if file:
                file.write(table)


class _Beside:
    """A file that is written beside another: errors name the one that they are of.  Raises OutputError."""

    def __init__(self, path, file):
        self._path, self._file = path, file

    def write(self, piece):
        with named_output(self._path):
            self._file.write(piece)


class Sinks:
    """A binary file that gives an Aside to that of its place."""

    def __init__(self, sink, asides):
        self._sink, self._asides = sink, asides

    def write(self, piece):
        (self._asides[piece.place] if isinstance(piece, Aside) else self._sink).write(piece)
