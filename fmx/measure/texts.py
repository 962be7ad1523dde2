"""Texts for measurements: random_codes, and texts that any backend makes, each symbol by its position.

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

from ..compiler.functions import inlined
from ..compiler.primitives import at
from ..errors import FmxError
from ..index.reference import Blocks
from ..input.dna import WORD, symbols
from ..input.reads import Patterns, pack_reverse
from ..machines.jobs import ONE_CORE, Array, Backend, do, run_all, spans
from ..search import sparse
from ..search.engines import cpu
from ..search.hits import Intervals
from . import timing

_CELL, _REPEATED = 512, 0.3  # symbols; fraction of a random text that is copied from elsewhere in it
_LETTERS = np.frombuffer(b"NACGT", np.uint8)


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


def random_codes(n: int) -> np.ndarray:
    """Return uint8[n + 1]: random symbols and a separator.

    _REPEATED of them are copies of 300 to 6000 symbols.
    """
    rng = np.random.default_rng(1)
    text = np.zeros(n + 1, np.uint8)
    text[:n] = rng.integers(1, 5, n, np.uint8)
    copied = 0
    while copied < _REPEATED * n:
        length = min(int(rng.integers(300, 6000)), n // 4)
        source, target = rng.integers(0, n - length, 2)
        text[target : target + length] = text[source : source + length]
        copied += max(length, 1)
    return text


def random_fasta(n: int) -> bytes:
    """Return the n symbols of ``random_codes`` as FASTA."""
    return b">random\n" + letters(random_codes(n)[:-1]).tobytes() + b"\n"


def letters(codes: np.ndarray) -> np.ndarray:
    """Return codes of a text as letters, both uint8."""
    return _LETTERS[codes]


# Patterns drawn from a text, and the time that the CPU takes to search them.

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
        backend.take(np.arange(n) * n_words),
        backend.take(np.full(n, length)),
    )
    backend.run(Cut(words, positions, patterns), n)
    return patterns


BothStrands = namedtuple("BothStrands", "patterns both")


@do.register(BothStrands)
def _strands(job, stretch, start, stop):
    """Write ``patterns`` of one length, each beside its reverse complement, to ``both`` (Patterns).

    Those of every second pattern are swapped.
    """
    patterns, both = job.patterns, job.both
    for i in range(start, stop):
        n, source, reverse = patterns.length[i], patterns.first[i], i & 1
        n_words = (n + WORD - 1) // WORD
        first = 2 * n_words * i
        for word in range(n_words):
            both.words[first + word] = at(patterns.words, source + word)
        pack_reverse(both.words, first, first + n_words, n)
        both.first[2 * i + reverse], both.first[2 * i + 1 - reverse] = first, first + n_words
        both.length[2 * i] = both.length[2 * i + 1] = n


def both_strands(backend: Backend, patterns: Patterns) -> Patterns:
    """Return patterns of one length, each beside its reverse complement, on the backend."""
    n, n_words = patterns.length.size, patterns.words.size - 1
    words = backend.zeros(2 * n_words + 1, np.uint64)
    both = Patterns(words, backend.empty(2 * n, np.int64), backend.empty(2 * n, np.int64))
    backend.run(BothStrands(patterns, both), n)
    return both


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
    query: Any, patterns: Patterns, n_threads: int, n_runs: int = 3, n_slots: int = cpu.N_SLOTS
) -> tuple:
    """Return (Intervals, least seconds) of n_threads, which take pieces of the patterns in turn."""
    n = patterns.length.size
    pieces = [(query, some(patterns, *span), n_slots) for span in spans(n, max(n_threads, n // _PIECE))]
    found = run_all(cpu.search, pieces, n_threads)  # compiles
    seconds = timing.best(lambda: run_all(cpu.search, pieces, n_threads), n_runs)
    return Intervals(*map(np.concatenate, zip(*found, strict=True))), seconds


def search_both(query: Any, patterns: Patterns, n_threads: int) -> tuple:
    """Search both strands of each pattern by a sparse suffix array.

    Return (Intervals as wide as the number of occurrences of the patterns and their reverse complements, half
    of the seconds).
    """
    both, n = both_strands(ONE_CORE, patterns), patterns.length.size
    stretches = spans(n, max(n_threads, n // _PIECE))
    pieces = [(query, some(both, 2 * start, 2 * stop)) for start, stop in stretches]
    found = run_all(sparse.search, pieces, n_threads)  # compiles
    seconds = timing.best(lambda: run_all(sparse.search, pieces, n_threads))
    hi = np.concatenate([(own.hi - own.lo).reshape(-1, 2).sum(1) for own in found])
    return Intervals(np.zeros_like(hi), hi), seconds / 2
