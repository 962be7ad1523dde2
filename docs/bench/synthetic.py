"""Texts that any backend makes, each symbol by its position, and patterns drawn from them with their check.

Repeat has the repeats of a genome:

cells of 512 symbols    of 100: 45 copies of 64 families of repeats, with 5 to 20 % of their symbols changed,
                        3 tandem repeats of units of 1 to 60 symbols, the others random
a duplicated part       1/50 of the text, at its end, equal to a part near its beginning
one letter              a run of 2^16 A, or 1/100 of a small text
24 contigs              a separator after each
"""

from collections import namedtuple
from typing import Any

import numpy as np
import runner

from fmx.compiler.functions import inlined
from fmx.dna import WORD, pack_text, symbols
from fmx.errors import FmxError
from fmx.index import layouts, tables
from fmx.index.contracts import on_device
from fmx.index.reference import Blocks, make_blocks
from fmx.index.suffix_array import make_suffix_array
from fmx.input.reads import Patterns
from fmx.machines.jobs import Array, Backend, do, run_all, spans
from fmx.search import find
from fmx.search.hits import Intervals
from fmx.search.queries.backward import Backward
from fmx.search.queries.verify import Verify

_CELL = 512  # symbols
LETTERS = np.frombuffer(b"NACGT", np.uint8)


@inlined
def scramble(x):
    """Return a pseudorandom word for each word (splitmix64)."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def below(x, n):
    """Return a number from 0 to n - 1 (n < 2^32) from a random word."""
    return np.int64(((x >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inlined
def draw(seed, i, n):
    """Return a number from 0 to n - 1 for each i of a seed."""
    return below(scramble(seed ^ scramble(i)), n)


@inlined
def _symbol(seed, i):
    """Return symbol i, 0 to 3, of an infinite text."""
    cell, offset = i // _CELL, i % _CELL
    kind = draw(seed + np.uint64(1), cell, 100)
    if kind < 45:
        if draw(seed + np.uint64(2), i, 1000) >= 50 + draw(seed + np.uint64(3), cell, 150):
            return draw(seed + np.uint64(4), draw(seed + np.uint64(5), cell, 64) * _CELL + offset, 4)
    elif kind < 48:
        unit = 1 + draw(seed + np.uint64(7), cell, 60)
        return draw(seed + np.uint64(6), cell * 64 + offset % unit, 4)
    return draw(seed, i, 4)


Repeat = namedtuple("Repeat", "text seed")


@do.register(Repeat)
def _repeat(job, stretch, start, stop):
    """Fill ``text`` uint8[n] with the repeats of a genome: separator 0, A C G T 1 to 4."""
    n = job.text.size
    copied, run, contig = n // 50, min(1 << 16, n // 100), n // 24 + 1
    for i in range(start, stop):
        source = i - n + copied + n // 10 if i >= n - copied else i
        symbol = np.int64(0) if n // 2 <= source and source < n // 2 + run else _symbol(job.seed, source)
        job.text[i] = 0 if (i + 1) % contig == 0 or i + 1 == n else symbol + 1


Randomize = namedtuple("Randomize", "text seed")


@do.register(Randomize)
def _randomize(job, stretch, start, stop):
    """Fill ``text`` uint8[n] with random symbols: separator 0, A C G T 1 to 4."""
    for i in range(start, stop):
        job.text[i] = 1 + draw(job.seed, i, 4) if i + 1 < job.text.size else 0


def make_codes(backend: Backend, kind: type, n: int) -> Array:
    """Return uint8[n] on the backend, the last symbol a separator; ``kind`` is Randomize or Repeat."""
    text = backend.empty(n, np.uint8)
    backend.run(kind(text, np.uint64(1)), n)
    return text


# Patterns drawn from a text.

_PIECE = 8192  # patterns that a thread takes at a time


Cut = namedtuple("Cut", "words positions patterns")


@do.register(Cut)
def _cut(job, stretch, start, stop):
    """Cut ``patterns`` of one length from the packed text ``words`` at ``positions``."""
    patterns = job.patterns
    for i in range(start, stop):
        position, length = np.int64(job.positions[i]), patterns.length[i]
        for word in range((length + WORD - 1) // WORD):
            k = min(length - WORD * word, WORD)
            found = symbols(job.words, 0, position + WORD * word, k)
            patterns.words[patterns.first[i] + word] = found << np.uint64(2 * (WORD - k))


def cut(backend: Backend, words: Array, positions: Array, length: int) -> Patterns:
    """Return the strings of ``length`` symbols at positions of a packed text, on the backend."""
    n, n_words = positions.size, -(-length // WORD)
    patterns = Patterns(
        backend.zeros(n * n_words + 1, np.uint64),
        backend.from_host(np.arange(n) * n_words),
        backend.from_host(np.full(n, length)),
    )
    backend.run(Cut(words, positions, patterns), n)
    return patterns


def some(patterns: Patterns, start: int, stop: int) -> Patterns:
    """Return patterns [start, stop), which share the words of all."""
    return Patterns(patterns.words, patterns.first[start:stop], patterns.length[start:stop])


def places(blocks: Blocks, length: int, n: int, rng: np.random.Generator) -> tuple:
    """Return (block, offset in it), int64, of n strings of ``length`` symbols drawn from blocks of a text.

    Raises FmxError if no block is that long.
    """
    places = np.maximum(blocks.length - length + 1, 0)
    edges = np.append(0, np.cumsum(places))
    if edges[-1] == 0:
        raise FmxError(f"no contig has {length} consecutive bases A, C, G, T: use a smaller --length")
    drawn = rng.integers(0, edges[-1], n)
    block = np.searchsorted(edges, drawn, "right") - 1
    return block, drawn - edges[block]


def search(
    query: Any, patterns: Patterns, n_threads: int, n_runs: int = 3, n_slots: int = find.N_SLOTS
) -> tuple:
    """Return (Intervals, least seconds) of n_threads, which take pieces of the patterns in turn."""
    n = patterns.length.size
    pieces = [(query, some(patterns, *span), n_slots) for span in spans(n, max(n_threads, n // _PIECE))]
    found = run_all(find.find_intervals, pieces, n_threads)  # compiles
    seconds = runner.best(lambda: run_all(find.find_intervals, pieces, n_threads), n_runs)
    return Intervals(*map(np.concatenate, zip(*found, strict=True))), seconds


class DrawnPatterns:
    """``patterns`` of ``length`` symbols drawn from a text, at ``positions``, on a backend.

    ``codes`` uint8[n] (a separator last); ``words``, the packed text; ``sa`` uint32[n]; ``prefix``, a table
    of strings up to q symbols (None: the default of an index).
    """

    def __init__(self, backend: Any, codes: Any, n_patterns: int, length: int, q: int | None = None) -> None:
        self.backend, self.codes, self.length, self.n = backend, codes, length, codes.size
        self.expected: Intervals | None = None
        self.words = pack_text(codes, backend)
        self.sa = make_suffix_array(backend, codes)
        ends = np.flatnonzero(backend.to_host(codes) == 0)
        starts = np.concatenate([[0], ends[:-1] + 1])
        self._blocks = make_blocks(starts, np.arange(starts.size), np.zeros_like(starts), ends - starts)
        block, offset = places(self._blocks, length, n_patterns, np.random.default_rng(7))
        self.positions = backend.from_host((starts[block] + offset).astype(np.uint32))
        self.patterns = cut(backend, self.words, self.positions, length)
        q = q or tables.prefix_length(self.n)
        self.prefix = backend.from_host(tables.build_prefix_table(backend.to_host(codes), q))

    def layout(self, name: str) -> Any:
        """Return a layout by its name; on the CPU its arrays begin at cache lines, as in an index on disk."""
        parsed = layouts.parse_name(name, self.n)
        built = parsed.kind.build(self.codes, self.sa, parsed.k, parsed.d, self.backend)
        if self.backend.serial:
            return type(built)(*map(_aligned, built))
        return on_device(self.backend.from_host(built))

    def query(self, name: str) -> Any:
        """Return backward search in a layout by its name, or by seed and verify, "verify"."""
        if name != "verify":
            return Backward(self.prefix, self.layout(name))
        if self.backend.serial:
            return self.verify()
        return on_device(self.verify())

    def verify(self) -> Verify:
        """Return seed and verify as in an index."""
        s = tables.seed_length(self.n)
        seeds = tables.SeedTable(tables.first_rows(self.backend, self.codes, self.sa, s), s)
        return Verify(self.prefix, seeds, self.sa, self.words, self.backend.from_host(self._blocks))

    def n_wrong(self, intervals: Intervals) -> int:
        """Return the number of patterns whose interval differs from that of the first search."""
        found = Intervals(*map(self.backend.to_host, intervals))
        self.expected = self.expected or Intervals(*(array.copy() for array in found))
        differ = [a != b for a, b in zip(found, self.expected, strict=True)]
        return int((differ[0] | differ[1]).sum())


def _aligned(array: Any) -> Any:
    """Return a copy of an array that begins at a cache line; anything else unchanged."""
    if not isinstance(array, np.ndarray):
        return array
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
