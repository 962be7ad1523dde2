"""Writes unchanged reads for --al and --un: those with a reported hit, and those without.

A FASTQ record is copied unchanged, a FASTA record with its sequence on one line.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..codecs.bgzf import deflate
from ..compiler.functions import compiled, inlined
from ..compiler.primitives import copy_bytes
from ..input.record import SPACE, TAB
from . import ReadsPiece
from .put import LINE
from .search_output import ReadsFile

if TYPE_CHECKING:
    from ..input.reads import ReadBatch


def split(
    files: tuple[ReadsFile, ...], batches: "tuple[ReadBatch, ...]", is_hit: np.ndarray
) -> Iterator[ReadsPiece]:
    """Yield a ReadsPiece for each ReadsFile that contains at least one of the reads, in order.

    ``batches``: one of untrimmed reads, or two of mates; ``is_hit`` bool[n_reads].
    """
    for number, file in enumerate(files):
        chosen = is_hit == file.with_hit
        if chosen.any():
            mates = batches[file.mate - 1 :][:1] if file.mate else batches
            out = np.empty(sum(_room(batch, chosen) for batch in mates), np.uint8)
            out = out[: _copy(mates[0], mates[-1], len(mates), chosen, out)]
            yield ReadsPiece(deflate(out) if file.is_gzip else out, number)


@inlined
def _begin(batch, r):
    """Return where record r begins: blanks may precede its name."""
    i = batch.name_start[r] - 1
    while batch.data[i] == SPACE or batch.data[i] == TAB:
        i -= 1
    return i


@inlined
def _end(batch, r):
    """Return the end of FASTQ record r, including its newline."""
    i = batch.quality_start[r] + batch.length[r]
    while i < batch.data.size and batch.data[i] != LINE:
        i += 1
    return min(i + 1, batch.data.size)


@inlined
def _put(batch, r, out, at):
    """Copy record r; return the position after it."""
    begin = _begin(batch, r)
    if batch.quality_start[r] >= 0:
        end = _end(batch, r)
    else:
        end = batch.start[r] + batch.length[r]
    copy_bytes(out, at, batch.data, begin, end - begin)
    at += end - begin
    if batch.quality_start[r] < 0 and batch.length[r] > 0:
        out[at] = LINE
        at += 1
    return at


@compiled
def _room(batch, chosen):
    """Return an upper bound of the bytes of the chosen reads of a batch."""
    room = np.int64(0)
    for r in range(chosen.size):
        if chosen[r]:
            begin = _begin(batch, r)
            if batch.quality_start[r] >= 0:
                room += _end(batch, r) - begin
            else:
                room += batch.start[r] + batch.length[r] + 1 - begin
    return room


@compiled
def _copy(one, two, n_mates, chosen, out):
    """Copy the chosen reads, or both mates of the chosen pairs, into ``out`` uint8[n]; return the bytes."""
    at = np.int64(0)
    for r in range(chosen.size):
        if chosen[r]:
            at = _put(one, r, out, at)
            if n_mates == 2:
                at = _put(two, r, out, at)
    return at
