"""The forms of seed and verify on a GPU, which differ in what they fetch: made there from the index's arrays.

    wide rows, text in sectors    9 bytes a symbol        index/wide_rows.py
    as the index has it           4.25 bytes a symbol     suffix array and packed text

Both with seeds as long as there is memory for.
"""

from typing import NamedTuple

import numpy as np

from ..index.seed_table import Lengthen, SeedTable
from ..index.wide_rows import SECTOR, CutText, Widen, WideRows, n_sectors
from .queries.seeded import VerifyOnDevice, VerifyWide

LONGEST = 16  # symbols of a seed
_MANY = 8  # strings of a seed's length for each symbol of the text, at most


class Form(NamedTuple):
    """Whether rows are wide, and the symbols of a seed."""

    wide: bool
    s: int


def seed_lengths(n, own) -> list:
    """Symbols that seeds of a text of n symbols may have, most first, down to those of its index."""
    return [*(s for s in range(LONGEST, own, -1) if 4**s <= _MANY * n), own]


def reshape(query, form, backend):
    """A VerifyOnDevice, whose arrays are the backend's, in another form, with seeds no shorter."""
    prefix, seeds, sa, words, blocks = query
    n = sa.size
    if form.s > seeds.s:
        starts = backend.empty(4**form.s + 1, np.uint32)
        backend.run(Lengthen(seeds, sa, words, blocks, form.s, starts), starts.size)
        seeds = SeedTable(starts, form.s)
    if not form.wide:
        return VerifyOnDevice(prefix, seeds, sa, words, blocks)
    rows = backend.empty(n, np.uint64)
    backend.run(Widen(sa, words, blocks, seeds.s, rows), n)
    sectors = backend.empty(SECTOR * n_sectors(n), np.uint64)
    backend.run(CutText(words, blocks, sectors), n_sectors(n))
    return VerifyWide(prefix, seeds, WideRows(rows), sectors, blocks)
