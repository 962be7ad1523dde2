"""Files of mates -> items that any thread can read, each with whole pairs.

Each file is cut into spans (input/spans.py).  An item is the next span of both files.  The thread that takes
it parses both, receives from the previous item the reads without mates so far, and passes on those that
remain. If one file has longer records, its spans are taken more often, so that few reads wait:

    R1       | 1 2 3 4 | 5 6 7 8 |        |
    R2       | 1 2 3     | 4 5 6 | 7 8    |
    pairs    | 1 2 3     | 4 | 5 6 | 7 8  |     4 of R1 has waited, and then 7 and 8
"""

from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError, StalledError
from ..machines.jobs import settle, settled
from . import spans
from .chunks import are_mates
from .mates import Mates, Origin, check_names
from .read_range import ALL, ReadRange, records_of_pairs
from .reads import ReadBatch, check_sam, parse
from .streams import STANDARD

if TYPE_CHECKING:
    from . import PairedFiles, ReadPath


class UnpairedReads(NamedTuple):
    """Reads of a batch whose mates have not been read; ``origin``: that of the first."""

    batch: ReadBatch
    origin: Origin

    def cut(self, n: int, step: int) -> "tuple[UnpairedReads, UnpairedReads]":
        """Return (the first n reads, the rest)."""
        parts = slice(n), slice(n, None)
        head, tail = (ReadBatch(self.batch.data, *(x[part] for x in self.batch[1:])) for part in parts)
        behind = self.origin._replace(number=self.origin.number + step * n)
        return UnpairedReads(head, self.origin), UnpairedReads(tail, behind)

    @property
    def name(self) -> bytes:
        """Name of the first read."""
        start = self.batch.name_start[0]
        return self.batch.data[start : start + self.batch.name_length[0]].tobytes()

    @property
    def n(self) -> int:
        return self.batch.length.size


class Rest(NamedTuple):
    """What an item passes to the next: waiting reads, and how many mates 2 to leave out first."""

    one: list
    two: list
    left_out: int = 0


class Balance:
    """Decides which of two files to read next, by the reads found in spans and the number of planned spans.

    ``left_out``: reads of the second file without mates in the first.
    """

    def __init__(self, left_out: int = 0) -> None:
        self._reads, self._read, self._planned, self._left_out = [0, 0], [0, 0], [0, 0], left_out

    def note(self, i: int, n: int) -> None:
        """Record that a span of file i had n reads."""
        self._reads[i] += n
        self._read[i] += 1

    def wanted(self, is_over: Sequence[bool]) -> list[bool]:
        """Return whether the next item has a span of each file; true for at least one that is not over."""
        if any(is_over):  # read the rest of the other file, however far ahead it is
            return [not over for over in is_over]
        a_span = [reads / max(n, 1) for reads, n in zip(self._reads, self._read, strict=True)]
        ahead = [self._reads[i] + (self._planned[i] - self._read[i]) * a_span[i] for i in (0, 1)]
        ahead[1] -= self._left_out
        found = [ahead[i] - ahead[1 - i] <= a_span[i] for i in (0, 1)]
        self._planned = [n + more for n, more in zip(self._planned, found, strict=True)]
        return found


class PairSpan:
    """Spans of one file of pairs, or of two (one may be None), and the pairs that they complete.

    ``files``: (number, name) of each; ``is_over``: whether each has no more spans; ``links``: Futures of
    Rest, from the previous item and to the next; ``after``: name of the first pair that is not wanted, or
    None.
    """

    def __init__(
        self,
        files: Sequence[tuple[int, str]],
        taken: Sequence[Any],
        is_over: tuple[bool, ...],
        balance: Balance,
        links: tuple[Future, Future],
        after: bytes | None = None,
    ) -> None:
        self._numbers, self._paths = zip(*files, strict=True)
        self._taken, self._is_over, self._balance = taken, is_over, balance
        self._before, self._behind = links
        self._after = after

    @property
    def path(self) -> str:
        """The file of mates 1, or of both."""
        return self._paths[0]

    def ends(self) -> list[tuple[int, int]]:
        """Return (number of the file, byte) where each of its spans ends."""
        return [(i, span.end) for i, span in zip(self._numbers, self._taken, strict=True) if span]

    def read(self, is_sam: bool = True) -> list:
        """Read the pairs as a list of Mates; ``is_sam``: check the limits of SAM.  Raises InputError."""
        try:
            found, rest = self._meet(self._own(is_sam))
        except BaseException:
            for span in filter(None, self._taken):
                span.leave()
            settle(self._behind)
            raise
        self._behind.set_result(rest)
        for mates in found:
            check_names(mates, self._step)
        self._check_ends(rest[:2])
        return found

    @property
    def _step(self) -> int:
        """Records from one mate to the next in a file."""
        return 3 - len(self._paths)

    def _own(self, is_sam: bool) -> list:
        """For mates 1 and mates 2, the reads of the spans: lists of UnpairedReads."""
        chunks = [span and span.read() for span in self._taken]
        found: list = [[], []]
        for i, chunk in enumerate(chunks):
            if chunk is None:
                continue
            batch = parse(chunk)
            if is_sam:
                check_sam(chunk, batch)
            if self._step == 1:
                found[i].append(UnpairedReads(batch, Origin(chunk.path, chunk.number)))
                self._balance.note(i, batch.length.size)
                continue
            for skip in (0, 1):
                own = ReadBatch(batch.data, *(x[skip::2].copy() for x in batch[1:]))
                number = chunk.number + skip
                found[1 - number % 2].append(UnpairedReads(own, Origin(chunk.path, number)))
        return found

    def _meet(self, own: Sequence[list[UnpairedReads]]) -> tuple[list[Mates], Rest]:
        """Return (complete Mates, the reads that still wait)."""
        if (before := self._before.result()) is None:
            raise InputError(self._paths[0], "", spans.NOT_READ)
        waiting, found = [[x for x in (*a, *b) if x.n] for a, b in zip(before[:2], own, strict=True)], []
        left_out = before.left_out
        while left_out and waiting[1]:
            n = min(left_out, waiting[1][0].n)
            rest = waiting[1][0].cut(n, self._step)[1]
            waiting[1][:1], left_out = [rest] if rest.n else [], left_out - n
        while all(waiting):
            n = min(reads[0].n for reads in waiting)
            met = [reads[0].cut(n, self._step) for reads in waiting]
            (one, _), (two, _) = met
            found.append(Mates(one.batch, two.batch, (one.origin, two.origin)))
            tails = zip(met, waiting, strict=True)
            waiting = [[x for x in (tail, *reads[1:]) if x.n] for (_, tail), reads in tails]
        return found, Rest(waiting[0], waiting[1], left_out)

    def _check_ends(self, waiting: tuple[list, list]) -> None:
        """Raise InputError if reads have no mates."""
        for i, path in enumerate(self._paths):
            if not self._is_over[i] or (i == 0 and self._is_next(waiting[1])):
                continue
            if self._step == 2 and waiting[0]:
                where = f"record {waiting[0][0].origin.number}"
                raise InputError(path, where, "its mate is missing: the number of records is odd")
            if self._step == 1 and waiting[1 - i]:
                n, other = waiting[1 - i][0].origin.number - 1, self._paths[1 - i]
                where = f"record {n}" if n else ""
                what = (
                    f"this is the last record, but {other} has more"
                    if n
                    else f"no reads, but {other} has some"
                )
                raise InputError(path, where, f"{what}; both files must have the same number of reads")

    def _is_next(self, waiting: Sequence[Any]) -> bool:
        """Return whether these reads of mates 2 begin after the last wanted pair."""
        return bool(self._after and waiting and are_mates(self._after, waiting[0].name))


def plan(
    files: "PairedFiles",
    size: int = spans.CHUNK_SIZE,
    n_threads: int = 1,
    wanted: range = ALL,
) -> Generator[PairSpan, None, None]:
    """Yield a PairSpan for about ``size`` bytes of each of PairedFiles, in order.

    ``wanted``: numbers, from 0, of the pairs to read.  An item waits for those before it: a thread that takes
    one must read it at once.
    """
    step = 1 if files.second else 2  # records of a pair in a file
    choices = [ReadRange(records_of_pairs(wanted, step)) for _ in range(3 - step)]
    for together in files.together():
        sides = [
            choice.of(spans.plan([path], size, n_threads=n_threads))
            for choice, (_, path) in zip(choices, together, strict=True)
        ]
        yield from items([(number, _name(path)) for number, path in together], sides)


def items(
    files: Sequence[tuple[int, str]],
    sides: Sequence[Generator[Any, None, None]],
    left_out: int = 0,
    after: bytes | None = None,
) -> Generator[PairSpan, None, None]:
    """Yield PairSpans of one file of pairs, or of two; ``sides``: the spans of each.

    ``left_out``: number of mates 2 to leave out first; ``after``: name from which mates 2 are left out.
    Raises StalledError.
    """
    balance, is_over, link = Balance(left_out), [False] * len(sides), settled(Rest([], [], left_out))
    with ExitStack() as stack:
        for side in sides:
            stack.enter_context(closing(side))
        while not all(is_over):
            wanted = balance.wanted(is_over) if len(sides) > 1 else [True]
            if not any(wanted):
                raise StalledError(files[0][1], "reading stopped before the end of the file")
            taken = [next(side, None) if want else None for side, want in zip(sides, wanted, strict=True)]
            is_over = [
                over or (want and span is None)
                for over, want, span in zip(is_over, wanted, taken, strict=True)
            ]
            links = link, (link := Future[Any]())
            yield PairSpan(files, taken, tuple(is_over), balance, links, after)


def _name(path: "ReadPath") -> str:
    """Return the name in messages."""
    return "standard input" if str(path) == STANDARD else str(path)
