"""Files of samples, taken span by span by whoever is free, several files at a time.

A worker takes the next span of the first file that nobody else is reading.  So one compressed file, which
can only be read in order, keeps one worker busy, and several keep all of them busy.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import shown
from ..input import spans
from ..input.pairs import pair_spans
from ..input.pairs.mates import PairedFiles
from ..input.read_range import Share
from ..input.reads import ReadBatch, parse
from ..input.streams import STANDARD
from ..machines.threads import Link

if TYPE_CHECKING:
    from ..input.chunks import Chunk
    from ..input.spans import Span
    from .samples import Sample


class Reads(NamedTuple):
    """Parsed ``batches`` of reads, or of mates 1 and of mates 2; the first is that ``number`` of its file."""

    batches: tuple[ReadBatch, ...]
    number: int


class Input:
    """File number ``file`` of sample number ``sample``, or two of mates: ``paths``; ``where`` guides stand,
    told by its first span."""

    def __init__(self, sample: int, file: int, paths: tuple, n_threads: int) -> None:
        self.sample, self.file, self.paths, self.where = sample, file, paths, Link()
        self._is_new, self._is_paired = True, len(paths) > 1
        self._spans: Any = (
            pair_spans.plan(PairedFiles(paths[:1], paths[1:]), n_threads=n_threads)
            if self._is_paired
            else spans.plan(paths, n_threads=n_threads)
        )

    @property
    def names(self) -> list:
        """Its paths, as messages say them."""
        return list(map(named, self.paths))

    def next(self) -> tuple[Callable[..., Any], bool, list[tuple[int, int]]] | None:
        """(what gives a list of the next Reads, is it the first, where its spans end); None at the end."""
        span, is_first = next(self._spans, None), self._is_new
        self._is_new = False
        if span is None:
            return None
        if self._is_paired:
            return partial(read_mates, span), is_first, span.ends()
        return partial(read_batch, span), is_first, [(0, span.end)]

    def close(self) -> None:
        self._spans.close()


def named(path: str) -> str:
    """A path as messages say it."""
    return "standard input" if path == STANDARD else shown(path)


def read_batch(span: "Chunk | Span") -> list:
    """The Reads of a span, a list of one."""
    chunk = span.read()
    return [Reads((parse(chunk),), chunk.number)]


def read_mates(span: Any) -> list:
    """The Reads of a PairSpan."""
    return [Reads((mates.one, mates.two), mates.origins[0].number) for mates in span.read(is_sam=False)]


class Inputs:
    """The files of Samples, for n_threads workers.

    It is an iterator that gives itself as long as there may be a span left to ``take``.
    """

    def __init__(self, samples: "Sequence[Sample]", n_threads: int) -> None:
        files = [
            (i, file, paths)
            for i, sample in enumerate(samples)
            for file, paths in enumerate(sample.together())
        ]
        each = max(1, n_threads // len(files))
        self._inputs = [Input(*one, each) for one in files]
        self.share = Share([path for _, _, paths in files for path in paths])
        self._changed, self._n_open = threading.Condition(), len(files)
        self._free = list(range(len(files)))  # a heap: those that nobody is reading

    def __iter__(self) -> "Inputs":
        return self

    def __next__(self) -> "Inputs | None":
        with self._changed:
            if self._n_open:
                return self
        raise StopIteration

    def take(self) -> tuple[Input, Callable[..., Any], bool] | None:
        """(Input, what gives a list of Reads, is it the first of the file), or None when nothing is left.

        Raises InputError.
        """
        while True:
            with self._changed:
                while not self._free:
                    if not self._n_open:
                        return None
                    self._changed.wait()
                number = heappop(self._free)
            taken = None
            try:
                taken = self._inputs[number].next()
            finally:
                with self._changed:
                    if taken:
                        heappush(self._free, number)
                    else:
                        self._n_open -= 1
                    self._changed.notify_all()
            if taken:
                for i, end in taken[2]:
                    self.share.note((number, i), end)
                return self._inputs[number], *taken[:2]

    def close(self) -> None:
        """Close those that nobody is reading: after an interrupt somebody may be left who waits for one."""
        for number in self._free:
            self._inputs[number].close()
