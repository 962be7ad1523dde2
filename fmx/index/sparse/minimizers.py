"""Minimizers: which k-mers of a text, or of a read, are the smallest of a window of w neighbours.

k-mers are compared by a hash of 32 bits that is the same for a k-mer and its reverse complement (ntHash,
Mohamadi et al. 2016): the bits of each base, rotated by its place, exclusive or; of both strands, added.  All
of the smallest ones of a window count, so that both strands of a text have the same minimizers.

Nothing is rolled: hashes of 2p symbols come of two of p, and minima of 2p places of two of p, for 32 places
at a time.
"""

from ...compiler.functions import inlined
from ...compiler.simd import (
    LANES,
    choose,
    codes,
    differ,
    equal_bits,
    fill,
    least,
    load,
    maximum,
    minimum,
    plus,
    rotate,
    store,
)
from ...input.dna import WORD, symbols
from .table import MAX_W

SPAN = 1024  # symbols that are hashed together
_WIDTH = SPAN + 4 * MAX_W
_HASH, _FORWARD, _REVERSE, _OTHER = 0, _WIDTH, 2 * _WIDTH, 3 * _WIDTH
ROOM = 4 * _WIDTH  # int32 that compiled code here is given
_A, _C, _G, _T = 0x3C8BFBB3, 0x1CB6E4A9, 0x6C53A7E1, 0x5B9D2F47
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
        v = codes(symbols(words, first, start + i, WORD))
        store(room, _FORWARD + i, choose(v, zero, a, choose(v, one, c, choose(v, two, g, t))))
        store(room, _REVERSE + i, choose(v, zero, t, choose(v, one, g, choose(v, two, c, a))))
    p, done = 1, 0
    while p <= k:
        if k & p:
            _append(room, size, p, done)
            done += p
        p *= 2
        if p <= k:
            _double(room, size, p // 2)
    for i in range(0, size, LANES):
        store(room, _HASH + i, plus(load(room, _HASH + i), load(room, _OTHER + i)))


@inlined
def _append(room, size, p, done):
    """Hashes of ``done`` symbols become those of p more, by the hashes of p."""
    for i in range(0, size, LANES):
        forward, reverse = load(room, _FORWARD + i + done), load(room, _REVERSE + i + done)
        if done:
            forward = differ(forward, rotate(load(room, _HASH + i), p))
            reverse = differ(load(room, _OTHER + i), rotate(reverse, done))
        store(room, _HASH + i, forward)
        store(room, _OTHER + i, reverse)


@inlined
def _double(room, size, p):
    """Hashes of p symbols become those of 2p."""
    for i in range(0, size, LANES):
        forward = differ(rotate(load(room, _FORWARD + i), p), load(room, _FORWARD + i + p))
        reverse = differ(load(room, _REVERSE + i), rotate(load(room, _REVERSE + i + p), p))
        store(room, _FORWARD + i, forward)
        store(room, _REVERSE + i, reverse)


@inlined
def find_minimizers(room, n, w):
    """Note which of n hashed k-mers are the smallest of a window of w among them (``minimizers``)."""
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
        store(room, i, minimum(load(room, i), load(room, i + p)))


@inlined
def _most_of_two(room, base, n, p):
    for i in range(base, base + n, LANES):
        store(room, i, maximum(load(room, i), load(room, i + p)))


@inlined
def minimizers(room, i, w):
    """A uint32: bit j is set where k-mer i + j of those hashed is the smallest of a window."""
    return equal_bits(load(room, _HASH + i), load(room, _FORWARD + MAX_W + i - w + 1))


@inlined
def smallest(room, n):
    """The smallest hash of the n first k-mers; those after them count as larger from now on."""
    store(room, _HASH + n, fill(room, _HIGH))
    v = load(room, _HASH)
    for i in range(LANES, n, LANES):
        v = minimum(v, load(room, _HASH + i))
    return least(v)


@inlined
def having(room, i, x):
    """A uint32: bit j is set where the hash of k-mer i + j is x."""
    return equal_bits(load(room, _HASH + i), fill(room, x))
