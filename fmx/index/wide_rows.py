"""Rows and text as a GPU searches them fastest: each access brings one sector of its memory, 32 bytes.

    row          16 symbols after the seed, 32 bits | position, 32 bits, so that a sector holds 4 rows
    sector j     127 symbols of the text from 32 j on | is a separator near?

A row is refused, or a wide run of rows narrowed, by its symbols, without its text.  The sectors of the text
overlap: from any position one holds 96 symbols or more, so what is left of a read of 128 is in one.  They are
made on the GPU from the suffix array and the packed text, 9 bytes a symbol, and not kept on disk.

Rows keep the order of their suffixes by their symbols too: a separator and all behind it are A, as it sorts
first, and where it comes within the seed all are T, for such a suffix is the last with its seed.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import at, bits_from
from ..input.dna import WORD, symbols
from ..machines.jobs import do
from .contracts import position_of, prefetch_position
from .reference import block_end

KEY = 16  # symbols of a row
SECTOR, REACH = 4, 96  # words of a sector; symbols that it holds from any position in its first word on
BYTES = 9  # of a row and of a symbol's share of the sectors
_LAST = 2**32 - 1


class WideRows(NamedTuple):
    """``rows`` uint64[n], the suffix array with symbols."""

    rows: Any


class Widen(NamedTuple):
    """Makes ``rows`` uint64[n] of ``sa`` uint32[n], the packed text and Blocks, for seeds of s symbols."""

    sa: Any
    words: Any
    blocks: Any
    s: int
    rows: Any


class CutText(NamedTuple):
    """Makes the ``sectors`` uint64[4 * n_sectors(n)] of a packed text of n symbols."""

    words: Any
    blocks: Any
    sectors: Any


def n_sectors(n: int) -> int:
    """Sectors of a text of n symbols: there is one for each position up to 32 beyond its end."""
    return (n + WORD - 1) // WORD + 1


@position_of.register(WideRows)
def _position(sa, layout, row):
    return position_in(sa.rows, row)


@prefetch_position.register(WideRows)
def _prefetch_position(sa, row):
    """Nothing: they are on a GPU."""


@inlined
def position_in(rows, row):
    """The text position of a row."""
    return np.int64(at(rows, row) & np.uint64(_LAST))


@inlined
def key_in(rows, row, k):
    """The first k (1 to 16) symbols of a row after its seed, in the low bits."""
    return at(rows, row) >> np.uint64(64 - 2 * k)


@do.register(Widen)
def _widen(job, part, start, stop):
    for row in range(start, stop):
        position = np.int64(at(job.sa, row))
        length = block_end(job.blocks, position) - position
        key = np.uint64(_LAST)
        if length >= job.s:
            n_held = min(length - job.s, np.int64(KEY))
            key = symbols(job.words, 0, position + job.s, KEY) & bits_from(np.int32(2 * (KEY - n_held)))
        job.rows[row] = key << np.uint64(32) | np.uint64(position)


@do.register(CutText)
def _cut_text(job, part, start, stop):
    last = job.words.size - 1
    for j in range(start, stop):
        for i in range(SECTOR):
            job.sectors[SECTOR * j + i] = at(job.words, min(j + i, last))
        ends = block_end(job.blocks, max(WORD * (j - 1), np.int64(0)))
        near = np.uint64(ends < WORD * (j + SECTOR) - 1)
        job.sectors[SECTOR * j + 3] = job.sectors[SECTOR * j + 3] & bits_from(np.int32(2)) | near
