"""An output format as docs/adding.md tells it: read, position in the text and strand of a hit, as numbers."""

import numpy as np

from fmx.compiler.functions import compiled
from fmx.output.text import put_byte, put_number, record_space

SPACE, LINE = 32, 10


def open_writer(reference, output, sam_header):
    """(writer, bytes before the first record)."""
    return PlainWriter(), b"read position reverse\n"


class PlainWriter:
    """A line a hit; reads are numbered within their chunk."""

    is_sam = False

    def format(self, batch, hits, start, first_hit, last_hit):
        """Lines of reads ``start`` onwards, as far as their hits are first_hit to last_hit."""
        out = np.empty(record_space(batch, hits, start, first_hit, last_hit, 80), np.uint8)
        return out[: _format(hits, start, first_hit, last_hit, out)]

    def end(self):
        return b"end\n"


@compiled
def _format(hits, start, first_hit, last_hit, out):
    at = np.int64(0)
    for i in range(hits.total.size):
        for hit in range(max(hits.first[i], first_hit), min(hits.first[i + 1], last_hit)):
            at = put_byte(out, put_number(out, at, start + i), SPACE)
            at = put_byte(out, put_number(out, at, hits.position[hit]), SPACE)
            at = put_byte(out, put_number(out, at, np.int64(hits.reverse[hit])), LINE)
    return at
