"""Huffman codes on a GPU, from the counts of each literal, length and distance in a block.

Code lengths: rank the symbols by count; join nodes from two queues, of symbols and of joined nodes (van
Leeuwen, 1976), by one thread; compute the depth of each symbol; where it exceeds the limit of deflate,
lengthen the codes of the next deepest symbols to make room.  Rare symbols get the longest codes.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.cuda import int32
from ..compiler.warp import WARP, atomic_add, cuda, device, kernel, sync_block, take_across, thread_in_block
from .bgzf import BLOCK, HEAD, STORED, TAIL
from .crc32_gpu import LOW, power, product
from .huffman import END_OF_BLOCK, MOST_BITS, N_LITERALS
from .lz77_gpu import N_COUNTS, N_SECTIONS, SECTION

N_THREADS = 128
N_LENGTHS, SHORT = 19, 7  # symbols of the code of lengths, and most bits of each
N_SYMBOLS = N_COUNTS + N_LENGTHS  # literals and lengths, distances, lengths of their codes
CHECK, HEAD_BITS, N_CODES = N_SYMBOLS, N_SYMBOLS + 1, N_SYMBOLS + 2
FIXED_BITS = 17 + 3 * N_LENGTHS  # of the header of a dynamic block, before the lengths
_N_NODES, _N_OF, _NONE = 2 * N_LITERALS, MOST_BITS + 1, (1 << 31) - 1


class BlockCodes(NamedTuple):
    """The codes of n blocks.  ``codes`` uint32[n * N_CODES]: for each literal or length, each distance, and
    each length of these codes, the bits as written, and their number << 16; 0 if it does not occur.  At
    CHECK: the CRC-32.  At HEAD_BITS: bits before the first token; all codes of a stored block are 0.

    ``stops`` int64[n + 1]: bytes of the BGZF blocks, then their prefix sums.
    """

    codes: np.ndarray
    stops: np.ndarray


class _CodeRoom(NamedTuple):
    """Shared memory, int32.  ``counts`` of all symbols; ``lengths`` of their codes.

    For the symbols of one code that occur, in order: ``order``, their numbers; ``weights``, their counts and
    then those of joined nodes; ``parents``, the node that each was joined to; ``n_of``: codes of each length.
    """

    counts: np.ndarray
    lengths: np.ndarray
    order: np.ndarray
    weights: np.ndarray
    parents: np.ndarray
    n_of: np.ndarray


@kernel
def codes_kernel(tokens, n_bytes, made):
    """Compute the BlockCodes of blocks, ``n_bytes`` in total, by N_THREADS each.

    One thread joins the nodes and repairs the lengths.
    """
    own, n_threads, b = thread_in_block(), np.int64(cuda.blockDim.x), np.int64(cuda.blockIdx.x)
    counts = cuda.shared.array(N_SYMBOLS, int32)
    lengths = cuda.shared.array(N_SYMBOLS, int32)
    order = cuda.shared.array(N_LITERALS, int32)
    weights = cuda.shared.array(_N_NODES, int32)
    parents = cuda.shared.array(_N_NODES, int32)
    n_of = cuda.shared.array(_N_OF, int32)
    bits = cuda.shared.array(2, int32)  # of what comes before the tokens, and of the tokens
    room = _CodeRoom(counts, lengths, order, weights, parents, n_of)
    n, codes = min(n_bytes - b * BLOCK, BLOCK), made.codes[b * N_CODES : (b + 1) * N_CODES]
    for i in range(own, N_SYMBOLS, n_threads):
        counts[i] = tokens.counts[b * N_COUNTS + i] if i < N_COUNTS else 0
    if own < 2:
        bits[own] = 8 * HEAD + FIXED_BITS if own == 0 else 0
    if own >= n_threads - WARP:
        check = _joined(tokens.sums, b, n, own % WARP)
        if own == n_threads - 1:
            codes[CHECK] = check
    sync_block()
    for code in range(3):
        first = 0 if code == 0 else N_LITERALS if code == 1 else N_COUNTS
        stop = N_LITERALS if code == 0 else N_COUNTS if code == 1 else N_SYMBOLS
        if code == 2:
            for i in range(own, N_COUNTS, n_threads):
                atomic_add(counts, N_COUNTS + lengths[i], np.int32(1))
            sync_block()
        _measure(room, first, stop, SHORT if code == 2 else MOST_BITS, own)
        for i in range(first + own, stop, n_threads):
            codes[i] = _code(room, first, i)
        sync_block()
    for i in range(own, N_SYMBOLS, n_threads):
        atomic_add(bits, 0 if i >= N_COUNTS else 1, np.int32(counts[i] * (lengths[i] + extra_bits(i))))
    sync_block()
    head, stored = np.int64(bits[0]), HEAD + STORED + n
    size = head + bits[1] + 7 >> 3
    if size >= stored:
        for i in range(own, N_COUNTS, n_threads):
            codes[i] = 0
        head, size = 8 * (HEAD + STORED), stored
    if own == 0:
        codes[HEAD_BITS], made.stops[b] = head, size + TAIL


@device
def extra_bits(i):
    """Return the bits after the code of symbol i: literals and lengths, then distances, then code lengths."""
    more = 0
    if i > END_OF_BLOCK + 8 and i < N_LITERALS - 1:
        more = (i - END_OF_BLOCK - 5) >> 2
    elif i >= N_LITERALS + 2 and i < N_COUNTS:
        more = ((i - N_LITERALS) >> 1) - 1
    return np.int32(more)


@device
def _joined(sums, b, n, lane):
    """Return in each lane of a warp the CRC-32 of block b of n bytes, from those of its sections."""
    after, found = max(n - (lane + 1) * SECTION, 0), 0
    if lane < N_SECTIONS:
        found = product(np.int64(sums[b * N_SECTIONS + lane]), power(after))
    for reach in (1, 2, 4, 8, 16):
        found ^= take_across(found, reach)
    return found ^ LOW


@device
def _measure(room, first, stop, most, own):
    """Fill ``lengths`` of symbols ``first`` to ``stop``, at most ``most`` bits each, and ``n_of``."""
    counts, n_used, n_threads = room.counts, 0, np.int64(cuda.blockDim.x)
    for i in range(first, stop):
        n_used += 1 if counts[i] > 0 else 0
    for i in range(first + own, stop, n_threads):
        this, rank = counts[i], 0
        for j in range(first, stop):
            other = counts[j]
            rank += 1 if other > 0 and (other < this or (other == this and j < i)) else 0
        if this > 0:
            room.order[rank], room.weights[rank] = i, this
        room.lengths[i] = 0
    if own <= MOST_BITS:
        room.n_of[own] = 0
    sync_block()
    if own == 0:
        _join(room.weights, room.parents, n_used)
    sync_block()
    for leaf in range(own, n_used, n_threads):
        depth, at = 0, leaf
        while at < 2 * n_used - 2:
            depth, at = depth + 1, np.int64(room.parents[at])
        atomic_add(room.n_of, min(max(depth, 1), most), np.int32(1))
    sync_block()
    if own == 0:
        _make_room(room.n_of, most)
    sync_block()
    for leaf in range(own, n_used, n_threads):
        bits, longer = most, room.n_of[most]
        while longer <= leaf:
            bits -= 1
            longer += room.n_of[bits]
        room.lengths[room.order[leaf]] = bits
    sync_block()


@device
def _join(weights, parents, n):
    """Join the two nodes of least weight until one is left.

    Sets ``parents`` of n symbols in order, and of the joined nodes after them.
    """
    leaf, node, none = 0, n, np.int32(_NONE)
    of_leaf, of_node = weights[0], none  # next symbol; next joined node
    for made in range(n, 2 * n - 1):
        total = np.int32(0)
        for _ in range(2):
            if of_leaf <= of_node:
                total, parents[leaf], leaf = np.int32(total + of_leaf), made, leaf + 1
                of_leaf = weights[leaf] if leaf < n else none
            else:
                total, parents[node], node = np.int32(total + of_node), made, node + 1
                of_node = weights[node] if node < made else none
        weights[made] = total
        of_node = total if node == made else of_node


@device
def _make_room(n_of, most):
    """Make code lengths fit the code space again after some were cut to ``most`` bits (as in miniz)."""
    taken = 0
    for bits in range(1, most + 1):
        taken += n_of[bits] << (most - bits)
    for _ in range(taken - (1 << most)):
        n_of[most] -= 1
        bits = most - 1
        while n_of[bits] == 0:
            bits -= 1
        n_of[bits] -= 1
        n_of[bits + 1] += 2


@device
def _code(room, first, i):
    """Return the canonical code of symbol i, of those from ``first`` on (RFC 1951, 3.2.2).

    The result has its bits, the first one lowest, and their number << 16.
    """
    bits, value, mirrored = room.lengths[i], np.int32(0), np.int32(0)
    if bits > 0:
        for shorter in range(1, bits):
            value = np.int32((value + room.n_of[shorter]) << 1)
        for j in range(first, i):
            value = np.int32(value + (1 if room.lengths[j] == bits else 0))
        for _ in range(bits):
            mirrored, value = np.int32(mirrored << 1 | value & 1), np.int32(value >> 1)
    return mirrored | bits << 16
