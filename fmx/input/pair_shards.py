"""Shards of pairs: files of mates 1 are cut like those of single reads; mates 2 are found by their names.

A shard has the pairs whose mates 1 are in its stretch of the files.  Its first mate 2 is searched near the
same relative place in the other file.  The names of all mates are checked later, and so is the name of the
first mate 2 after the shard, so shards have exactly the pairs of one run, or end with an error.  Files that
cannot be cut, and files that hold both mates, are read as a whole by the shard in whose stretch they begin.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from . import pair_spans, spans
from .chunks import NEWLINE, count, find_border, numbered_mate, skip_blank
from .read_range import ALL, ReadRange, records_of_pairs
from .shards import Border, Cuts, CutSizes, ShardPlan, ShardStretch, before_cut
from .spans import Before
from .streams import Source

if TYPE_CHECKING:
    from . import PairedFiles
    from .pair_spans import PairSpan
    from .shards import Shard

_FAR = 1 << 29  # bytes to search on both sides of a place, at most


class PairShardPlan:
    """PairSpans of a shard of PairedFiles; begin, end, is_empty and whole as in ShardPlan, for mates 1.

    ``stretch``: of the files of mates 1, instead of the shard's; ``wanted``: numbers, from 0, of the pairs to
    read.
    """

    def __init__(
        self,
        shard: "Shard",
        files: "PairedFiles",
        size: int,
        n_threads: int = 1,
        stretch: ShardStretch | None = None,
        wanted: range = ALL,
        cut_sizes: CutSizes | None = None,
    ) -> None:
        self._files, self._size, self._n_threads, self._cut_sizes = files, size, n_threads, cut_sizes
        how: dict[str, Any] = {"n_threads": n_threads, "cut_sizes": cut_sizes}
        self._one = ShardPlan(shard, files.first, size, stretch=stretch, **how)
        self._two = ShardPlan(shard, files.second, size, **how)
        self._step = 1 if files.second else 2  # records of a pair in a file
        self._before, self._wanted = stretch and stretch.before, records_of_pairs(wanted, self._step)
        self._choices: list[ReadRange] = []  # of mates 1, and of mates 2

    def _chosen(self, sides: Sequence[Generator[Any, None, None]], left_out: int = 0) -> tuple[list, int]:
        """Return (spans of both sides with the wanted records only, how many mates 2 to leave out first)."""
        before, wanted = self._before, self._wanted
        if before is None:
            return list(sides), left_out
        if not self._choices:
            self._choices = [ReadRange(wanted, begin) for begin in (before, before - left_out)]
            left_out = max(0, before - max(wanted.start, before - left_out))
        return [choice.of(side) for choice, side in zip(self._choices, sides, strict=False)], left_out

    @property
    def begin(self) -> Border | None:
        return self._one.begin

    @property
    def end(self) -> Border | None:
        return self._one.end

    @property
    def is_empty(self) -> bool:
        return self._one.is_empty

    @property
    def whole(self) -> str:
        return self._one.whole

    def renumbered(self, error: InputError) -> InputError:
        """Return the error with the number of its record in the file."""
        return self._two.renumbered(self._one.renumbered(error))

    def first_number(self, number: int) -> int:
        """Return the number of the first record of a file of mates 1, as in ShardPlan."""
        return self._one.first_number(number)

    def spans(self) -> "Generator[PairSpan, None, None]":
        """Yield PairSpans, in order.  Raises InputError."""
        for _, span in self.numbered():
            yield span

    def numbered(self) -> "Iterator[tuple[int, PairSpan]]":
        """Yield (number of the file among those of mates 1, from 0, PairSpan)."""
        together = list(self._files.together())
        for number, first, last in self._one.stretches():
            names = [(i, str(path)) for i, path in together[number]]
            if self._files.second:
                with Source(names[0][1]) as one, Source(names[1][1]) as two:
                    for span in self._of_two(names, (one, two), first, last):
                        yield number, span
            elif first <= 0:
                self._one.is_empty = False
                sides, _ = self._chosen([spans.plan([names[0][1]], self._size)])
                for span in pair_spans.items(names, sides):
                    yield number, span
            else:
                self._one.note_whole(number, names[0][1], "give mates as two files, uncompressed or bgzipped")

    def _of_two(
        self, names: Sequence[tuple[int, str]], sources: tuple[Source, Source], first: int, last: int
    ) -> "Iterator[PairSpan]":
        begun = [spans.first_of(source) for source in sources]
        ends = [
            _MateFile(source, Cuts(source, skip, self._cut_sizes), head)
            for source, (skip, head) in zip(sources, begun, strict=True)
        ]
        one, two = ends
        whole = [end.path for end in ends if end.cuts.is_whole]
        if whole and first > 0:
            self._one.note_whole(names[0][0], whole[0])
        one.cuts.is_whole = bool(whole) or not (one.is_there and two.is_there)
        start, stop = one.cuts.at(first), one.cuts.at(last)
        if start == stop:
            return
        if (start, stop) == (0, one.cuts.size):
            self._one.is_empty = False
            sides, _ = self._chosen(
                [spans.plan([path], self._size, n_threads=self._n_threads) for _, path in names]
            )
            yield from pair_spans.items(names, sides)
            return
        begin = _first_mate(start, one, two)[1] if start else MatePlace(0, 0, 0)
        after, end = _first_mate(stop, one, two)
        cut_sides = [
            self._one.between(sources[0], begun[0], one.cuts, start, stop),
            self._two.between(sources[1], begun[1], two.cuts, begin.cut, end.until),
        ]
        sides, left_out = self._chosen(cut_sides, begin.n_before)
        yield from pair_spans.items(names, sides, left_out, after)


class MatePlace(NamedTuple):
    """A record: ``n_before`` others are between it and ``cut``; ``until``: a cut after its start."""

    cut: int
    n_before: int
    until: int


def _first_mate(cut: int, one: "_MateFile", two: "_MateFile") -> tuple[bytes | None, MatePlace]:
    """Return (name of the first record of file one from a cut on, place of its mate in file two).

    (None, the end of file two) if there is no record.  Raises InputError.
    """
    size, name = two.cuts.size, one.name_at(cut)
    if name is None:
        return None, MatePlace(size, 0, size)
    own = numbered_mate(name) if one.name_at(0) != two.name_at(0) else name  # .2 may be part of the name
    return name, two.find(own, cut * size // one.cuts.size, name, one.path)


class _MateFile:
    """A file of mates, to look up records."""

    def __init__(self, source: Source, cuts: Cuts, head: np.ndarray) -> None:
        self.path, self.cuts, self.is_there = source.path, cuts, head.size > 0
        self._is_fastq = self.is_there and head[0] == ord("@")

    def name_at(self, cut: int) -> bytes | None:
        """Return the name of the first record after a cut; None if there is none."""
        for n in self.cuts.sizes.guess:
            data, begin, left = self._records(cut, n)
            header, newline, _ = data[begin:].tobytes().partition(b"\n")
            is_header, is_end = left == 0 and header.strip() != b"", data.size < n
            if is_header and (newline or is_end):
                return b"".join(header[1:].split()[:1])
            if is_end:
                return None
        raise InputError(
            self.path,
            "",
            f"records near byte {cut} are too long to split pairs into shards: run without --shard",
        )

    def _records(self, cut: int, n: int) -> tuple[np.ndarray, int, int]:
        """(n bytes from a cut on, where the first record begins in them, newlines missing to reach it)."""
        data = np.empty(n, np.uint8)
        data = data[: self.cuts.reader(cut).readinto(data)]
        before = before_cut(self.cuts, self._is_fastq, cut) if cut and data.size else Before(0)
        if before.total == 0:
            return data, int(skip_blank(data, 0)), 0
        left = -before.total % 4 + 1 if self._is_fastq else 1
        return data, *find_border(data, 0, left, self._is_fastq)

    def find(self, own: bytes, place: int, name: bytes, path: str) -> MatePlace:
        """Find the record named ``own`` near a ``place`` on disk.  Raises InputError if there is none.

        It is the mate of ``name`` in the file ``path``.
        """
        reach = self.cuts.sizes.reach
        while True:
            cut = self.cuts.at(max(0, place - reach))
            n = (max(place - cut, 0) + reach) * (6 if self.cuts.is_gzip else 1)
            data, begin, left = self._records(cut, n)
            if left == 0 and (found := self._sought(data, begin, own)):
                at, n_before = found
                return MatePlace(cut, n_before, self.cuts.beyond(cut, at))
            if reach >= _FAR or (cut == 0 and data.size < n):
                what = f"no mate of {name.decode(errors='replace')} in {path} near byte {place}"
                raise InputError(self.path, "", f"{what}: mates must have equal names")
            reach *= 8

    def _sought(self, data: np.ndarray, begin: int, own: bytes) -> tuple[int, int] | None:
        """Return (where the record of this name begins in data, number of records before it), or None."""
        text, at = data.tobytes(), begin - 1
        needle = (b"@" if self._is_fastq else b">") + own
        while (at := text.find(needle, at + 1)) >= 0:
            if at > begin and text[at - 1] != NEWLINE:
                continue
            stop = text.find(b"\n", at)
            if stop < 0 or text[at:stop].split()[0] != needle:
                continue
            n = count(data[begin : at + 1], at - begin, self._is_fastq)
            if not self._is_fastq or n % 4 == 0:
                return at, int(n) // 4 if self._is_fastq else int(n)
        return None
