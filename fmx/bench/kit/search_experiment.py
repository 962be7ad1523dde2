"""One reference in memory with its exact reads, and the time that a query takes over them."""

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import FmxError
from ...index import layouts, prefix_table, seed_table
from ...index.building.suffix_array import suffix_array
from ...index.reference import make_blocks
from ...input.dna import pack_text
from ...input.reads import Patterns
from ...machines.jobs import Cores
from ...machines.threads import run_all, spans
from ...measure.random_text import make_text
from ...search.engines import cpu
from ...search.queries import Exact, Verify


@dataclass(frozen=True)
class Speed:
    """Best time of a query over all reads, in seconds, and what follows from it."""

    seconds: float
    n_reads: int
    length: int

    @property
    def gigabases(self) -> float:
        """Gigabases of reads per second."""
        return self.n_reads * self.length / self.seconds / 1e9

    @property
    def lf_operations(self) -> float:
        """Giga LF operations per second: two a base (Langarita et al. 2020, section 6)."""
        return 2 * self.gigabases


def aligned(array) -> np.ndarray:
    """A copy that starts at a cache line."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Experiment:
    """A reference of n bases; reads drawn from it, packed; layouts built when asked for."""

    def __init__(self, n, n_reads, length, runs, n_threads):
        self.n, self.n_reads, self.length, self.runs, self.n_threads = n, n_reads, length, runs, n_threads
        self.text = make_text(n)
        self.sa = suffix_array(self.text)
        q = prefix_table.default_length(self.text.size)
        self.prefix = prefix_table.build_prefix_table(self.text, q)
        rng = np.random.default_rng(2)
        self.starts = rng.integers(0, n - length + 1, n_reads)
        self.parts = [self._patterns(self._codes(some)) for some in self._batches()]

    def _batches(self) -> list:
        return [self.starts[a:b] for a, b in spans(self.n_reads, max(1, self.n_reads // 8192))]

    def _codes(self, starts):
        """Reads as rows of codes 0 to 3."""
        return self.text[starts[:, None] + np.arange(self.length)] - 1

    @cached_property
    def both_strands(self) -> list:
        """The same reads as ``parts``, each followed by its reverse complement."""
        reads = [self._codes(some) for some in self._batches()]
        pairs = [np.stack([codes, 3 - codes[:, ::-1]], axis=1).reshape(-1, self.length) for codes in reads]
        return [self._patterns(codes) for codes in pairs]

    def _patterns(self, reads) -> Patterns:
        n_words = -(-self.length // 32)
        codes = np.zeros((len(reads), 32 * n_words), np.uint64)
        codes[:, : self.length] = reads
        shifts = np.arange(62, -2, -2, dtype=np.uint64)
        words = (codes.reshape(len(reads), n_words, 32) << shifts).sum(axis=2, dtype=np.uint64)
        first = np.arange(len(reads)) * n_words
        spare = np.zeros(1, np.uint64)
        return Patterns(np.concatenate([words.ravel(), spare]), first, np.full(len(reads), self.length))

    def layout(self, name: str):
        """A layout by its name, aligned as an index on disk is."""
        parsed = layouts.parse_name(name, self.text.size)
        built = parsed.kind.build(self.text, self.sa, parsed.k, parsed.d, Cores(self.n_threads))
        return type(built)(*(aligned(x) if isinstance(x, np.ndarray) else x for x in built))

    def backward(self, layout):
        """Backward search over a layout."""
        return Exact(self.prefix, layout)

    @cached_property
    def verify(self):
        """Seed and verify."""
        s = seed_table.default_length(self.text.size)
        columns = (np.array([value]) for value in (0, 0, 0, self.n))
        return Verify(
            self.prefix, seed_table.build_seed_table(self.text, s), self.sa,
            pack_text(self.text, Cores(self.n_threads)), make_blocks(*columns),
        )  # fmt: skip

    def time(self, query, n_slots=cpu.N_SLOTS, parts=None) -> Speed:
        """Best of the runs.  Raises FmxError if a read is not found where it was drawn from."""
        found = cpu.search(query, self.parts[0], n_slots)
        self._check(found)
        best, items = np.inf, [(part,) for part in parts or self.parts]
        for _ in range(self.runs):
            start = time.perf_counter()
            run_all(lambda part: cpu.search(query, part, n_slots), items, self.n_threads)
            best = min(best, time.perf_counter() - start)
        return Speed(best, self.n_reads, self.length)

    def _check(self, found) -> None:
        for i in range(0, found.lo.size, 37):
            if self.starts[i] not in self.sa[found.lo[i] : found.hi[i]]:
                raise FmxError(f"read {i} was not found where it comes from: the search is wrong")
