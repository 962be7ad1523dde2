"""A run of a command as a whole: all of its inputs, and one place for all that it writes."""

from contextlib import ExitStack, contextmanager

from ..input import spans
from ..input.streams import whole_output


class Whole:
    """``path`` takes the result, and ``counts`` a table beside it, if it is not None.

    A journey asks a run what to do, and gives it what comes of it; cluster/run.py is that of a shard.
    """

    def __init__(self, path="-", counts=None):
        self._path, self._counts = path, counts
        self._table = None

    def plan(self, paths, size, n_threads=1):
        """The spans of files of reads, as spans.plan gives them."""
        return spans.plan(paths, size, n_threads=n_threads)

    def chunks_of(self, chunks) -> list:
        """Those of a list of chunks of pairs that are to be done."""
        return chunks

    @contextmanager
    def opened(self, head, end=b""):
        """A binary file for what stands between ``head`` and ``end``.  Raises OutputError."""
        with ExitStack() as stack:
            sink = stack.enter_context(whole_output(self._path))
            self._table = stack.enter_context(whole_output(self._counts)) if self._counts else None
            sink.write(head)
            yield sink
            sink.write(end)

    def note(self, summary, table=b"") -> None:
        """What was seen, while it is open; ``table``: the bytes of the one beside it."""
        if self._table:
            self._table.write(table)
