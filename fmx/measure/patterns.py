"""Patterns drawn from a text, and the time that the CPU takes to search them."""

from typing import Any, NamedTuple

import numpy as np

from ..errors import FmxError
from ..input.dna import WORD, symbols
from ..input.reads import Patterns
from ..machines.jobs import do
from ..machines.threads import run_all, spans
from ..search.engines import cpu
from ..search.hits import Intervals
from . import timing

_PIECE = 8192  # patterns that a thread takes at a time


class Cut(NamedTuple):
    """``patterns`` of one length from the packed text ``words``, that begin at ``positions``."""

    words: Any
    positions: Any
    patterns: Any


@do.register(Cut)
def _cut(job, stretch, start, stop):
    patterns = job.patterns
    for i in range(start, stop):
        position, length = np.int64(job.positions[i]), patterns.length[i]
        for word in range((length + WORD - 1) // WORD):
            k = min(length - WORD * word, WORD)
            found = symbols(job.words, 0, position + WORD * word, k)
            patterns.words[patterns.first[i] + word] = found << np.uint64(2 * (WORD - k))


def cut(backend, words, positions, length) -> Patterns:
    """The strings of ``length`` symbols at positions of a packed text, on the backend."""
    n, n_words = positions.size, -(-length // WORD)
    patterns = Patterns(
        backend.zeros(n * n_words + 1, np.uint64),
        backend.take(np.arange(n) * n_words),
        backend.take(np.full(n, length)),
    )
    backend.run(Cut(words, positions, patterns), n)
    return patterns


def some(patterns, start, stop) -> Patterns:
    """Patterns [start, stop), which share the words of all."""
    return Patterns(patterns.words, patterns.first[start:stop], patterns.length[start:stop])


def places(blocks, length, n, rng) -> tuple:
    """(block, offset in it) of n strings of ``length`` symbols, int64 both, drawn from blocks of a text.

    Raises FmxError where no block is that long.
    """
    places = np.maximum(blocks.length - length + 1, 0)
    edges = np.append(0, np.cumsum(places))
    if edges[-1] == 0:
        raise FmxError(f"no contig holds {length} bases in a row: give a smaller --length")
    drawn = rng.integers(0, edges[-1], n)
    block = np.searchsorted(edges, drawn, "right") - 1
    return block, drawn - edges[block]


def search(query, patterns, n_threads, n_runs=3, n_slots=cpu.N_SLOTS) -> tuple:
    """(Intervals, least seconds) of n_threads of the CPU, which take pieces of the patterns in turn."""
    n = patterns.length.size
    pieces = [(query, some(patterns, *span), n_slots) for span in spans(n, max(n_threads, n // _PIECE))]
    found = run_all(cpu.search, pieces, n_threads)  # compiles
    seconds = timing.best(lambda: run_all(cpu.search, pieces, n_threads), n_runs)
    return Intervals(*map(np.concatenate, zip(*found, strict=True))), seconds
