"""Shards of pairs: files of mates 1 are cut as those of single reads, and mates 2 are found by their names.

A shard has the pairs whose mates 1 are in its stretch of their files.  Where its first mate 2 stands is
sought around the place that is as far in the other file.  What is found so is checked as all mates are: names
must be those of their mates, and the first mate 2 that is left over that of the next shard.  So shards have
the pairs of one run, or end with an error.  Files that cannot be cut, and those that hold both mates, are
done whole by the shard in whose stretch they begin.
"""

from typing import NamedTuple

import numpy as np

from ..errors import InputError
from . import pair_spans, spans
from .chunks import NEWLINE, count, find_border, skip_blank
from .mates import are_mates
from .shards import GUESS, Border, Cuts, ShardPlan, before_cut
from .spans import Before
from .streams import Source

_REACH, _FAR = 1 << 20, 1 << 29  # bytes of a file on both sides of a place, at first and at most


class PairShardPlan:
    """The PairSpans of a shard of PairedFiles; begin, end, is_empty as of a ShardPlan, of mates 1."""

    def __init__(self, shard, files, size, n_threads=1):
        self._files, self._size, self._n_threads = files, size, n_threads
        self._one, self._two = (
            ShardPlan(shard, paths, size, n_threads=n_threads) for paths in (files.first, files.second)
        )

    @property
    def begin(self) -> Border | None:
        return self._one.begin

    @property
    def end(self) -> Border | None:
        return self._one.end

    @property
    def is_empty(self) -> bool:
        return self._one.is_empty

    def renumbered(self, error) -> InputError:
        """An error of this shard with its record's number in the file."""
        return self._two.renumbered(self._one.renumbered(error))

    def spans(self):
        """Yield PairSpans, in order.  Raises InputError."""
        together = list(self._files.together())
        for number, first, last in self._one.stretches():
            names = [(i, str(path)) for i, path in together[number]]
            if self._files.second:
                with Source(names[0][1]) as one, Source(names[1][1]) as two:
                    yield from self._of_two(names, (one, two), first, last)
            elif first <= 0:
                self._one.is_empty = False
                yield from pair_spans.items(names, [spans.plan([names[0][1]], self._size)])

    def _of_two(self, names, sources, first, last):
        begun = [spans.first_of(source) for source in sources]
        ends = [_End(source, skip, head) for source, (skip, head) in zip(sources, begun, strict=True)]
        one, two = ends
        is_whole = one.cuts.is_whole or two.cuts.is_whole or not (one.is_there and two.is_there)
        one.cuts.is_whole = is_whole
        start, stop = one.cuts.at(first), one.cuts.at(last)
        if start == stop:
            return
        if (start, stop) == (0, one.cuts.size):
            self._one.is_empty = False
            sides = [spans.plan([path], self._size, n_threads=self._n_threads) for _, path in names]
            yield from pair_spans.items(names, sides)
            return
        begin, end, after = Found(0, 0, 0), None, None
        if start:
            begin = two.find(one.name_at(start), start * two.cuts.size // one.cuts.size, one)
        if stop < one.cuts.size:
            after = one.name_at(stop)
            end = two.find(after, stop * two.cuts.size // one.cuts.size, one)
        until = two.cuts.size if end is None else two.cuts.at(end.beyond)
        sides = [
            self._one.between(sources[0], begun[0], one.cuts, start, stop),
            self._two.between(sources[1], begun[1], two.cuts, begin.cut, until),
        ]
        yield from pair_spans.items(names, sides, begin.n_before, after)


class Found(NamedTuple):
    """A record: ``n_before`` others are between it and ``cut``; ``beyond``: a place behind it on disk."""

    cut: int
    n_before: int
    beyond: int


class _End:
    """A file of mates, as far as it is looked into."""

    def __init__(self, source, skip, head):
        self.path, self.cuts, self.is_there = source.path, Cuts(source, skip), head.size > 0
        self._is_fastq = self.is_there and head[0] == ord("@")

    def name_at(self, cut) -> bytes:
        """The name of the first record of a cut."""
        for n in GUESS:
            data, begin, left = self._records(cut, n)
            line, newline, _ = data[begin:].tobytes().partition(b"\n")
            if left == 0 and newline:
                return line[1:].split()[0] if line[1:].split() else b""
        raise InputError(self.path, "", f"records near byte {cut} are too long for shards of pairs")

    def _records(self, cut, n):
        """(n bytes from a cut on, where the first record begins in them, newlines that are missing to it)."""
        data = np.empty(n, np.uint8)
        data = data[: self.cuts.reader(cut).readinto(data)]
        before = before_cut(self.cuts, self._is_fastq, cut) if cut else Before(0)
        if before.total == 0:
            return data, int(skip_blank(data, 0)), 0
        left = -before.total % 4 + 1 if self._is_fastq else 1
        return data, *find_border(data, 0, left, self._is_fastq)

    def find(self, name, place, mates) -> Found:
        """The mate of a read of this name, near a ``place`` on disk.  Raises InputError if there is none."""
        reach = _REACH
        while True:
            cut = self.cuts.at(max(0, place - reach))
            n = (place - cut + reach) * (6 if self.cuts.is_gzip else 1)
            data, begin, left = self._records(cut, n)
            if left == 0 and (found := self._sought(data, begin, name)):
                at, n_before = found
                return Found(cut, n_before, min(self.cuts.size, cut + at + (at >> 6) + (1 << 24)))
            if reach >= _FAR or (cut == 0 and data.size < n):
                what = f"no mate of {name.decode()} in {mates.path} near byte {place}"
                raise InputError(self.path, "", f"{what}: mates must have one name")
            reach *= 8

    def _sought(self, data, begin, name):
        """(where the record of this mate begins, records before it) in data, or None."""
        text, stem = data.tobytes(), name[:-2] if name[-2:-1] in (b"/", b".") else name
        at = begin - 1
        needle = (b"@" if self._is_fastq else b">") + stem
        while (at := text.find(needle, at + 1)) >= 0:
            if at > begin and text[at - 1] != NEWLINE:
                continue
            stop = text.find(b"\n", at)
            own = text[at + 1 : stop].split()
            if stop < 0 or not are_mates(name, own[0] if own else b""):
                continue
            n = count(data[begin : at + 1], at - begin, self._is_fastq)
            if not self._is_fastq or n % 4 == 0:
                return at, int(n) // 4 if self._is_fastq else int(n)
        return None
