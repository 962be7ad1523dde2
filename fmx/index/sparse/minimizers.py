"""Minimizers: the k-mers of a text or a read that are the smallest in a window of w neighbours.

k-mers are compared by a 32-bit hash that is equal for a k-mer and its reverse complement (ntHash, Mohamadi et
al. 2016): the bits of each base, rotated by its place, combined by exclusive or; the hashes of both strands
are added.  All k-mers with the smallest hash of a window count, so both strands of a text have the same
minimizers.

Nothing is rolled: hashes of 2p symbols are made from two of p, and minima of 2p places from two of p, for 32
places at a time.
"""

import numpy as np

from ...compiler import simd
from ...compiler.functions import inlined
from ...compiler.simd import LANES, fill, load, store
from ...input.dna import WORD, symbols
from ..layouts import MAX_W

SPAN = 1024  # symbols that are hashed together
_WIDTH = SPAN + 4 * MAX_W
_HASH, _FORWARD, _REVERSE, _OTHER = 0, _WIDTH, 2 * _WIDTH, 3 * _WIDTH
ROOM = 4 * _WIDTH  # int32 of working memory for the compiled code here
_A, _C, _G = 0x3C8BFBB3, 0x1CB6E4A9, 0x6C53A7E1  # bits of the bases
_T = _A ^ _C ^ _G
BASES = _A, _C, _G, _T
_LOW, _HIGH = -(2**31), 2**31 - 1


@inlined
def hash_kmers(words, first, start, n, k, room):
    """Hash the n k-mers from symbol ``start`` of the packed string at word ``first``.

    n + k - 1 is at most SPAN.
    """
    size = n + k - 1
    a, c, g, t = fill(room, _A), fill(room, _C), fill(room, _G), fill(room, _T)
    zero, one, two = fill(room, 0), fill(room, 1), fill(room, 2)
    for i in range(0, size, LANES):
        v = simd.codes(symbols(words, first, start + i, WORD))
        store(room, _FORWARD + i, simd.choose(v, zero, a, simd.choose(v, one, c, simd.choose(v, two, g, t))))
        store(room, _REVERSE + i, simd.choose(v, zero, t, simd.choose(v, one, g, simd.choose(v, two, c, a))))
    p, done = 1, 0
    while p <= k:
        if k & p:
            # Extend the hashes of ``done`` symbols by p more.
            for i in range(0, size, LANES):
                forward, reverse = load(room, _FORWARD + i + done), load(room, _REVERSE + i + done)
                if done:
                    forward = simd.differ(forward, simd.rotate(load(room, _HASH + i), p))
                    reverse = simd.differ(load(room, _OTHER + i), simd.rotate(reverse, done))
                store(room, _HASH + i, forward)
                store(room, _OTHER + i, reverse)
            done += p
        p *= 2
        if p <= k:
            _double(room, size, p // 2)
    for i in range(0, size, LANES):
        store(room, _HASH + i, simd.plus(load(room, _HASH + i), load(room, _OTHER + i)))


@inlined
def _double(room, size, p):
    """Turn hashes of p symbols into those of 2p."""
    for i in range(0, size, LANES):
        forward = simd.differ(simd.rotate(load(room, _FORWARD + i), p), load(room, _FORWARD + i + p))
        reverse = simd.differ(load(room, _REVERSE + i), simd.rotate(load(room, _REVERSE + i + p), p))
        store(room, _FORWARD + i, forward)
        store(room, _REVERSE + i, reverse)


@inlined
def find_minimizers(room, n, w):
    """Mark which of n hashed k-mers are the smallest of a window of w among them (``minimizers``)."""
    base, n_windows = _FORWARD + MAX_W, n - w + 1
    for i in range(0, n, LANES):
        store(room, base + i, load(room, _HASH + i))
    p = 1
    while 2 * p <= w:
        _least_of_two(room, base, n_windows + w, p)
        p *= 2
    if p < w:
        _least_of_two(room, base, n_windows, w - p)
    for i in range(_FORWARD, base, LANES):
        store(room, i, fill(room, _LOW))
    for i in range(base + n_windows, base + n + MAX_W, LANES):
        store(room, i, fill(room, _LOW))
    p = 1
    while 2 * p <= w:
        _most_of_two(room, base - w + 1, n + w, p)
        p *= 2
    if p < w:
        _most_of_two(room, base - w + 1, n, w - p)


@inlined
def _least_of_two(room, base, n, p):
    for i in range(base, base + n, LANES):
        store(room, i, simd.minimum(load(room, i), load(room, i + p)))


@inlined
def _most_of_two(room, base, n, p):
    for i in range(base, base + n, LANES):
        store(room, i, simd.maximum(load(room, i), load(room, i + p)))


@inlined
def minimizers(room, i, w):
    """Return a uint32: bit j is set if k-mer i + j of those hashed is the smallest of a window."""
    return simd.equal_bits(load(room, _HASH + i), load(room, _FORWARD + MAX_W + i - w + 1))


@inlined
def smallest_kmers(words, first, start, k, w, room):
    """Find, in LANES packed strings at words first[i], the smallest of the w k-mers from symbol start[i] on.

    One lane per string, symbol by symbol; room[i] gets its number, 0 to w - 1, the first one if there are
    several.
    """
    both = fill(room, _C ^ _G)
    forward, reverse, place = fill(room, 0), fill(room, 0), fill(room, 0)
    best, entering = fill(room, _HIGH), fill(room, 0)
    for i in range(k + w - 1):
        if i & 15 == 0:  # the next 16 symbols, the first in the highest bits
            for lane in range(LANES):
                room[lane] = np.int32(np.uint32(symbols(words, first[lane], start[lane] + i, 16)))
            entering = load(room, 0)
        high = simd.common(simd.signs(entering), fill(room, _A ^ _G))
        low = simd.common(simd.signs(simd.shifted(entering, 1)), fill(room, _A ^ _C))
        added = simd.differ(simd.differ(high, low), fill(room, _A))
        entering = simd.shifted(entering, 2)
        store(room, LANES * (i + 1), added)
        forward = simd.differ(simd.rotate(forward, 1), added)
        added = simd.rotate(simd.differ(added, both), k - 1)
        if i < k:
            reverse = simd.differ(simd.rotate(reverse, 31), added)
        else:
            gone = load(room, LANES * (i + 1 - k))
            forward = simd.differ(forward, simd.rotate(gone, k))
            reverse = simd.differ(simd.rotate(simd.differ(reverse, simd.differ(gone, both)), 31), added)
        if i >= k - 1:
            x = simd.plus(forward, reverse)
            smaller = simd.minimum(best, x)
            place = simd.choose(smaller, best, place, fill(room, i - k + 1))
            best = smaller
    store(room, 0, place)
