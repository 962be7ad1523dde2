"""Numbers of occurrences that gpu_sparse.py finds, for a host that makes the records of reads."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import compiled
from ...index.reference import position_of_text_key
from ...machines.gpu_jobs import KernelReport
from ..numbers import KEPT, LEAST, LEAST_REVERSE, N_KEPT, PATTERN_SHIFT, Found, Numbered, keep_anchor
from ..queries.sparse import Anchor, length_of
from .gpu_search import pieces, sent
from .gpu_sparse import NOWHERE, search_sparse

if TYPE_CHECKING:
    from ...input.reads import Patterns
    from ...machines.gpu_session import GpuStream, GpuStreams
    from ..mapping import DevicePart


class Columns(NamedTuple):
    """Those of a SparseFound, on the host."""

    lo: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    stop: np.ndarray
    how: np.ndarray


class GpuSparse:
    """Numbers occurrences (search/numbers.py) of Patterns that the host has packed, by a DevicePart.

    The position of a read that occurs once is kept, of others their rows.
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
    """Put what is found of reads after those ``before`` them."""
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
