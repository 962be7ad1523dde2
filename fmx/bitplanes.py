"""Bit planes of k-symbols, cut so that 16 bytes hold all planes of a run of positions.

A lane (words a and b) holds 64, 32 or 21 positions for k = 1, 2, 3; plane p is bit p of the code:

    k = 1    a | plane 0: 64 positions           |    b | plane 1: 64 positions           |
    k = 2    a | plane 0: 32 | plane 1: 32       |    b | plane 2: 32 | plane 3: 32       |
    k = 3    a | plane 0: 21 | 1: 21 | 2: 21 | - |    b | plane 3: 21 | 4: 21 | 5: 21 | - |
               bit 0                       bit 63

k is a constant wherever these are called, so that its branches and shifts fold.
"""

import numpy as np

from .jit import at, inlined, low_bits, popcount

POSITIONS = (0, 64, 32, 21)  # in a lane, by k


@inlined
def spread(k, bits):
    """A word in which each of the k low bits of ``bits`` fills its plane."""
    x = np.uint64(bits)
    if k == 1:
        return (x & np.uint64(1)) * np.uint64(0xFFFFFFFFFFFFFFFF)
    if k == 2:
        return ((x & np.uint64(1)) | ((x & np.uint64(2)) << np.uint64(31))) * np.uint64(0xFFFFFFFF)
    planes = (
        (x & np.uint64(1)) | ((x & np.uint64(2)) << np.uint64(20)) | ((x & np.uint64(4)) << np.uint64(40))
    )
    return planes * np.uint64(0x1FFFFF)


@inlined
def matches(k, a, b, c):
    """A word in which bit i tells whether position i of a lane is c; bits from POSITIONS[k] on are noise."""
    x = ~(a ^ spread(k, c)) & ~(b ^ spread(k, c >> k))
    if k == 1:
        return x
    if k == 2:
        return x & (x >> np.uint64(32))
    return x & (x >> np.uint64(21)) & (x >> np.uint64(42))


@inlined
def count_before(k, a, b, c, stop):
    """Number of positions of a lane before ``stop`` that are c; stop may lie outside the lane."""
    n = POSITIONS[k]
    return popcount(matches(k, a, b, c) & low_bits(min(stop, n)))


@inlined
def code_at(k, a, b, position):
    """The code at a position of a lane."""
    code = np.int64(0)
    for p in range(k):
        shift = np.uint64(position + p * POSITIONS[k])
        code |= np.int64((a >> shift) & np.uint64(1)) << p
        code |= np.int64((b >> shift) & np.uint64(1)) << (k + p)
    return code


@inlined
def planes(k, code, position):
    """The bits (in words a and b of a lane) of a code at a position."""
    a, b = np.uint64(0), np.uint64(0)
    for p in range(k):
        shift = np.uint64(position + p * POSITIONS[k])
        a |= (np.uint64(code >> p) & np.uint64(1)) << shift
        b |= (np.uint64(code >> (k + p)) & np.uint64(1)) << shift
    return a, b


@inlined
def fill_run(k, codes, run_start, d, entries, word, counts, part):
    """Write the planes of the run of d rows from ``run_start``, from a word on, and count its codes.

    ``codes`` uint8[n], those from 4^k on (a row without k-symbol) are written as 0 and not counted.
    """
    n_positions = POSITIONS[k]
    for lane_start in range(run_start, min(run_start + d, codes.size), n_positions):
        a, b = np.uint64(0), np.uint64(0)
        for row in range(lane_start, min(lane_start + n_positions, codes.size)):
            code = np.int64(at(codes, row))
            if code < 1 << (2 * k):
                in_a, in_b = planes(k, code, row - lane_start)
                a |= in_a
                b |= in_b
                counts[part, code] += 1
        entries[word], entries[word + 1] = a, b
        word += 2
