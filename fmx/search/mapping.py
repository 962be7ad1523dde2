"""Options of mapping, the searchable parts of an index, and a batch of searched reads."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import n_of, shown
from ..input import chunks, reads
from ..input.reads import WHOLE, Trim
from .hits import LocatesRows, Near, SelectionPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..index.fm_index import FMIndex, JoinedIndex
    from ..input.reads import ReadBatch
    from ..machines.progress import Clock
    from .counts.tally import ReadCounter
    from .pairs.proper import Pairing

FORWARD, REVERSE = reads.FORWARD, reads.REVERSE
BOTH = FORWARD | REVERSE


class GpuSizes(NamedTuple):
    """Sizes of work on a GPU.

    ``chunk``: bytes of a chunk, fewer if memory is short, but not fewer than ``least_chunk``. A
    chunk is mapped on the CPU if its records have more than ``long`` bytes on average, or ``room`` bytes of
    output or ``hits`` per byte of it. There is room for ``hits_of_mate`` located occurrences per mate at
    first. Of BGZF blocks the host receives ``ends`` bytes at either end.
    """

    chunk: int = 1 << 25
    least_chunk: int = 1 << 20
    long: float = 1 << 13
    room: float = 8
    hits: float = 1 / 8
    hits_of_mate: int = 2
    ends: int = 1 << 16


class RunSizes(NamedTuple):
    """Most items that are handled together, unless one read has more.

    ``hits``: occurrences that are located, and hits that are formatted. Of near matches: ``bases`` of reads
    that are planned, ``words`` that are looked up, ``rows`` that are compared with the text for a run of
    reads, and ``matches`` that are collected at a time. With fewer, threads would contend for Python's lock.
    """

    hits: int = 1 << 17
    bases: int = 1 << 22
    words: int = 1 << 17
    rows: int = 1 << 20
    matches: int = 1 << 17
    gpu: GpuSizes = GpuSizes()


@dataclass(frozen=True)
class MapOptions:
    """Options of mapping: ``trim`` reads; map ``first`` reads (None: all) after the first ``skip`` reads.

    ``chunk_size``: bytes of a span; 0 selects a size for the number of threads. ``near``: which near matches
    are reported, or None. ``collapse``: how reads are trimmed before identical ones become one read with a
    weight, or None.
    """

    policy: SelectionPolicy = field(default_factory=SelectionPolicy)
    strands: int = BOTH
    n_threads: int = 1
    chunk_size: int = 0
    trim: Trim = WHOLE
    skip: int = 0
    first: int | None = None
    near: Near | None = None
    pairing: "Pairing | None" = None  # None: single reads
    collapse: Trim | None = None
    counts_lengths: bool = False  # whether to count lengths of reads and insert sizes
    noun: str = "read"  # for messages: what is mapped
    sizes: RunSizes = field(default_factory=RunSizes)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_size", self.chunk_size or chunks.size_for(self.n_threads))

    def cannot_occur(self) -> str:
        """Return which reads are not searched, as words for a message."""
        v, iupac = (self.near.mismatches, self.near.iupac) if self.near else (0, False)
        what = "IUPAC codes" if iupac else "A, C, G, T and U"
        short = "shorter than --min-length, " if self.trim.least else ""
        many = (
            f"{n_of(v, 'base')} or fewer, or more than {n_of(v, 'character')}"
            if v
            else "empty, or with characters"
        )
        return f"{short}{many} other than {what}"


def make_query(index: "FMIndex") -> Any:
    """Return the query for the method that an index was opened with."""
    if index.method == "sparse":
        from .sparse import make_sparse

        return make_sparse(index)
    assert index.prefix is not None
    if index.method == "backward":
        from .queries.exact import Exact

        return Exact(index.prefix, index.layout)
    from .queries.verify import Verify

    assert index.seeds is not None
    assert index.text_words is not None
    return Verify(index.prefix, index.seeds, index.sa.positions, index.text_words, index.reference.blocks)


class NearTotals(NamedTuple):
    """Totals of near matches per read, int64[n_reads]: those on -, and the mismatches of the best one."""

    reverse: np.ndarray
    fewest: np.ndarray


class SearchedBatch(NamedTuple):
    """A batch of searched reads.

    ``given``, ``batch``: the reads untrimmed and trimmed. ``intervals``: Intervals [n_parts, 2 * n_reads] of
    row numbers for ``locators``, one per part; or None. ``total`` int64[n_reads]: exact number of
    occurrences. ``sought`` bool[n_reads]: which reads were searched. ``weight`` int64[n_reads]: number of
    copies of each read. ``near``: NearTotals if mismatches are allowed.
    """

    given: reads.ReadBatch
    batch: reads.ReadBatch
    intervals: Any
    locators: tuple[LocatesRows, ...]
    total: np.ndarray
    sought: np.ndarray
    weight: np.ndarray
    near: NearTotals | None = None


class TextPart(NamedTuple):
    """A part of the text, on the CPU.

    ``search`` turns Patterns into Intervals, or numbers occurrences in another way (sparse.py). ``locator``
    locates them (hits.py). For near matches: ``text``, on the CPU, and ``verify``, such as
    near/matches.CpuVerifier.
    """

    search: Any
    locator: Any
    text: Any = None
    verify: Any = None


class Observers(NamedTuple):
    """What observes a run: a ``tally`` counts hits, a ``clock`` measures stages, ``say`` prints warnings."""

    tally: "ReadCounter | None" = None
    clock: "Clock | None" = None
    say: "Callable[[str], object] | None" = None


UNOBSERVED = Observers()


def least_bases(index: "FMIndex | JoinedIndex") -> int:
    """Return the bases of the shortest reads that an opened index can find; 0 if there is no limit."""
    return shortest([part for part in index.parts if not part.shorter])


def shortest(parts: "Sequence[FMIndex]") -> int:
    """Return the bases of the shortest reads that the sparse suffix arrays of parts can find.

    Returns 0 if there are none.
    """
    own = (part.sparse for part in parts if part.method == "sparse")
    return max((table.k + table.w - 1 for table in own if table), default=0)


def refuse_shorter(batch: "ReadBatch", least: int, noun: str) -> None:
    """Raise UnsupportedError that names the first read of a batch with fewer bases than ``least``.

    ``noun``: as in MapOptions.
    """
    if least == 0:
        return
    short = np.flatnonzero(batch.searchable & (batch.length < least))
    if short.size:
        r, start = short[0], batch.name_start[short[0]]
        name = shown(bytes(batch.data[start : start + batch.name_length[r]]).decode("latin-1"))
        from ..index.layouts import too_short  # only for errors

        remedy = (
            f"'fmx search --min-length {least}' leaves shorter reads unmapped; " if noun == "read" else ""
        )
        raise too_short(f"{name} has {n_of(batch.length[r], 'base')}", least, remedy)
