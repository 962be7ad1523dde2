"""Near matches on GPUs: words are searched there, and their rows compared with the text by a thread each.

The host plans pieces, spells words, and chooses hits, as where the CPU does all (near_mapper.py).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.warp import kernel, thread_index
from ...machines import gpu
from ..gpu.gpu_mapping import N_THREADS, GpuLocator, bring_parts, interval_of, sent
from .candidates import PartText, match_at, place_of_row
from .near_mapper import NearMapper, text_of

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ...machines.gpu_session import GpuSession, GpuStream
    from ..gpu.gpu_mapping import GpuSearcher
    from ..hits import Intervals
    from ..mapping import MapOptions
    from .candidates import WordBatch

AT_ONCE = 1 << 22  # rows that are compared at a time
STREAM_BYTES = 1 << 26  # bytes of it: keys, and what is told of the words and their patterns


@kernel
def compare_kernel(text, sought, lo, first, start, keys):
    """``keys`` int64 of rows start, start + 1 ... of the words' intervals, -1 for no match; a thread each.

    ``lo`` uint32[n] their first rows; ``first`` int64[n + 1] running total of their sizes.
    """
    j = thread_index()
    if j < keys.size:
        word = interval_of(first, start + j)
        position = place_of_row(text, sought, word, np.int64(lo[word]) + start + j - first[word])
        keys[j] = match_at(text, sought, word, position) if position >= 0 else np.int64(-1)


class GpuVerifier:
    """Compares rows with a PartText on a GPU, as candidates.CpuVerifier does on the CPU."""

    def __init__(self, searcher: "GpuSearcher", text: PartText) -> None:
        located = GpuLocator(searcher, text.sa, text.start)
        self._streams = searcher.streams
        with gpu.errors():
            words, blocks = gpu.to_device(text.words), gpu.take(text.blocks)
        self._text = PartText(located.sa, located.layout, words, blocks, text.n, text.start)

    def __call__(self, sought: "WordBatch", intervals: "Intervals") -> tuple[np.ndarray, np.ndarray]:
        """Matches of words whose Intervals in the part are given: (pattern, key), int64[n], by pattern."""
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
        sets = sets._replace(sets=planes, planes=planes, first=plane, plane=plane, length=length)
        pieces = pieces._replace(columns=columns, words=length)
        there = sought._replace(sets=sets, pieces=pieces, pattern=pattern, piece=piece)
        lo, ends = sent(stream, {"lo": np.ascontiguousarray(lo), "first": first})
        for start in range(0, int(first[-1]), AT_ONCE):
            n = min(AT_ONCE, int(first[-1]) - start)
            keys, here = (arrays("keys", n, np.int64)[:n] for arrays in (stream.there, stream.here))
            stream.begin("compare")
            stream.launch(compare_kernel, n, N_THREADS, self._text, there, lo, ends, start, keys)
            stream.receive([keys], [here])
            stream.wait()
            rows = np.flatnonzero(here >= 0)
            found.append((rows + start, here[rows]))


def make_near_mapper(
    index: "FMIndex | JoinedIndex",
    options: "MapOptions",
    team: "Sequence[GpuSession]",
    engine: str | None = None,
    tally: Any = None,
    clock: Any = None,
) -> NearMapper:
    """What finds near matches on GPUs; as gpu_mapping.make_mapper.  Raises DeviceError, UnsupportedError."""
    texts = [text_of(index, number) for number in range(len(index.parts))]

    def verifier(searcher: "GpuSearcher", number: int) -> GpuVerifier:
        return GpuVerifier(searcher, texts[number])

    more = max(text.words.nbytes for text in texts) + STREAM_BYTES
    options, made, sessions = bring_parts(index, options, team, engine, verifier, more)
    parts = [(*own, text) for own, text in zip(made, texts, strict=True)]
    return NearMapper(parts, options, tally, clock, sessions)
