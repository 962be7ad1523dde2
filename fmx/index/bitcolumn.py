"""A counter next to a bit vector: the brick of bvSFM columns and of the sampled suffix array's marks.

An entry is w words of 64 bits for d = 64 w - 32 positions (w = 2: d = 96, 16 bytes; w = 4: d = 224,
32 bytes).  The counter is what precedes the entry:

    word 0                                  word 1                ...
    | 32-bit counter | positions 0 to 31 |  | positions 32 to 95 |
    bit 0         31   32             63     0                63
"""

import numpy as np

from ..compiler.functions import inlined
from ..compiler.primitives import bits_from32, low_bits, popcount


@inlined
def share(unit, a, b, offset):
    """What 16 bytes of an entry (words a and b) add to the counter plus the bits set before ``offset``."""
    if unit == 0:
        in_a = popcount(np.uint32(a >> np.uint64(32)) & ~bits_from32(offset))
        return np.int64(np.uint32(a)) + in_a + popcount(b & low_bits(offset - 32))
    start = 128 * unit - 32
    return popcount(a & low_bits(offset - start)) + popcount(b & low_bits(offset - start - 64))


@inlined
def count_before(entries, first, offset, n_units):
    """Counter of the entry at word ``first`` plus the bits set before position ``offset``."""
    total = np.int64(0)
    for unit in range(n_units):
        total += share(unit, entries[first + 2 * unit], entries[first + 2 * unit + 1], offset)
    return total


@inlined
def is_set(entries, first, offset):
    """The bit of position ``offset`` of the entry at word ``first``."""
    bit = offset + 32
    return (entries[first + (bit >> 6)] >> np.uint64(bit & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def set_bit(entries, first, offset):
    """Set the bit of position ``offset`` of the entry at word ``first``."""
    bit = offset + 32
    entries[first + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
