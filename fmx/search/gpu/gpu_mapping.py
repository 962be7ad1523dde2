"""Mapping with an index in parts on a GPU: intervals and positions come from there, all else as on the CPU.

Each worker thread takes a stream (machines/gpu_session.py), so that one chunk is copied while another is
searched and the host parses and formats the rest.  A chunk goes through in batches that fit:

    patterns -> pinned buffer -> device: search -> intervals
    rows of the reported reads -> device: locate -> positions, in the order of the rows

Hits are chosen from the positions as on the CPU, so the output is the same, byte for byte.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.functions import inlined
from ...compiler.warp import kernel, thread_index
from ...index.arrays import part_span
from ...index.contracts import position_of, start, units
from ...input.reads import Patterns
from ...machines import gpu
from ...machines.places import for_each, teams
from ...machines.threads import run_all
from .. import engines
from ..hits import Intervals
from ..mapping import Mapper, make_query
from . import gpu_search, gpu_sparse  # noqa: F401  (the second registers how it searches)

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ...index.positions import FullSA
    from ...machines.gpu_session import GpuSession, GpuStream, GpuStreams
    from ..mapping import MapOptions
    from ..near.near_gpu import GpuVerifier
    from ..near.near_mapper import NearMapper
    from ..pairs.pair_mapper import PairMapper
    from .gpu_mapper import GpuMapper
    from .gpu_search import VerifyForm

N_PATTERNS, N_WORDS = 1 << 18, 1 << 21  # of a batch; a longer pattern is one by itself
N_POSITIONS = 2 * N_PATTERNS
CHUNK_SIZE = 1 << 24  # bytes: fewer, larger pieces of work than on the CPU
N_THREADS = 128
ROOMS = {
    "words": (N_WORDS, np.uint64),
    "first": (N_PATTERNS + 1, np.int64),
    "length": (N_PATTERNS, np.int64),
    "lo": (N_PATTERNS, np.uint32),
    "hi": (N_PATTERNS, np.uint32),
    "positions": (N_POSITIONS, np.uint32),
}
STREAM_BYTES = sum(n * np.dtype(dtype).itemsize for n, dtype in ROOMS.values())  # bytes


@inlined
def interval_of(first, number):
    """Which of the intervals, one after the other, holds row ``number``; ``first``: totals of their sizes."""
    left, right = np.int64(0), np.int64(first.size - 1)
    while right - left > 1:
        middle = (left + right) >> 1
        if first[middle] <= number:
            left = middle
        else:
            right = middle
    return left


@kernel
def locate_kernel(sa, layout, lo, first, start, positions):
    """Text positions of rows start, start + 1 ... of the intervals, one after the other.

    ``lo`` uint32[n] their first rows; ``first`` int64[n + 1] running total of their sizes.
    """
    j = thread_index()
    if j < positions.size:
        i = interval_of(first, start + j)
        positions[j] = position_of(sa, layout, np.int64(lo[i]) + start + j - first[i])


class GpuSearcher:
    """Turns Patterns into Intervals by a query that it brings to a GPU."""

    def __init__(
        self, streams: "GpuStreams", query: Any, engine: str | None, form: "VerifyForm | None"
    ) -> None:
        self.streams, self.launch = streams, engines.prepare(engine or best_engine(query), query)
        with gpu.errors():
            self.query = gpu_search.bring(query, form)

    def __call__(self, patterns: Patterns) -> Intervals:
        found = Intervals(*(np.empty(patterns.length.size, np.uint32) for _ in Intervals._fields))
        self.streams.run(self._search, patterns, found)
        return found

    def _search(self, stream: "GpuStream", patterns: Patterns, found: Intervals) -> None:
        ends = np.append(patterns.first[1:], patterns.words.size - 1)
        a = 0
        while a < patterns.length.size:
            most_words = patterns.first[a] + N_WORDS - 1
            b = max(min(a + N_PATTERNS, int(np.searchsorted(ends, most_words, "right"))), a + 1)
            piece = _slice(patterns, a, b, int(ends[b - 1] - patterns.first[a]))
            on_device = Patterns(*sent(stream, piece._asdict()))
            there = Intervals(*(stream.there(name, b - a, np.uint32)[: b - a] for name in Intervals._fields))
            stream.begin("search")
            for array in there:
                gpu.fill_zero(array, stream.handle)
            self.launch(self.query, on_device, there, stream.handle)
            here = [stream.here(name, b - a, np.uint32)[: b - a] for name in Intervals._fields]
            stream.receive(there, here)
            stream.wait()
            for into, array in zip(found, here, strict=True):
                into[a:b] = array
            a = b


class GpuLocator:
    """Looks up rows of a part of the text, which begins at ``start``, as located.Locator does on the CPU.

    By what the part's GpuSearcher has on the GPU, or else brings there.
    """

    at_hand = False

    def __init__(self, searcher: GpuSearcher, sa: "FullSA", start: int) -> None:
        self.start, self.streams, held = start, searcher.streams, gpu_search.suffix_array(searcher.query)
        with gpu.errors():
            self.sa = held if held is not None else gpu_search.upload(sa)
        self.layout = getattr(searcher.query, "layout", self.sa)

    def of(self, found: Intervals) -> "GpuLocator":
        """As located.Locator.of."""
        return self

    def locate(self, lo: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Text positions, int64, of rows lo[i] to lo[i] + size[i] of the part, one i after the other."""
        first = np.append(0, np.cumsum(size))
        positions = np.empty(first[-1], np.int64)
        self.streams.run(self._locate, np.ascontiguousarray(lo), first, positions)
        return positions

    def _locate(self, stream: "GpuStream", lo: np.ndarray, first: np.ndarray, positions: np.ndarray) -> None:
        for a in range(0, lo.size, N_PATTERNS):
            b = min(a + N_PATTERNS, lo.size)
            on_device = sent(stream, {"lo": lo[a:b], "first": first[a : b + 1] - first[a]})
            for begin in range(int(first[a]), int(first[b]), N_POSITIONS):
                n = min(N_POSITIONS, int(first[b]) - begin)
                there, here = (
                    arrays("positions", n, np.uint32)[:n] for arrays in (stream.there, stream.here)
                )
                stream.begin("locate")
                stream.launch(
                    locate_kernel, n, N_THREADS,
                    self.sa, self.layout, *on_device, begin - int(first[a]), there,
                )  # fmt: skip
                stream.receive([there], [here])
                stream.wait()
                np.add(here, self.start, out=positions[begin : begin + n], dtype=np.int64)


def teams_of(
    index: "FMIndex | JoinedIndex", sessions: "Sequence[GpuSession]", tell: Callable[[str], None]
) -> list:
    """Teams of GPUs that hold an index each: for each team the GpuSession of each part."""
    sizes = [gpu_search.n_bytes((make_query(part), part.sa)) for part in index.parts]
    return teams(sessions, sizes, STREAM_BYTES, tell)


def of_teams(
    index: "FMIndex | JoinedIndex",
    options: "MapOptions",
    sessions: "Sequence[GpuSession]",
    place: Callable[..., Any],
    tell: Callable[[str], None] = lambda line: None,
) -> list:
    """What ``place(options, team)`` makes of each team of GPUs, which share the threads."""

    def make(team: "Sequence[GpuSession]", n_threads: int) -> "GpuMapper | NearMapper | PairMapper":
        return place(replace(options, n_threads=n_threads), team)

    found = for_each(teams_of(index, sessions, tell), options.n_threads)
    return run_all(make, found, len(found))


def make_mapper(
    index: "FMIndex | JoinedIndex",
    options: "MapOptions",
    team: "Sequence[GpuSession]",
    engine: str | None = None,
    tally: Any = None,
    clock: Any = None,
) -> Mapper:
    """What maps to an index in parts on GPUs; ``engine`` is one of engines.CUDA, or None for the best one.

    ``team``: the GpuSession of each part.  Raises DeviceError, UnsupportedError.
    """

    def locator(searcher: GpuSearcher, number: int) -> GpuLocator:
        return GpuLocator(searcher, index.parts[number].sa, part_span(index.meta, number)[0])

    options, made, sessions = bring_parts(index, options, team, engine, locator)
    return Mapper(made, options, tally, clock, sessions)


def bring_parts(
    index: "FMIndex | JoinedIndex",
    options: "MapOptions",
    team: "Sequence[GpuSession]",
    engine: str | None,
    locate: Callable[..., Any],
    more: int = 0,
) -> "tuple[MapOptions, list[Any], tuple[GpuSession, ...]]":
    """(options, of each part (GpuSearcher, ``locate(GpuSearcher, number)``), sessions) of a team of GPUs.

    ``more``: bytes that ``locate`` takes of a part's GPU besides.  Raises DeviceError, UnsupportedError.
    """

    def bring(number: int) -> "tuple[GpuSearcher, GpuLocator | GpuVerifier]":
        searcher = GpuSearcher(streams[team[number]], held[number][0], engine, forms[team[number]])
        return searcher, locate(searcher, number)

    held = [(make_query(part), part.sa) for part in index.parts]
    streams, forms, made = {}, {}, []
    for session in dict.fromkeys(team):
        own = [held[i] for i, its in enumerate(team) if its is session]
        forms[session] = gpu_search.choose([query for query, _ in own], session.memory, STREAM_BYTES)
        resident = sum(gpu_search.form_bytes(*one, forms[session]) + more for one in own)
        streams[session] = session.streams(options.n_threads, resident, ROOMS)
    for number, session in enumerate(team):
        made.append(session.run(bring, number))
    return replace(options, chunk_size=max(options.chunk_size, CHUNK_SIZE)), made, tuple(streams)


def sent(stream: "GpuStream", arrays: Mapping[str, np.ndarray]) -> list:
    """Arrays by name, of a part that fits, on the device."""
    packed = [(name, stream.pack(name, [array])) for name, array in arrays.items()]
    stream.begin("copy in")
    return [stream.send(name, array)[: array.size] for name, array in packed]


def _slice(patterns: Patterns, a: int, b: int, n_words: int) -> Patterns:
    """Patterns a to b by themselves, and the word after them."""
    base = patterns.first[a]
    return Patterns(
        patterns.words[base : base + n_words + 1], patterns.first[a:b] - base, patterns.length[a:b]
    )


def best_engine(query: Any) -> str:
    """The fastest engine for a query: threads alone up to 96 bytes, groups beyond (docs/engines.md)."""
    if not start.knows(query) or units(query.layout) == 0:
        return "cuda_task-naive16"
    return "cuda_task-improved" if units(query.layout) <= 6 else "cuda_full"
