"""A counter next to a bit vector: the brick of bvSFM columns and of the sampled suffix array's marks.

An entry is w words of 64 bits for d = 64 w - 32 positions (w = 2: d = 96, 16 bytes; w = 4: d = 224,
32 bytes).  The counter is what precedes the entry:

    word 0                                  word 1                ...
    | 32-bit counter | positions 0 to 31 |  | positions 32 to 95 |
    bit 0         31   32             63     0                63
"""

import numpy as np

from .jit import inlined, popcount

ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def count_before(entries, first, offset, w):
    """Counter of the entry at word ``first`` plus the bits set before position ``offset``."""
    word = entries[first]
    head = min(offset, 32)
    total = np.int64(word & np.uint64(0xFFFFFFFF))
    total += popcount((word >> np.uint64(32)) & ((np.uint64(1) << np.uint64(head)) - np.uint64(1)))
    for j in range(1, w):
        bits = offset - (64 * j - 32)
        mask = (np.uint64(1) << np.uint64(max(bits, 0))) - np.uint64(1)
        total += popcount(entries[first + j] & (mask if bits < 64 else ALL_ONES))
    return total


@inlined
def is_set(entries, first, offset):
    """The bit of position ``offset`` of the entry at word ``first``."""
    bit = offset + 32
    return (entries[first + (bit >> 6)] >> np.uint64(bit & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def set_bit(entries, first, offset):
    bit = offset + 32
    entries[first + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
