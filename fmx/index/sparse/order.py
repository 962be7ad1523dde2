"""The rows of a large bucket in the order of the text, WORD symbols of all that are still alike at a time."""

from typing import NamedTuple

import numpy as np

from ...compiler.functions import inlined
from ...compiler.primitives import at, prefetch
from ...compiler.sorting import N_DIGITS, differing, digit_of, lay_out_digits, next_place
from .table import DEPTH, WORD, position_in, text_key

_SMALL = 64  # rows that are sorted by insertion
_AHEAD = 8


class Desk(NamedTuple):
    """A thread's memory for up to n rows.

    ``keys`` and ``spare_keys`` int64[n]; ``spare`` uint64[n]; ``ends`` int64[n]: of the first of rows that
    are alike, where these end; ``counts`` int64[N_DIGITS].
    """

    keys: np.ndarray
    spare_keys: np.ndarray
    spare: np.ndarray
    ends: np.ndarray
    counts: np.ndarray


def make_desk(n: int) -> Desk:
    """A Desk for buckets of up to n rows."""
    keys, spare_keys, ends, counts = (np.empty(m, np.int64) for m in (n, n, n, N_DIGITS))
    return Desk(keys, spare_keys, np.empty(n, np.uint64), ends, counts)


@inlined
def order_bucket(text, rows, desk):
    """Order rows by DEPTH symbols; equal ones stay as they are."""
    desk.ends[0] = rows.size
    for depth in range(0, DEPTH, WORD):
        n_alike, i = np.int64(0), np.int64(0)
        while i < rows.size:
            end = desk.ends[i]
            if end - i > 1:
                n_alike += _order_run(text, rows, i, end, depth, desk)
            i = end
        if n_alike == 0:
            return


@inlined
def _order_run(text, rows, start, stop, depth, desk):
    """Order rows start to stop by the symbols from ``depth`` on; how many of them are still alike."""
    keys, ends = desk.keys, desk.ends
    for i in range(start, stop):
        if i + _AHEAD < stop:
            prefetch(text.words, (position_in(at(rows, i + _AHEAD)) + depth) >> 5)
        keys[i] = text_key(text.words, text.blocks, at(rows, i), text.k, depth)
    _sort(rows, start, stop, desk)
    n_alike, i = np.int64(0), start
    while i < stop:
        end = i + 1
        while end < stop and keys[end] == keys[i]:
            end += 1
        if keys[i] & 63 < WORD:  # their blocks have ended
            for j in range(i, end):
                ends[j] = j + 1
        else:
            ends[i] = end
            n_alike += end - i - 1
        i = end
    return n_alike


@inlined
def _sort(rows, start, stop, desk):
    """Sort rows start to stop by their keys, which are not negative; equal ones stay in their order."""
    keys, differ = desk.keys, differing(desk.keys, start, stop)
    if differ == 0:
        return
    if stop - start <= _SMALL:
        for i in range(start + 1, stop):
            key, row, j = keys[i], rows[i], i
            while j > start and keys[j - 1] > key:
                keys[j], rows[j] = keys[j - 1], rows[j - 1]
                j -= 1
            keys[j], rows[j] = key, row
        return
    for digit in range(8):
        shift = np.uint64(8 * digit)
        if digit_of(differ, shift):
            lay_out_digits(keys, start, stop, shift, desk.counts)
            for j in range(start, stop):
                to = next_place(desk.counts, at(keys, j), shift)
                desk.spare_keys[to], desk.spare[to] = at(keys, j), at(rows, j)
            for j in range(start, stop):
                keys[j], rows[j] = at(desk.spare_keys, j), at(desk.spare, j)
