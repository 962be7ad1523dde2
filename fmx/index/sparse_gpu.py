"""For searches with a sparse index on a GPU: smallest k-mers, by the same hashes as sparse.smallest_kmers.

The hash of the next k-mer is the last one, rotated, and changed by the base that enters and the base that
leaves.  A table of 16 numbers has the change for each pair of bases, for both strands at once.
"""

import numpy as np

from ..compiler.primitives import at
from ..compiler.warp import device
from .sparse import BASES

N_STEPS = 16


def make_steps(k: int) -> np.ndarray:
    """Return the steps of k-mers, uint64[N_STEPS + 1]: how hashes change if base e enters and g leaves.

    The step is at e | g << 2, with the forward strand in the high half; the last element has the hashes of k
    times A.  In the functions below, ``room`` has its first N_STEPS numbers, in shared memory.
    """
    steps, begin = np.empty(N_STEPS + 1, np.uint64), 0
    for bases in range(N_STEPS):
        enters, leaves = bases & 3, bases >> 2
        forward = BASES[enters] ^ _rotated(BASES[leaves], k)
        reverse = _rotated(BASES[3 - enters], k - 1) ^ _rotated(BASES[3 - leaves], 31)
        steps[bases] = forward << 32 | reverse
    for i in range(k):
        begin ^= _rotated(BASES[0], i) << 32 | _rotated(BASES[3], i)
    steps[N_STEPS] = begin
    return steps


def _rotated(x: int, n: int) -> int:
    n %= 32
    return (x << n | x >> (32 - n)) & 0xFFFFFFFF


@device
def _next_hashes(room, forward, reverse, bases):
    """Advance both hashes by one base."""
    step = at(room, bases)
    forward = np.uint32(np.uint32(forward << np.uint32(1)) | np.uint32(forward >> np.uint32(31)))
    reverse = np.uint32(np.uint32(reverse << np.uint32(31)) | np.uint32(reverse >> np.uint32(1)))
    return np.uint32(forward ^ np.uint32(step >> np.uint64(32))), np.uint32(reverse ^ np.uint32(step))


@device
def _try_two(room, state, bases, shift, place):
    """Advance by two bases and compare each k-mer: (forward, reverse, smallest, its place)."""
    forward, reverse, best, best_place = state
    for_first, for_second = bases
    forward, reverse = _next_hashes(room, forward, reverse, (for_first >> shift) & np.uint32(15))
    best, best_place = _better(forward, reverse, place, best, best_place)
    forward, reverse = _next_hashes(room, forward, reverse, (for_second >> shift) & np.uint32(15))
    best, best_place = _better(forward, reverse, np.int32(place + 1), best, best_place)
    return forward, reverse, best, best_place


@device
def _better(forward, reverse, place, best, best_place):
    """Return (the smaller one of a k-mer's hash and the best one so far, its place)."""
    kmer = np.int32(np.uint32(forward + reverse))
    if kmer < best:
        return kmer, place
    return best, best_place


@device
def _in_turn(enters, leaves):
    """Return the 16 bases that enter and leave, by steps: (of the first of each two, of the second)."""
    low, high = np.uint32(0x33333333), np.uint32(0xCCCCCCCC)
    first = np.uint32(np.uint32(np.uint32(enters >> np.uint32(2)) & low) | np.uint32(leaves & high))
    second = np.uint32(np.uint32(enters & low) | np.uint32(np.uint32(leaves << np.uint32(2)) & high))
    return first, second


@device
def _half(words, first, i):
    """Return the 16 symbols from 16i on of the packed string at word ``first``."""
    return np.uint32(at(words, first + (i >> 1)) >> np.uint64(0 if i & 1 else 32))


@device
def _begin(k, steps, room, words, first, half):
    """Return the hashes (forward, reverse) of an A and k - 1 symbols of a string, from 16 * ``half`` on."""
    word = np.uint64(_half(words, first, half)) << np.uint64(32) | np.uint64(_half(words, first, half + 1))
    n, i = k - 1, np.int64(0)
    forward, reverse = np.uint32(steps[N_STEPS] >> np.uint64(32)), np.uint32(steps[N_STEPS])
    if n >= 16:
        one, two = _in_turn(np.uint32(word >> np.uint64(32)), np.uint32(0))
        for by in range(28, -4, -4):
            shift = np.uint32(by)
            forward, reverse = _next_hashes(room, forward, reverse, (one >> shift) & np.uint32(15))
            forward, reverse = _next_hashes(room, forward, reverse, (two >> shift) & np.uint32(15))
        word, i = word << np.uint64(32), np.int64(16)
    while i < n:
        forward, reverse = _next_hashes(room, forward, reverse, np.uint32(word >> np.uint64(62)))
        word, i = word << np.uint64(2), i + 1
    return forward, reverse


@device
def smallest_kmer(k, steps, room, words, first, begin, n):
    """Return how far after symbol 16 * ``begin`` the first smallest of the n k-mers from there on begins."""
    last = np.uint32(0)
    ahead, shift = (k - 1) >> 4, np.uint64(2 * ((k - 1) & 15))
    forward, reverse = _begin(k, steps, room, words, first, begin)
    state = forward, reverse, np.int32(2**31 - 1), np.int32(0)
    next_half = _half(words, first, begin + ahead)
    # 16 k-mers per round: the bases that enter and leave, then two steps at a time.
    for i in range((n + 15) >> 4):
        half, enters = _half(words, first, begin + i), np.uint64(next_half) << np.uint64(32)
        next_half = _half(words, first, begin + i + 1 + ahead)
        enters = np.uint32(((enters | np.uint64(next_half)) << shift) >> np.uint64(32))
        leaves = np.uint32(np.uint32(last << np.uint32(30)) | np.uint32(half >> np.uint32(2)))
        last, place, bases = half, np.int32(16 * i), _in_turn(enters, leaves)
        if 16 * i + 16 <= n:
            best_place, state = state[3], (state[0], state[1], state[2], np.int32(-1))
            for j in range(8):
                state = _try_two(room, state, bases, np.uint32(28 - 4 * j), np.int32(2 * j))
            best_place = np.int32(place + state[3]) if state[3] >= 0 else best_place
            state = state[0], state[1], state[2], best_place
        else:
            # The last round has fewer k-mers.
            forward, reverse, best, best_place = state
            for j in range(n - 16 * i):
                pair = bases[1] if j & 1 else bases[0]
                pair = (pair >> np.uint32(28 - 4 * (j >> 1))) & np.uint32(15)
                forward, reverse = _next_hashes(room, forward, reverse, pair)
                best, best_place = _better(forward, reverse, np.int32(place + j), best, best_place)
            state = forward, reverse, best, best_place
    return np.int64(state[3])
