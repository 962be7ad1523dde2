"""Where the guides of a file stand, as its first reads tell: at which offsets, on which strand."""

import numpy as np

from ..input.reads import FORWARD, REVERSE
from .table import Table
from .tally import OFFSETS

LOOKED_AT = 10_000  # reads
LEAST = 0.01  # share of the guides found that an offset must have
CHANCE = 5  # times as many as by chance

NOT_FOUND = (
    "no guide is found in the first {}: is it the right library? If guides are rare here, say where "
    "they stand with --offset, --after, --before or --anywhere"
)
OTHER_STRAND = {
    FORWARD: "the first {} hold guides as reverse complements: leave --forward-only out",
    REVERSE: "the first {} hold guides as they are, not as reverse complements: leave --reverse-only out",
}


def choose(table: Table, hits, n_reads) -> list:
    """The (offset, is it reverse) of guides, the most frequent first.

    ``hits`` int64[2, OFFSETS] of the first n_reads of a file.
    """
    keys = np.add.reduceat((table.guides >= 0).astype(np.int64), table.first)
    by_chance = n_reads * float((keys / 4.0**table.lengths).sum())
    least = max(LEAST * hits.sum(), CHANCE * by_chance, 1)
    places = [
        (-int(hits[strand, offset]), offset, bool(strand))
        for strand in range(2)
        for offset in range(OFFSETS - 1)
        if hits[strand, offset] >= least
    ]
    return [(offset, reverse) for _, offset, reverse in sorted(places)]
