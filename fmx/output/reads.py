"""Writes unchanged reads for --al and --un, each to the file of its destination.

A FASTQ record is copied unchanged, a FASTA record with its sequence on one line.
"""

from collections.abc import Iterator

import numpy as np

from ..codecs.bgzf import deflate
from ..compiler.functions import compiled, inlined
from ..compiler.primitives import copy_bytes
from ..input.reads import SPACE, TAB, ReadBatch
from . import ReadsPiece
from .files import ReadsFile
from .put import LINE


def split(
    files: tuple[ReadsFile, ...], batches: tuple[ReadBatch, ...], read: np.ndarray, number: np.ndarray
) -> Iterator[ReadsPiece]:
    """Yield what to append to files of reads: read ``read[i]`` goes to destination ``number[i]``.

    ``batches``: one of untrimmed reads, or two of mates; ``read``, ``number`` int64[n].
    """
    for mate in dict.fromkeys(file.mate for file in files):
        mates = batches[mate - 1 :][:1] if mate else batches
        of_mate = [(i, file) for i, file in enumerate(files) if file.mate == mate]
        numbers = [file.number for _, file in of_mate]
        has_file = np.zeros(max(*numbers, int(number.max(initial=0))) + 1, np.bool_)
        has_file[numbers] = True
        chosen = has_file[number]
        work = mates[0], mates[-1], len(mates), read[chosen], number[chosen]
        ends = np.zeros(has_file.size + 1, np.int64)
        _measure(*work, ends[1:])
        begins = np.cumsum(ends)
        out, ends = np.empty(begins[-1], np.uint8), begins.copy()
        _copy(*work, ends, out)
        pieces = [(i, file, out[begins[file.number] : ends[file.number]]) for i, file in of_mate]
        yield ReadsPiece([(i, deflate(x) if file.is_gzip else x) for i, file, x in pieces if x.size])


@inlined
def _begin(batch, r):
    """Return where record r begins: blanks may precede its name."""
    i = batch.name_start[r] - 1
    while batch.data[i] == SPACE or batch.data[i] == TAB:
        i -= 1
    return i


@inlined
def _end(batch, r):
    """Return the end of record r, without its newline, which a last empty line of qualities may lack."""
    if batch.quality_start[r] < 0:
        return batch.start[r] + batch.length[r]
    i = batch.quality_start[r] + batch.length[r]
    while i < batch.data.size and batch.data[i] != LINE:
        i += 1
    return i


@inlined
def _put(batch, r, out, at):
    """Copy record r; return the position after it."""
    begin, end = _begin(batch, r), _end(batch, r)
    copy_bytes(out, at, batch.data, begin, end - begin)
    at += end - begin
    if batch.quality_start[r] >= 0 or batch.length[r] > 0:
        out[at] = LINE
        at += 1
    return at


@compiled
def _measure(one, two, n_mates, read, number, room):
    """Add an upper bound of the bytes of each read, or of both mates, to the room of its destination."""
    for i in range(read.size):
        room[number[i]] += _end(one, read[i]) + 1 - _begin(one, read[i])
        if n_mates == 2:
            room[number[i]] += _end(two, read[i]) + 1 - _begin(two, read[i])


@compiled
def _copy(one, two, n_mates, read, number, ends, out):
    """Copy each read, or both mates, to the end of its destination in ``out`` uint8[n], and move that on."""
    for i in range(read.size):
        at = _put(one, read[i], out, ends[number[i]])
        if n_mates == 2:
            at = _put(two, read[i], out, at)
        ends[number[i]] = at
