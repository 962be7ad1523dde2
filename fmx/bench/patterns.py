"""Patterns drawn from a text on a backend (the CPU's cores or a GPU), queries, and their check."""

from collections import namedtuple
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at
from ..index import layouts, prefix_table, seed_table
from ..index.building.bwt import invert
from ..index.building.suffix_array import make_suffix_array
from ..index.contracts import on_device
from ..index.reference import Blocks, make_blocks
from ..input.dna import pack_text, symbols
from ..input.reads import Patterns
from ..machines.jobs import choose, do
from ..measure import gpu_timing
from ..measure.texts import cut, draw
from ..search.gpu.gpu_search import VerifyForm, reshape, seed_lengths
from ..search.hits import Intervals
from ..search.queries.exact import Exact
from ..search.queries.verify import Verify

Separators = namedtuple("Separators", "codes")


@choose.register(Separators)
def _choose_separators(choice, i):
    """Choose the positions of separators."""
    return i if at(choice.codes, i) == 0 else np.int64(-1)


@inlined
def _has_separator(codes, start, stop):
    i = start
    while i < stop and at(codes, i) != 0:
        i += 1
    return i < stop


Draw = namedtuple("Draw", "codes seed length positions")


@do.register(Draw)
def _draw(job, stretch, start, stop):
    """Draw ``positions`` uint32 from which ``length`` symbols are in one block."""
    for i in range(start, stop):
        number, places = np.int64(i), job.codes.size - np.int64(job.length)
        position = draw(job.seed, number, places)
        while _has_separator(job.codes, position, position + job.length):
            number += np.int64(1) << 32
            position = draw(job.seed, number, places)
        job.positions[i] = position


@inlined
def _starts_with(choice, row, i):
    """Return whether a row starts with pattern i."""
    position, patterns = np.int64(at(choice.sa, row)), choice.patterns
    if position + patterns.length[i] > choice.codes.size:
        return False
    for j in range(patterns.length[i]):
        if at(choice.codes, position + j) != 1 + symbols(patterns.words, patterns.first[i], j, 1):
            return False
    return True


Wrong = namedtuple("Wrong", "codes sa row_of patterns positions intervals")


@choose.register(Wrong)
def _choose_wrong(choice, i):
    """Choose the patterns with a wrong interval: it is not exactly the rows that start with the pattern, or
    lacks the row of the position that it was drawn from.  ``row_of`` uint32[n] by text position."""
    lo, hi = np.int64(choice.intervals.lo[i]), np.int64(choice.intervals.hi[i])
    row = np.int64(at(choice.row_of, np.int64(choice.positions[i])))
    right = lo <= row and row < hi and _starts_with(choice, lo, i) and _starts_with(choice, hi - 1, i)
    if right and lo > 0:
        right = not _starts_with(choice, lo - 1, i)
    if right and hi < choice.sa.size:
        right = not _starts_with(choice, hi, i)
    return np.int64(-1) if right else i


class DrawnPatterns:
    """``patterns`` of ``length`` symbols drawn from a text, at ``positions``, on a backend.

    ``codes`` uint8[n] (a separator last); ``words``, the packed text; ``sa`` uint32[n]; ``prefix``, a table
    of strings up to q symbols (None: the default of an index).
    """

    def __init__(self, backend: Any, codes: Any, n_patterns: int, length: int, q: int | None = None) -> None:
        self.backend, self.codes, self.length, self.n = backend, codes, length, codes.size
        self.words = pack_text(codes, backend)
        self.sa = make_suffix_array(backend, codes)
        self.positions = backend.empty(n_patterns, np.uint32)
        backend.run(Draw(codes, np.uint64(7), length, self.positions), n_patterns)
        self.patterns = cut(backend, self.words, self.positions, length)
        q = q or prefix_table.default_length(self.n)
        self.prefix = prefix_table.make_prefix_table(backend, codes, self.sa, q)

    def layout(self, name: str) -> Any:
        """Return a layout by its name; on the CPU its arrays begin at cache lines, as in an index on disk."""
        parsed = layouts.parse_name(name, self.n)
        built = parsed.kind.build(self.codes, self.sa, parsed.k, parsed.d, self.backend)
        if self.backend.serial:
            return type(built)(*map(_aligned, built))
        return on_device(self.backend.take(built))

    def query(self, name: str) -> Any:
        """Return backward search in a layout by its name, or "verify" in its fastest form."""
        if name != "verify":
            return Exact(self.prefix, self.layout(name))
        if self.backend.serial:
            return self.verify()
        own = seed_table.default_length(self.n)
        return self.seeded(VerifyForm(True, seed_lengths(self.n, own)[0]))

    def verify(self) -> Verify:
        """Return seed and verify as in an index."""
        s = seed_table.default_length(self.n)
        seeds = seed_table.SeedTable(seed_table.first_rows(self.backend, self.codes, self.sa, s), s)
        blocks = self.backend.take(self.blocks())
        return Verify(self.prefix, seeds, self.sa, self.words, blocks)

    def seeded(self, form: VerifyForm) -> Any:
        """Return seed and verify in a form of a GPU, on the backend."""
        return reshape(on_device(self.verify()), form, self.backend)

    def blocks(self) -> Blocks:
        """Return the blocks of the text, each as a contig."""
        ends = self.backend.to_host(self.backend.select(Separators(self.codes), self.n)).astype(np.int64)
        starts = np.concatenate([[0], ends[:-1] + 1])
        return make_blocks(starts, np.arange(starts.size), np.zeros_like(starts), ends - starts)

    @cached_property
    def row_of(self) -> Any:
        """uint32[n]: the row of each text position."""
        return invert(self.backend, self.sa)

    def n_wrong(self, intervals: Intervals) -> int:
        """Return the number of patterns whose interval is not exactly that of their occurrences."""
        wrong = Wrong(self.codes, self.sa, self.row_of, self.patterns, self.positions, intervals)
        return int(self.backend.count(wrong, self.positions.size)[-1])

    def no_intervals(self) -> Intervals:
        """Return room for the results, initially zeros."""
        return Intervals(*(self.backend.zeros(self.positions.size, np.uint32) for _ in Intervals._fields))

    def measured(
        self, search: Callable[[Patterns, Intervals], Any], intervals: Intervals | None = None
    ) -> dict:
        """Return a row of a GPU's ``search(patterns, intervals)``: wrong results, seconds, speed."""
        intervals = intervals or self.no_intervals()
        seconds = gpu_timing.seconds(lambda: search(self.patterns, intervals))
        speed = self.positions.size * self.length / seconds / 1e9
        return {"wrong": self.n_wrong(intervals), "s": seconds, "Gbases/s": speed}


def _aligned(array: Any) -> Any:
    """Return a copy of an array that begins at a cache line; anything else unchanged."""
    if not isinstance(array, np.ndarray):
        return array
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
