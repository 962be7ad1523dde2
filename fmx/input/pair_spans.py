"""Files of mates -> items that any thread can read, each with whole pairs.

Each file is cut into spans (input/spans.py).  An item is the next span of both files.  The thread that takes
it reads both, receives from the previous item the records without mates so far, and passes on those that
remain. If one file has longer records, its spans are taken more often, so that few records wait:

    R1       | 1 2 3 4 | 5 6 7 8 |        |
    R2       | 1 2 3     | 4 5 6 | 7 8    |
    pairs    | 1 2 3     | 4 | 5 6 | 7 8  |     4 of R1 has waited, and then 7 and 8
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError, StalledError
from ..machines.jobs import settle, settled, when_settled
from . import spans
from .chunks import Chunk
from .mates import Mates, Origin, check_names
from .read_range import ALL, ReadRange, records_of_pairs
from .reads import ReadBatch, check_sam, parse
from .streams import input_name

if TYPE_CHECKING:
    from . import PairedFiles


class PairChunks(NamedTuple):
    """``n`` whole pairs that are not parsed: Chunks with mates 1 and with mates 2, in order.

    If a file has both mates of each pair in turn (``in_turn``), they are all in ``one``.
    """

    one: list[Chunk]
    two: list[Chunk]
    n: int
    in_turn: bool


class ParsedReads(NamedTuple):
    """Reads of a batch; ``origin``: that of the first."""

    batch: ReadBatch
    origin: Origin

    def cut(self, n: int, step: int) -> "tuple[ParsedReads, ParsedReads]":
        """Return (the first n reads, the rest)."""
        parts = slice(n), slice(n, None)
        head, tail = (ReadBatch(self.batch.data, *(x[part] for x in self.batch[1:])) for part in parts)
        behind = self.origin._replace(number=self.origin.number + step * n)
        return ParsedReads(head, self.origin), ParsedReads(tail, behind)

    @property
    def n(self) -> int:
        return self.batch.length.size


class Rest(NamedTuple):
    """What an item passes to the next: Chunks that wait."""

    one: list[Chunk]
    two: list[Chunk]


class Balance:
    """Decides which of two files to read next, by the reads in spans and the number of planned spans."""

    def __init__(self) -> None:
        self._reads, self._read, self._planned = [0, 0], [0, 0], [0, 0]

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
        found = [ahead[i] - ahead[1 - i] <= a_span[i] for i in (0, 1)]
        self._planned = [n + more for n, more in zip(self._planned, found, strict=True)]
        return found


class PairSpan:
    """Spans of one file of pairs, or of two (one may be None), and the pairs that they complete.

    ``files``: (number, name) of each; ``is_over``: whether each has no more spans; ``links``: Futures of
    Rest, from the previous item and to the next.
    """

    def __init__(
        self,
        files: Sequence[tuple[int, str]],
        taken: Sequence[Any],
        is_over: tuple[bool, ...],
        balance: Balance,
        links: tuple[Future, Future],
    ) -> None:
        self._numbers, self._paths = zip(*files, strict=True)
        self._taken, self._is_over, self._balance = taken, is_over, balance
        self._before, self._behind = links
        self._error: BaseException | None = None
        self._pairs, self._rest = PairChunks([], [], 0, False), Rest([], [])

    @property
    def path(self) -> str:
        """The file of mates 1, or of both."""
        return self._paths[0]

    def ends(self) -> list[tuple[int, int]]:
        """Return (number of the file, byte) where each of its spans ends."""
        return [(i, span.end) for i, span in zip(self._numbers, self._taken, strict=True) if span]

    def read(self, is_sam: bool = True, comments: bool = False) -> list:
        """Read the pairs as a list of Mates; ``is_sam``, ``comments``: what to check.  Raises InputError."""
        return self.parse(self.take(), is_sam, comments)

    def take(self, hold: Callable[[Any], Any] = spans.SpanBuffer) -> PairChunks:
        """Read the pairs that are complete; ``parse`` or ``check_ends`` must follow.  Raises InputError.

        ``hold``: as in Span.read, but other threads may read the bytes later.
        """
        try:
            own = [span and span.read(hold) for span in self._taken]
        except BaseException:
            for span in filter(None, self._taken):
                span.leave()
            settle(self._behind)
            raise
        for i, chunk in enumerate(own):
            if chunk:
                self._balance.note(i, chunk.n_bound)
        when_settled(self._before, partial(self._pass_on, own))
        if self._behind.result() is None:
            raise self._error or InputError(self._paths[0], "", spans.NOT_READ)
        return self._pairs

    def parse(self, pairs: PairChunks, is_sam: bool = True, comments: bool = False) -> list:
        """Return the pairs that ``take`` has read as a list of Mates.  Raises InputError."""
        found: list[Mates] = []
        waiting = [[x for x in side if x.n] for side in self._parsed(pairs, is_sam, comments)]
        while all(waiting):
            n = min(reads[0].n for reads in waiting)
            met = [reads[0].cut(n, self._step) for reads in waiting]
            (one, _), (two, _) = met
            found.append(Mates(one.batch, two.batch, (one.origin, two.origin)))
            tails = zip(met, waiting, strict=True)
            waiting = [[x for x in (tail, *reads[1:]) if x.n] for (_, tail), reads in tails]
        assert not any(waiting), self._paths
        for mates in found:
            check_names(mates, self._step)
        self.check_ends()
        return found

    @property
    def _step(self) -> int:
        """Records from one mate to the next in a file."""
        return 3 - len(self._paths)

    def _parsed(self, pairs: PairChunks, is_sam: bool, comments: bool) -> list[list[ParsedReads]]:
        """Return mates 1 and mates 2."""
        found: list[list[ParsedReads]] = [[], []]
        for i, chunk in chain(((0, chunk) for chunk in pairs.one), ((1, chunk) for chunk in pairs.two)):
            batch = parse(chunk)
            if is_sam:
                check_sam(chunk, batch)
            if comments:
                from .comments import check_comments  # only for -C

                check_comments(chunk, batch)
            if not pairs.in_turn:
                found[i].append(ParsedReads(batch, Origin(chunk.path, chunk.number)))
                continue
            for skip in (0, 1):
                own = ReadBatch(batch.data, *(x[skip::2].copy() for x in batch[1:]))
                number = chunk.number + skip
                found[1 - number % 2].append(ParsedReads(own, Origin(chunk.path, number)))
        return found

    def _pass_on(self, own: Sequence[Chunk | None], before: Rest | None) -> None:
        """Complete the pairs, and pass on the records that still wait.

        The thread that knows these for an item does this for all items after it that have been read, as in
        Span.
        """
        try:
            if before:
                self._rest = self.meet(own, before)
            settle(self._behind, before and self._rest)
        except BaseException as error:
            self._error = error
            settle(self._behind)

    def meet(self, own: Sequence[Chunk | None], before: Rest) -> Rest:
        """Set the complete pairs; return the records that still wait."""
        waiting, in_turn = [[*before.one], [*before.two]], self._step == 2
        for side, chunk in zip(waiting, own, strict=False):
            side += [chunk] if chunk and chunk.n_bound else []
        n = _n_records(waiting[0]) // 2 if in_turn else min(map(_n_records, waiting))
        (one, rest1), (two, rest2) = _cut(waiting[0], n << in_turn), _cut(waiting[1], n)
        self._pairs = PairChunks(one, two, n, in_turn)
        return Rest(rest1, rest2)

    def check_ends(self) -> None:
        """Raise InputError if reads have no mates."""
        for i, path in enumerate(self._paths):
            alone = (self._rest.two, self._rest.one)[i] if self._step == 1 else self._rest.one
            if not alone or not self._is_over[i]:
                continue
            parse(alone[0])  # its own errors come first
            n = alone[0].number
            if self._step == 2:
                where, what = f"record {n}", "its mate is missing: the number of records is odd"
            else:
                where, has = "", f"no reads, but {self._paths[1 - i]} has some"
                if n > 1:
                    where = f"record {n - 1}"
                    has = f"this is the last record, but {self._paths[1 - i]} has more"
                what = f"{has}; both files must have the same number of reads"
            raise InputError(path, where, what)


def _n_records(chunks: Sequence[Chunk]) -> int:
    return sum(chunk.n_bound for chunk in chunks)


def _cut(chunks: Sequence[Chunk], n: int) -> tuple[list[Chunk], list[Chunk]]:
    """Return (the first n records of Chunks, the others)."""
    head, tail = [], []
    for chunk in chunks:
        own = min(n, chunk.n_bound)
        n -= own
        if own == chunk.n_bound:
            head.append(chunk)
        elif own == 0:
            tail.append(chunk)
        else:
            first, rest = chunk.cut(own)
            head.append(first)
            tail.append(rest)
    return head, tail


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
        yield from items([(number, input_name(path)) for number, path in together], sides)


def items(
    files: Sequence[tuple[int, str]],
    sides: Sequence[Generator[Any, None, None]],
) -> Generator[PairSpan, None, None]:
    """Yield PairSpans of one file of pairs, or of two; ``sides``: the spans of each.  Raises StalledError."""
    balance, is_over, link = Balance(), [False] * len(sides), settled(Rest([], []))
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
            yield PairSpan(files, taken, tuple(is_over), balance, links)
