"""A random text and its index arrays, made on a GPU in seconds: nothing is read from disk.

The text is n random bases and a separator.  Its suffixes are dealt into buckets by their first 13 symbols
(or fewer), a dozen or so in each, and sorted by insertion: fast because the text is random.
"""

from typing import NamedTuple

import numpy as np

from .. import jit_device
from ..dna import symbols
from ..jit import inlined
from ..jit_warp import atomic_add, kernel, thread_index
from ..layouts.cofi import HOLE, Cofi
from ..prefix_table import PrefixTable
from ..reads import Patterns
from ..reference import make_blocks
from ..seed_table import SeedTable

N_THREADS = 256
_BUCKET = 13


class DeviceText(NamedTuple):
    """On the device: ``words`` the packed text; ``sa`` uint32[n + 1]; ``keys`` uint64[n + 1], the first 32
    symbols of each row, padded with A; ``n`` bases."""

    words: object
    sa: object
    keys: object
    n: int


def launch(function, n, *arguments, stream=0):
    """Run a kernel with one thread for each of n things."""
    function[-(-n // N_THREADS), N_THREADS, stream](*arguments)


@inlined
def scramble(x):
    """A random-looking word for each word (splitmix64)."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def below(x, n):
    """A number from 0 to n - 1 (n < 2^32) from a random word."""
    return np.int64(((x >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def random_words_kernel(words, seed, n):
    i = thread_index()
    if i < words.size:
        word = scramble(scramble(seed) ^ np.uint64(i))
        end = n - 32 * i  # symbols of the text in this word
        if end <= 0:
            word = np.uint64(0)
        elif end < 32:
            word = (word >> np.uint64(64 - 2 * end)) << np.uint64(64 - 2 * end)
        words[i] = word


@kernel
def deal_kernel(words, n, q, cursor, sa, keys):
    """Put suffixes into buckets; with arrays of one element, only count."""
    i = thread_index()
    if i < n:
        slot = np.int64(atomic_add(cursor, np.int64(symbols(words, 0, i, q)), np.uint32(1)))
        if sa.size > 1:
            sa[slot] = i
            keys[slot] = symbols(words, 0, i, 32)


@inlined
def _sorts_before(words, n, key, i, other_key, j):
    """Whether suffix i sorts before suffix j; keys are their first 32 symbols."""
    while key == other_key:
        i += 32
        j += 32
        if i >= n or j >= n:
            return i > j
        key, other_key = symbols(words, 0, i, 32), symbols(words, 0, j, 32)
    return key < other_key


@kernel
def sort_buckets_kernel(words, n, ends, sa, keys):
    """``ends`` uint32: the end of each bucket; a thread sorts a bucket."""
    bucket = thread_index()
    if bucket < ends.size:
        first = np.int64(ends[bucket - 1]) if bucket > 0 else np.int64(1)
        for slot in range(first + 1, np.int64(ends[bucket])):
            key, suffix, to = keys[slot], np.int64(sa[slot]), slot
            while to > first and _sorts_before(words, n, key, suffix, keys[to - 1], np.int64(sa[to - 1])):
                keys[to], sa[to] = keys[to - 1], sa[to - 1]
                to -= 1
            keys[to], sa[to] = key, suffix


def random_text(n, seed=1) -> DeviceText:
    """A random text of n bases and its suffix array, on the device."""
    words = jit_device.empty(-(-n // 32) + 3, np.uint64)
    launch(random_words_kernel, words.size, words, np.uint64(seed), np.int64(n))
    q = min(_BUCKET, max(1, (n.bit_length() - 3) // 2))
    cursor, nothing = jit_device.zeros(4**q, np.uint32), jit_device.empty(1, np.uint64)
    launch(deal_kernel, n, words, n, q, cursor, nothing, nothing)
    ends = np.cumsum(jit_device.to_host(cursor), dtype=np.uint32) + np.uint32(1)  # row 0 is the separator's
    starts = np.concatenate([np.ones(1, np.uint32), ends[:-1]])
    cursor = jit_device.to_device(starts)
    sa, keys = jit_device.empty(n + 1, np.uint32), jit_device.empty(n + 1, np.uint64)
    launch(deal_kernel, n, words, n, q, cursor, sa, keys)
    launch(sort_buckets_kernel, 4**q, words, n, jit_device.to_device(ends), sa, keys)
    launch(first_row_kernel, 1, sa, keys, n)
    jit_device.synchronize()
    return DeviceText(words, sa, keys, n)


@kernel
def first_row_kernel(sa, keys, n):
    if thread_index() == 0:
        sa[0] = n
        keys[0] = 0


@kernel
def unpack_kernel(words, text, n):
    i = thread_index()
    if i < text.size:
        text[i] = symbols(words, 0, i, 1) + np.uint64(1) if i < n else np.uint64(0)


def text_codes(text) -> np.ndarray:
    """The text as the builders of layouts take it: uint8[n + 1], separator 0."""
    codes = jit_device.empty(text.n + 1, np.uint8)
    launch(unpack_kernel, text.n + 1, text.words, codes, text.n)
    return jit_device.to_host(codes)


@inlined
def _is_whole(sa, row, n, length):
    return np.int64(sa[row]) + length <= n


@kernel
def level_kernel(keys, sa, n, length, base, pairs):
    """The interval of every string of ``length`` symbols that occurs, into pairs from pair ``base`` on."""
    row = thread_index()
    if row <= n and _is_whole(sa, row, n, length):
        shift = np.uint64(64 - 2 * length)
        here = keys[row] >> shift
        pair = base + np.int64(here)
        if row == 0 or not _is_whole(sa, row - 1, n, length) or keys[row - 1] >> shift != here:
            pairs[2 * pair] = row
        if row == n or not _is_whole(sa, row + 1, n, length) or keys[row + 1] >> shift != here:
            pairs[2 * pair + 1] = row + 1


def make_prefix_table(text, q) -> PrefixTable:
    """The prefix table on the device; strings that do not occur have the interval (0, 0)."""
    pairs = jit_device.zeros(2 * ((4 ** (q + 1) - 1) // 3), np.uint32)
    for length in range(1, q + 1):
        base = (4**length - 1) // 3
        launch(level_kernel, text.n + 1, text.keys, text.sa, text.n, length, base, pairs)
    launch(whole_text_kernel, 1, pairs, text.n)
    return PrefixTable(pairs, q)


@kernel
def whole_text_kernel(pairs, n):
    if thread_index() == 0:
        pairs[0], pairs[1] = 0, n + 1


@inlined
def _last_string(keys, sa, row, n, s):
    """The last string of s symbols that does not sort after a row."""
    code = np.int64(keys[row] >> np.uint64(64 - 2 * s))
    return code if _is_whole(sa, row, n, s) else code - 1


@kernel
def starts_kernel(keys, sa, n, s, starts):
    row = thread_index()
    if row <= n:
        previous = _last_string(keys, sa, row - 1, n, s) if row > 0 else np.int64(-1)
        last = _last_string(keys, sa, row, n, s)
        for code in range(previous + 1, last + 1):
            starts[code] = row
        if row == n:
            for code in range(last + 1, starts.size):
                starts[code] = n + 1


def make_seed_table(text, s) -> SeedTable:
    """The seed table on the device."""
    starts = jit_device.empty(4**s + 1, np.uint32)
    launch(starts_kernel, text.n + 1, text.keys, text.sa, text.n, s, starts)
    return SeedTable(starts, s)


@kernel
def invert_kernel(sa, row_of):
    row = thread_index()
    if row < sa.size:
        row_of[sa[row]] = row


@kernel
def changes_kernel(sa, row_of, n, k, changes):
    row = thread_index()
    if row < sa.size:
        position = np.int64(sa[row])
        changes[row] = np.int64(row_of[position + k]) if position + k <= n else HOLE + n - position


def make_cofi(text, k) -> Cofi:
    """COFI on the device."""
    row_of, changes = (jit_device.empty(text.n + 1, np.uint32) for _ in range(2))
    launch(invert_kernel, text.n + 1, text.sa, row_of)
    launch(changes_kernel, text.n + 1, text.sa, row_of, text.n, k, changes)
    return Cofi(make_seed_table(text, k).starts, changes, k)


@kernel
def patterns_kernel(words, n, seed, length, patterns, positions):
    i = thread_index()
    if i < patterns.length.size:
        position = below(scramble(seed ^ scramble(i)), n - length)
        positions[i] = position
        n_words = (length + 31) >> 5
        patterns.first[i] = i * n_words
        patterns.length[i] = length
        for word in range(n_words):
            k = min(length - 32 * word, 32)
            found = symbols(words, 0, position + 32 * word, k)
            patterns.words[i * n_words + word] = found << np.uint64(64 - 2 * k)


def make_patterns(text, n_patterns, length, seed=7):
    """(Patterns, their positions) drawn from the text, on the device."""
    n_words = -(-length // 32)
    patterns = Patterns(
        jit_device.empty(n_patterns * n_words + 1, np.uint64),
        jit_device.empty(n_patterns, np.int64),
        jit_device.empty(n_patterns, np.int64),
    )
    positions = jit_device.empty(n_patterns, np.uint32)
    arguments = (text.words, text.n, np.uint64(seed), length, patterns, positions)
    launch(patterns_kernel, n_patterns, *arguments)
    return patterns, positions


@kernel
def check_kernel(sa, words, patterns, positions, intervals, wrong):
    """Count the patterns whose interval is empty, begins elsewhere, or lacks where they were taken from."""
    i = thread_index()
    if i < patterns.length.size:
        lo, hi, found = np.int64(intervals.lo[i]), np.int64(intervals.hi[i]), False
        for row in range(lo, min(hi, lo + 64)):
            found = found or sa[row] == positions[i]
        if not found:
            atomic_add(wrong, 0, np.uint32(1))


def count_wrong(text, patterns, positions, intervals) -> int:
    """Number of patterns whose interval does not hold the row they were taken from."""
    wrong = jit_device.zeros(1, np.uint32)
    launch(check_kernel, positions.size, text.sa, text.words, patterns, positions, intervals, wrong)
    return int(jit_device.to_host(wrong)[0])


def blocks_of(n):
    """The blocks of a text of one contig."""
    zero = np.zeros(1, np.int64)
    return make_blocks(zero, zero, zero, np.array([n], np.int64))
