"""The weight of a read: its number of copies, as written in its name by programs that collapse reads.

NAME_xN                    miRDeep2, seqcluster, and fmx itself
NAME;size=N                vsearch, usearch; other annotations may follow after a semicolon
NUMBER-N                   fastx_collapser
"""

import numpy as np

from ..compiler.functions import compiled, inlined
from .reads import ReadBatch

MOST = 9 * 10**12  # largest sum of weights: tables count millionths of reads in int64
_DIGITS = 13  # of MOST
_SIZE = np.frombuffer(b";size=", np.uint8)
_SEPARATORS = tuple(b"_-=#|")  # before what may be the number of copies


@inlined
def _is_digit(byte):
    return 48 <= byte <= 57


@inlined
def _number(data, begin, end):
    """Return the number in ``data`` from ``begin`` to ``end``; 0 if not 1 to _DIGITS digits are there."""
    number = np.int64(0)
    for i in range(begin, end):
        if end - begin > _DIGITS or not _is_digit(data[i]):
            return np.int64(0)
        number = 10 * number + np.int64(data[i] - 48)
    return number


@compiled
def end_in_numbers(data, start, length):
    """Return whether all names are numbers, or end in one after a character of _-=#|.

    They begin at ``start`` int64[n] of ``data`` uint8 and have ``length`` int64[n] bytes.
    """
    for r in range(start.size):
        i = end = start[r] + length[r]
        while i > start[r] and _is_digit(data[i - 1]):
            i -= 1
        if i == end or (i > start[r] and data[i - 1] not in _SEPARATORS):
            return False
    return True


@inlined
def weight_of(batch, r):
    """Return (weight of read r, length of its name without the weight), or (1, length) if there is none."""
    data, start, n = batch.data, batch.name_start[r], batch.name_length[r]
    end, i = start + n, start + n
    while i > start and _is_digit(data[i - 1]):
        i -= 1
    weight = _number(data, i, end)
    if weight > 0 and i >= start + 2:
        if data[i - 2] == ord("_") and data[i - 1] == ord("x"):
            return weight, i - 2 - start
        at = start
        while _is_digit(data[at]):
            at += 1
        if data[at] == ord("-") and at > start and at == i - 1:
            return weight, at - start
    for at in range(start, end - _SIZE.size):
        i = 0
        while i < _SIZE.size and data[at + i] == _SIZE[i]:
            i += 1
        if i == _SIZE.size:
            i += at
            while i < end and data[i] != ord(";"):
                i += 1
            weight = _number(data, at + _SIZE.size, i)
            if weight > 0:
                return weight, at - start
    return np.int64(1), n


def weights_of(batch: ReadBatch) -> np.ndarray:
    """Return the weight of each read of a batch, int64[n_reads]."""
    weight = np.empty(batch.length.size, np.int64)
    _fill(batch, weight)
    return weight


@compiled
def _fill(batch, weight):
    for r in range(weight.size):
        weight[r] = weight_of(batch, r)[0]


@inlined
def put_weight(out, at, weight):
    """Write _xN into ``out`` uint8 from ``at`` on; return the position after it."""
    out[at], out[at + 1] = ord("_"), ord("x")
    n, left = 1, weight
    while left >= 10:
        left //= 10
        n += 1
    for i in range(at + 1 + n, at + 1, -1):
        out[i] = 48 + weight % 10
        weight //= 10
    return at + 2 + n
