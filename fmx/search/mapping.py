"""Options of mapping, and hooks of it."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from ..dna import FORWARD, REVERSE
from ..errors import n_of
from ..input import chunks
from ..input.reads import WHOLE, Trim
from .hits import SelectionPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..machines.progress import Clock
    from .counts import Demultiplexer, Screen, Tally

BOTH = FORWARD | REVERSE

# Whether the left and the right mate, 1 and 2, are reverse.
ORIENTATIONS = {"fr": (False, True), "rf": (True, False), "ff": (False, False)}


@dataclass(frozen=True)
class Pairing:
    """Orientation and insert size of proper pairs, ``least`` to ``most`` bases.

    ``interleaved``: whether files hold the mates of a pair in turn, which only matters for shards of a run.
    """

    orientation: str = "fr"
    least: int = 0
    most: int = 500
    interleaved: bool = False


@dataclass(frozen=True)
class Near:
    """Options of near matches: up to ``mismatches``; with ``iupac``, IUPAC codes stand for sets of bases.

    ``strata``: report only the near matches with the fewest mismatches. ``best_first``: sort by mismatches,
    otherwise by position. ``counts_all``: count all occurrences of a read, which a Tally relies on without
    ``strata``, not only those found by the time that there are enough hits.
    """

    mismatches: int
    iupac: bool = False
    strata: bool = False
    best_first: bool = True
    counts_all: bool = True


class GpuSizes(NamedTuple):
    """Sizes of work on a GPU.

    ``chunk``: bytes of a chunk, fewer if memory is short, but not fewer than ``least_chunk``. A
    chunk is mapped on the CPU if its records have more than ``long`` bytes on average, or, for each of its
    bytes, ``room`` bytes of output or ``hits`` hits. There is room for ``hits_of_mate`` located occurrences
    per mate at first. Of BGZF blocks the host receives ``ends`` bytes at either end.
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
    weight, or None. ``stretch``: a read belongs where so many consecutive bases of it occur; 0: all of them.
    """

    policy: SelectionPolicy = field(default_factory=SelectionPolicy)
    strands: int = BOTH
    n_threads: int = 1
    chunk_size: int = 0
    trim: Trim = WHOLE
    skip: int = 0
    first: int | None = None
    near: Near | None = None
    stretch: int = 0
    pairing: Pairing | None = None  # None: single reads
    collapse: Trim | None = None
    counts_lengths: bool = False  # whether to count lengths of reads and insert sizes
    noun: str = "read"  # for messages: what is mapped
    cpu_only: str = ""  # an option for which no GPU is used, in words
    sizes: RunSizes = field(default_factory=RunSizes)

    def __post_init__(self) -> None:
        usual = chunks.CHUNK_SIZE << (self.n_threads > chunks.FEW)
        object.__setattr__(self, "chunk_size", self.chunk_size or usual)

    def on(self, n_threads: int) -> "MapOptions":
        """Return the options for a number of threads, with the chunk size that suits it."""
        return self if n_threads == self.n_threads else replace(self, n_threads=n_threads, chunk_size=0)

    def cannot_occur(self) -> str:
        """Return which reads are not searched, as words for a message."""
        v, iupac = (self.near.mismatches, self.near.iupac) if self.near else (0, False)
        what = "IUPAC codes" if iupac else "A, C, G, T and U"
        if self.stretch:
            return f"fewer than {n_of(self.stretch, 'consecutive base')} A, C, G, T or U"
        short = "shorter than --min-length, " if self.trim.least else ""
        many = "empty, or with characters"
        if v:
            many = f"{n_of(v, 'base')} or fewer, or more than {n_of(v, 'character')}"
        return f"{short}{many} other than {what}"


class Hooks(NamedTuple):
    """What a run calls if it is there.

    ``tally`` and ``screen`` count reads, a ``clock`` measures stages, ``say`` prints warnings, and a
    ``demultiplexer`` chooses the files of reads.
    """

    tally: "Tally | None" = None
    screen: "Screen | None" = None
    clock: "Clock | None" = None
    say: "Callable[[str], None] | None" = None
    demultiplexer: "Demultiplexer | None" = None


NO_HOOKS = Hooks()
