"""The parts of an index on GPUs: search, look up rows, and compare rows with the text.

A batch that the host has parsed is sent in pieces that fit; a thread takes a stream for each:

    patterns -> pinned buffer -> device: search -> intervals
    rows of reads -> device: locate -> positions, in the order of the rows
    words and their rows -> device: compare -> keys of near matches
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.warp import kernel, thread_index
from ...index import contracts
from ...index.arrays import part_span
from ...index.contracts import position_of, units
from ...index.positions import FullSA
from ...index.reference import position_of_text_key
from ...input.reads import Patterns
from ...machines import gpu
from ...machines.gpu_jobs import KernelReport
from .. import engines
from ..hits import Intervals
from ..mapper import part_on_cpu
from ..mapping import DevicePart, GpuSizes, TextPart, make_query
from ..near.matches import PartText, match_at, place_of_row, text_of
from ..numbers import KEPT, LEAST, LEAST_REVERSE, N_KEPT, PATTERN_SHIFT, Found, Numbered, keep_anchor
from ..queries.sparse import Anchor, length_of
from . import gpu_search
from .gpu_search import N_PATTERNS, N_WORDS, n_bytes, pieces, sent
from .gpu_sparse import search_sparse
from .gpu_sparse_kernels import NOWHERE

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ...machines.gpu_session import GpuSession, GpuStream, GpuStreams
    from ..near.matches import WordBatch
    from .gpu_search import VerifyForm

N_POSITIONS = 2 * N_PATTERNS
NEAR_BYTES = 1 << 26  # of a stream: keys of these, and columns of the words and their patterns
N_THREADS = 128
ROOMS = {
    "words": (N_WORDS, np.uint64),
    "first": (N_PATTERNS + 1, np.int64),
    "length": (N_PATTERNS, np.int64),
    "lo": (N_PATTERNS, np.uint32),
    "hi": (N_PATTERNS, np.uint32),
    "positions": (N_POSITIONS, np.uint32),
}
STREAM_BYTES = sum(n * np.dtype(dtype).itemsize for n, dtype in ROOMS.values())


@inlined
def interval_of(first, number):
    """Return the interval that holds row ``number`` of all intervals in order.

    ``first``: prefix sums of their sizes.
    """
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
    """Write the text positions of rows start, start + 1 ... of the intervals, in order.

    ``lo`` uint32[n]: their first rows. ``first`` int64[n + 1]: prefix sums of their sizes.
    """
    j = thread_index()
    if j < positions.size:
        i = interval_of(first, start + j)
        positions[j] = position_of(sa, layout, np.int64(lo[i]) + start + j - first[i])


class GpuSearcher:
    """Turns Patterns into Intervals with a query that it copies to a GPU."""

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
        for a, piece in pieces(patterns):
            n, on_device = piece.length.size, Patterns(*sent(stream, piece._asdict()))
            there = Intervals(*(stream.there(name, n, np.uint32)[:n] for name in Intervals._fields))
            stream.begin("search")
            for array in there:
                gpu.fill_zero(array, stream.handle)
            self.launch(self.query, on_device, there, stream.handle)
            here = [stream.here(name, n, np.uint32)[:n] for name in Intervals._fields]
            stream.receive(there, here)
            stream.wait()
            for into, array in zip(found, here, strict=True):
                into[a : a + n] = array


class GpuLocator:
    """The locator of a part on a GPU; the part begins at ``start`` of the text.

    It uses the suffix array of the part's GpuSearcher, or copies one to the GPU.
    """

    at_hand = False

    def __init__(self, searcher: GpuSearcher, sa: FullSA, start: int) -> None:
        self.start, self.streams, held = start, searcher.streams, gpu_search.suffix_array(searcher.query)
        with gpu.errors():
            self.sa = held if held is not None else gpu_search.upload(sa)
        self.layout = getattr(searcher.query, "layout", self.sa)

    def of(self, found: Intervals) -> "GpuLocator":
        """Return the locator for the result of a search: this one, for any Intervals."""
        return self

    def locate(self, lo: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the text positions, int64, of rows lo[i] to lo[i] + size[i] of the part, in order of i."""
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


@kernel
def compare_kernel(text, sought, lo, first, start, keys):
    """Write ``keys`` int64 of rows start, start + 1 ... of the words' intervals, -1 for no match.

    One thread per row. ``lo`` uint32[n]: first rows. ``first`` int64[n + 1]: prefix sums of sizes.
    """
    j = thread_index()
    if j < keys.size:
        word = interval_of(first, start + j)
        position = place_of_row(text, sought, word, np.int64(lo[word]) + start + j - first[word])
        keys[j] = match_at(text, sought, word, position) if position >= 0 else np.int64(-1)


class GpuVerifier:
    """Compares rows with a PartText on a GPU, ``rows`` at a time, as near/matches.CpuVerifier on the CPU."""

    def __init__(self, searcher: GpuSearcher, located: GpuLocator, text: PartText, rows: int) -> None:
        self._streams, self._rows = searcher.streams, rows
        with gpu.errors():
            words, blocks = gpu.take(text.words), gpu.take(text.blocks)
        self.text = PartText(located.sa, located.layout, words, blocks, text.n, text.start)

    def of(self, found: Intervals) -> "GpuVerifier":
        """Return the verifier for the result of a search: this one, for any Intervals."""
        return self

    def __call__(self, sought: "WordBatch", intervals: Intervals) -> tuple[np.ndarray, np.ndarray]:
        """Return the matches of words by their Intervals in the part: (pattern, key), int64[n], by read."""
        first = np.append(0, np.cumsum(intervals.hi.astype(np.int64) - intervals.lo))
        found = [(first[:0], first[:0])]
        if first[-1]:
            self._streams.run(self._compare, sought, intervals.lo, first, found)
        rows, keys = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return sought.pattern[np.searchsorted(first, rows, "right") - 1], keys

    def _compare(
        self,
        stream: "GpuStream",
        sought: "WordBatch",
        lo: np.ndarray,
        first: np.ndarray,
        found: list[tuple[np.ndarray, np.ndarray]],
    ) -> None:
        sets, pieces = sought.sets, sought.pieces
        own = {"planes": sets.planes, "plane": sets.plane, "lengths": sets.length, "pieces": pieces.columns}
        own |= {"pattern": sought.pattern, "piece": sought.piece}
        planes, plane, length, columns, pattern, piece = sent(stream, own)
        sets = sets._replace(
            sets=planes, planes=planes, words=planes, first=plane, plane=plane, length=length
        )
        pieces = pieces._replace(columns=columns, words=length)
        there = sought._replace(sets=sets, pieces=pieces, pattern=pattern, piece=piece)
        lo, ends = sent(stream, {"lo": np.ascontiguousarray(lo), "first": first})
        for begin in range(0, int(first[-1]), self._rows):
            n = min(self._rows, int(first[-1]) - begin)
            keys, here = (arrays("keys", n, np.int64)[:n] for arrays in (stream.there, stream.here))
            stream.begin("compare")
            stream.launch(compare_kernel, n, N_THREADS, self.text, there, lo, ends, begin, keys)
            stream.receive([keys], [here])
            stream.wait()
            rows = np.flatnonzero(here >= 0)
            found.append((rows + begin, here[rows]))


class OnGpus(NamedTuple):
    """An index on a team of GPUs: its ``parts`` for a Mapper, and the ``streams`` of each GpuSession."""

    parts: list[TextPart]
    streams: "dict[GpuSession, GpuStreams]"


def bring_parts(
    index: "FMIndex | JoinedIndex", team: "Sequence[GpuSession]", engine: str | None,
    streams_for: "Callable[[GpuSession, int], GpuStreams]", stream_bytes: int = STREAM_BYTES,
    near: GpuSizes | None = None,
) -> OnGpus:  # fmt: skip
    """Copy an index to a ``team`` of GPUs: the GpuSession of each part.

    ``engine``: one of engines.CUDA, or None for the best one. ``streams_for(session, resident)`` makes
    streams of at least ``stream_bytes`` each, besides the resident bytes. ``near``: sizes for near
    matches, if these are searched. Raises DeviceError, UnsupportedError.
    """
    queries = [make_query(part) for part in index.parts]
    streams: dict[GpuSession, GpuStreams] = {}
    forms: dict[GpuSession, VerifyForm | None] = {}
    for session in dict.fromkeys(team):
        own = [i for i, its in enumerate(team) if its is session]
        sought = [queries[i] for i in own]
        # Exact reads are too few to make up for the time that it takes to make another form.
        form = gpu_search.choose(sought, session.memory, stream_bytes) if near else None
        forms[session] = form
        resident = sum(gpu_search.form_bytes(queries[i], index.parts[i].sa, form) for i in own)
        if near:
            resident += sum(n_bytes(index.parts[i].text_words) + NEAR_BYTES for i in own)
        streams[session] = streams_for(session, resident)

    def bring(number: int) -> TextPart:
        session, query = team[number], queries[number]
        if contracts.own_launch.knows(query):  # its results are located on the host
            launch = engines.prepare(engine or best_engine(query), query)
            device = DevicePart(gpu_search.bring(query, None), (None, None), launch)
            part = part_on_cpu(index, number)
            there = GpuSparse(streams[session], device)
            return part._replace(search=replace(part.search, search=there), device=device)
        search = GpuSearcher(streams[session], queries[number], engine, forms[session])
        sa = index.parts[number].sa
        locator = GpuLocator(search, sa, part_span(index.meta, number)[0])
        # The host takes less time to read rows of a whole suffix array than to send them and wait.
        at_host = part_on_cpu(index, number).locator if isinstance(sa, FullSA) else locator
        text = text_of(index, number) if near else None
        device = DevicePart(search.query, (locator.sa, locator.layout), search.launch)
        verify = GpuVerifier(search, locator, text, near.rows) if near and text else None
        return TextPart(search, at_host, text, verify, device)

    return OnGpus([session.run(bring, number) for number, session in enumerate(team)], streams)


def best_engine(query: Any) -> str:
    """Return the fastest engine: single threads for entries up to 96 bytes, then groups (docs/engines.md)."""
    if not contracts.start.knows(query) or units(query.layout) == 0:
        return "cuda_task-naive16"
    return "cuda_task-improved" if units(query.layout) <= 6 else "cuda_full"


# Numbers of the occurrences that gpu_sparse.py finds, if the host makes the records.

if TYPE_CHECKING:
    from ...input.reads import Patterns
    from ...machines.gpu_session import GpuStream, GpuStreams
    from ..mapping import DevicePart


class Columns(NamedTuple):
    """Columns of a SparseFound, on the host."""

    lo: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    stop: np.ndarray
    how: np.ndarray


class GpuSparse:
    """Numbers occurrences (search/numbers.py) of Patterns that the host has packed, with a DevicePart.

    For a read that occurs once the position is kept, for others their rows.
    """

    def __init__(self, streams: "GpuStreams", device: "DevicePart") -> None:
        self._streams, self._device = streams, device

    def __call__(self, patterns: "Patterns") -> Numbered:
        n = patterns.length.size // 2
        found = Found(patterns, np.empty(n, np.int64), np.empty((n, N_KEPT), np.int64))
        numbered = Numbered(np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), found)
        self._streams.run(self._search, patterns, numbered)
        return numbered

    def _search(self, stream: "GpuStream", patterns: "Patterns", numbered: Numbered) -> None:
        query, held, launch = self._device
        for a, piece in pieces(patterns, together=2):
            n, on_device = piece.length.size, type(patterns)(*sent(stream, piece._asdict()))
            stream.begin("search")
            found = search_sparse(query, held, launch, stream, on_device, KernelReport(stream).there)
            there = found.lo, found.hi, found.first[: n // 2], found.stop[: n // 2], found.how[: n // 2]
            names = ("lo", "hi", "first key of read", "last row", "anchor")
            here = [
                stream.here(name, x.size, x.dtype)[: x.size] for name, x in zip(names, there, strict=True)
            ]
            stream.receive(there, here)
            stream.wait()
            _number(query.table.k, Columns(*here), a // 2, numbered)


@compiled
def _number(k, columns, before, numbered):
    """Store the result of reads that have ``before`` reads before them."""
    lo, hi, first, stop, how = columns
    found = numbered.found
    for i in range(first.size):
        r, strand, position = before + i, first[i] & 1, position_of_text_key(first[i])
        n = np.int64(hi[2 * i]) - np.int64(lo[2 * i])
        n_reverse = np.int64(hi[2 * i + 1]) - np.int64(lo[2 * i + 1])
        if n + n_reverse == 1:
            found.positions[r] = position
            numbered.lo[2 * r] = numbered.lo[2 * r + 1] = KEPT + r
        else:
            numbered.lo[2 * r] = np.int64(2 * r + 1) << PATTERN_SHIFT
            numbered.lo[2 * r + 1] = np.int64(2 * r + 2) << PATTERN_SHIFT
        numbered.hi[2 * r] = numbered.lo[2 * r] + n
        numbered.hi[2 * r + 1] = numbered.lo[2 * r + 1] + n_reverse
        if n + n_reverse > 1:
            place = np.int64(how[i]) >> 2
            rows = np.int64(lo[2 * i]), np.int64(stop[i])
            anchor = Anchor(place, np.int64(how[i] >> 1) & 1, rows[0], rows[1], np.int64(how[i]) & 1)
            keep_anchor(found.anchors, r, anchor)
            length = length_of(found.patterns, r)
            found.anchors[r, LEAST] = found.anchors[r, LEAST_REVERSE] = NOWHERE << 1
            offset = length - k - place if strand else place
            found.anchors[r, LEAST + strand] = position + offset
