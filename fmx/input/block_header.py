"""The header of a block of deflate (RFC 1951, section 3.2.7): its codes, and where one may begin."""

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import load_little_endian
from . import huffman
from .huffman import HELD, INVALID, KIND


@inlined
def peek(data, bit):
    """57 bits or more, the next one lowest."""
    return np.int64(load_little_endian(data, bit >> 3) >> np.uint64(bit & 7))


@inlined
def read_lengths(data, bit, codes):
    """Read the lengths of codes that a dynamic block begins with: the bit after them, or -1."""
    word = peek(data, bit)
    n_literals, n_distances, n_lengths = (word & 31) + 257, (word >> 5 & 31) + 1, (word >> 10 & 15) + 4
    if n_literals > huffman.N_LITERALS or n_distances > huffman.N_DISTANCES:
        return -1
    bit += 14
    word, code = peek(data, bit), codes.lengths
    for i in range(19):
        code.lengths[codes.order[i]] = (word >> (3 * i)) & 7 if i < n_lengths else 0
    bit += 3 * n_lengths
    if not huffman.is_sound(code, huffman.count_lengths(code)):
        return -1
    huffman.fill(code, 7)
    n, before = 0, 0
    while n < n_literals + n_distances:
        word = peek(data, bit)
        entry = code.table[word & 127]
        if entry >> KIND == INVALID:
            return -1
        bits, symbol = entry & 31, entry >> HELD
        times = 1
        if symbol < 16:
            before = symbol
        else:
            more = word >> bits
            if symbol == 16:
                if n == 0:
                    return -1
                times, bits = 3 + (more & 3), bits + 2
            elif symbol == 17:
                times, bits, before = 3 + (more & 7), bits + 3, 0
            else:
                times, bits, before = 11 + (more & 127), bits + 7, 0
        bit += bits
        if n + times > n_literals + n_distances:
            return -1
        for _ in range(times):
            codes.both[n] = before
            n += 1
    for i in range(codes.literals.lengths.size):
        codes.literals.lengths[i] = codes.both[i] if i < n_literals else 0
    for i in range(codes.distances.lengths.size):
        codes.distances.lengths[i] = codes.both[n_literals + i] if i < n_distances else 0
    return bit


@inlined
def are_sound(codes):
    """Are these lengths those of codes?  Counts them."""
    literals, distances = codes.literals, codes.distances
    if literals.lengths[huffman.END_OF_BLOCK] == 0:
        return False
    if not huffman.is_sound(literals, huffman.count_lengths(literals)):
        return False
    return huffman.is_sound(distances, huffman.count_lengths(distances))


@inlined
def take_codes(codes):
    """Fill the tables of a block from the lengths of its codes; False if they are no codes."""
    if not are_sound(codes):
        return False
    literals, distances = codes.literals, codes.distances
    huffman.fill(literals, huffman.LITERAL_BITS)
    huffman.join_literals(literals.table, huffman.LITERAL_BITS)
    huffman.fill(distances, huffman.DISTANCE_BITS)
    return True


@inlined
def take_fixed_lengths(codes):
    for i in range(288):
        codes.literals.lengths[i] = 8 if i < 144 else 9 if i < 256 else 7 if i < 280 else 8
    for i in range(32):
        codes.distances.lengths[i] = 5


@compiled
def find_block(data, bit, stop, codes):
    """The first bit from ``bit`` to ``stop`` where a dynamic block, not the last, seems to begin; or -1."""
    for at in range(bit, stop):
        word = peek(data, at)
        if word & 7 == 4 and word >> 3 & 31 < 30 and word >> 8 & 31 < 30:
            n, lengths, room = (word >> 13 & 15) + 4, peek(data, at + 17), 0
            for i in range(n):
                length = (lengths >> (3 * i)) & 7
                room += (1 << (7 - length)) if length else 0
            if room == 128 and read_lengths(data, at + 3, codes) > 0:
                literals, distances = codes.literals, codes.distances
                is_whole = literals.lengths[huffman.END_OF_BLOCK] and huffman.count_lengths(literals) == 0
                if is_whole and huffman.is_sound(distances, huffman.count_lengths(distances)):
                    return at
    return -1
