"""Letters of the reference, back from the packed text; what is none of A, C, G, T there reads N."""

import numpy as np

_BASES = np.frombuffer(b"ACGT", np.uint8)


class Letters:
    """Of an FMIndex or a JoinedIndex that holds its text."""

    def __init__(self, index, part_starts):
        """``part_starts``: where each part begins in the text."""
        self._blocks, self._starts = index.reference.blocks, np.array(part_starts)
        self._words = [part.text_words for part in index.parts]

    def between(self, contig, start, end) -> bytes:
        """Those of a contig from ``start`` to ``end``, half-open."""
        blocks, found = self._blocks, np.full(end - start, ord("N"), np.uint8)
        first, last = np.searchsorted(blocks.contig, (contig, contig + 1))
        begins = blocks.contig_start[first:last]
        a = first + max(int(np.searchsorted(begins, start, "right")) - 1, 0)
        for block in range(a, first + int(np.searchsorted(begins, end))):
            left = max(start, int(blocks.contig_start[block]))
            right = min(end, int(blocks.contig_start[block] + blocks.length[block]))
            if left < right:
                at = int(blocks.text_start[block]) + left - int(blocks.contig_start[block])
                found[left - start : right - start] = self._text(at, right - left)
        return found.tobytes()

    def _text(self, at, n):
        part = int(np.searchsorted(self._starts, at, "right")) - 1
        i = np.arange(at - self._starts[part], at - self._starts[part] + n)
        return _BASES[(self._words[part][i >> 5] >> (62 - 2 * (i & 31)).astype(np.uint64)) & np.uint64(3)]
