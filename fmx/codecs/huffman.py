"""Huffman codes of deflate (RFC 1951, sections 3.2.2 to 3.2.7), as tables indexed by the next bits.

    entry      bit 0      5            9                       26
    literals   bits taken | 1 or 2     | one, and the other    | LITERALS
    length     bits taken | extra bits | length without them   | VALUE
    distance   bits taken | extra bits | distance without them | VALUE

An END entry is the code that ends a block.  A code with more bits than a table's index is LONG: it is decoded
bit by bit.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import load_little_endian

LITERAL_BITS, DISTANCE_BITS = 11, 10
MORE, FIELD, KIND = 5, 9, 26  # bit where each field begins
VALUE, LITERALS, END, LONG, INVALID = 0, 1, 2, 3, 4
N_LITERALS, N_DISTANCES, END_OF_BLOCK = 286, 30, 256
MOST_BITS = 15
ORDER = np.array([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15], np.int64)


def _with_extra_bits(first: int, bits: Sequence[int]) -> tuple:
    widths = np.array(bits, np.int64)
    return np.concatenate([[first], first + np.cumsum(1 << widths[:-1])]), widths


_LENGTH, _LENGTH_BITS = _with_extra_bits(3, [0] * 8 + [b for b in range(1, 6) for _ in range(4)])
_LENGTH, _LENGTH_BITS = np.append(_LENGTH, 258), np.append(_LENGTH_BITS, 0)
_DISTANCE, _DISTANCE_BITS = _with_extra_bits(1, [0, 0] + [b for b in range(14) for _ in range(2)])


class HuffmanCode(NamedTuple):
    """A canonical code: ``lengths`` uint8[n], bits of each symbol's code; ``table`` int32[1 << bits].

    ``n_of`` int64[16]: symbols of each length; ``symbols`` int64[n]: in code order; ``entry`` int64[n]: the
    table entry of each symbol, without the bits taken.
    """

    lengths: np.ndarray
    table: np.ndarray
    n_of: np.ndarray
    symbols: np.ndarray
    entry: np.ndarray


class Codes(NamedTuple):
    """The codes of a block.  ``order`` int64[19]: the order of the lengths of the code of lengths.

    ``both`` uint8[n]: all lengths.
    """

    literals: HuffmanCode
    distances: HuffmanCode
    lengths: HuffmanCode
    order: np.ndarray
    both: np.ndarray


def _make_code(n: int, bits: int, entry: np.ndarray) -> HuffmanCode:
    lengths, table, symbols = np.zeros(n, np.uint8), np.zeros(1 << bits, np.int32), np.zeros(n, np.int64)
    return HuffmanCode(lengths, table, np.zeros(16, np.int64), symbols, entry)


def make_codes() -> Codes:
    """Allocate codes that one thread fills for one block after another."""
    lengths = VALUE << KIND | _LENGTH << FIELD | _LENGTH_BITS << MORE
    letters, no_symbols = LITERALS << KIND | np.arange(256) << FIELD | 1 << MORE, [INVALID << KIND] * 2
    distances = VALUE << KIND | _DISTANCE << FIELD | _DISTANCE_BITS << MORE
    return Codes(
        _make_code(288, LITERAL_BITS, np.concatenate([letters, [END << KIND], lengths, no_symbols])),
        _make_code(32, DISTANCE_BITS, np.append(distances, no_symbols)),
        _make_code(19, 7, np.arange(19) << FIELD),
        ORDER, np.zeros(288 + 32, np.uint8),
    )  # fmt: skip


@inlined
def count_lengths(code):
    """Count ``n_of``; return the unused code space in units of 2^-15, negative if oversubscribed."""
    for bits in range(16):
        code.n_of[bits] = 0
    for symbol in range(code.lengths.size):
        code.n_of[code.lengths[symbol]] += 1
    left = 1
    for bits in range(1, 16):
        left = 2 * left - code.n_of[bits]
        if left < 0:
            return left
    return left


@inlined
def is_sound(code, left):
    """Return whether a code is complete, or has one symbol of one bit, or no symbol."""
    n = code.lengths.size - code.n_of[0]
    return left == 0 or n == 0 or (n == 1 and code.n_of[1] == 1)


@inlined
def fill(code, bits):
    """Fill ``symbols`` and the ``table`` of a code, which is indexed by ``bits`` bits."""
    table, at, value = code.table, 0, 0
    for i in range(table.size):
        table[i] = INVALID << KIND
    for length in range(1, 16):
        value <<= 1
        if code.n_of[length] > 0:
            for symbol in range(code.lengths.size):
                if code.lengths[symbol] == length:
                    code.symbols[at] = symbol
                    at += 1
                    reverse, rest = 0, value
                    for _ in range(length):
                        reverse, rest = reverse << 1 | rest & 1, rest >> 1
                    if length <= bits:
                        entry = np.int32(code.entry[symbol] | length)
                        for i in range(reverse, table.size, 1 << length):
                            table[i] = entry
                    else:
                        table[reverse & (table.size - 1)] = LONG << KIND
                    value += 1


@inlined
def walk(code, word):
    """Return the entry of the code that ``word`` begins with, decoded bit by bit (as in zlib's puff)."""
    value = first = index = 0
    for length in range(1, 16):
        value |= (word >> (length - 1)) & 1
        n = code.n_of[length]
        if value - n < first:
            return code.entry[code.symbols[index + value - first]] | length
        index, first, value = index + n, (first + n) << 1, value << 1
    return INVALID << KIND


# The header of a deflate block (RFC 1951, section 3.2.7): reading its codes, and finding a block.


@inlined
def peek(data, bit):
    """Return the next 57 bits or more, the next one lowest."""
    return np.int64(load_little_endian(data, bit >> 3) >> np.uint64(bit & 7))


@inlined
def read_lengths(data, bit, codes):
    """Read the code lengths at the start of a dynamic block; return the bit after them, or -1."""
    word = peek(data, bit)
    n_literals, n_distances, n_lengths = (word & 31) + 257, (word >> 5 & 31) + 1, (word >> 10 & 15) + 4
    if n_literals > N_LITERALS or n_distances > N_DISTANCES:
        return -1
    bit += 14
    word, code = peek(data, bit), codes.lengths
    # The code of lengths.
    for i in range(19):
        code.lengths[codes.order[i]] = (word >> (3 * i)) & 7 if i < n_lengths else 0
    bit += 3 * n_lengths
    if not is_sound(code, count_lengths(code)):
        return -1
    fill(code, 7)
    # All lengths by that code: 0 to 15 is a length, 16 repeats the previous one, 17 and 18 are runs of 0.
    n, before = 0, 0
    while n < n_literals + n_distances:
        word = peek(data, bit)
        entry = code.table[word & 127]
        if entry >> KIND == INVALID:
            return -1
        bits, symbol = entry & 31, entry >> FIELD
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
def take_codes(codes):
    """Fill the tables of a block from its code lengths; return False if they form no valid codes."""
    literals, distances, table = codes.literals, codes.distances, codes.literals.table
    if literals.lengths[END_OF_BLOCK] == 0 or not is_sound(literals, count_lengths(literals)):
        return False
    if not is_sound(distances, count_lengths(distances)):
        return False
    fill(literals, LITERAL_BITS)
    fill(distances, DISTANCE_BITS)
    # Combine two literals in an entry if both codes fit, from the last entry to the first, because entries
    # that are looked up must still have one literal.
    for i in range(table.size - 1, -1, -1):
        entry = table[i]
        if entry >> KIND == LITERALS:
            first = entry & 31
            second = table[i >> first]
            taken = first + (second & 31)
            if second >> KIND == LITERALS and taken <= LITERAL_BITS:
                symbols = (entry >> FIELD & 255) | (second >> FIELD & 255) << 8
                table[i] = np.int32(LITERALS << KIND | symbols << FIELD | 2 << MORE | taken)
    return True


@inlined
def take_fixed_lengths(codes):
    for i in range(288):
        codes.literals.lengths[i] = 8 if i < 144 else 9 if i < 256 else 7 if i < 280 else 8
    for i in range(32):
        codes.distances.lengths[i] = 5


@compiled
def find_block(data, bit, stop, codes):
    """Return the first bit in ``bit`` to ``stop`` where a dynamic block, not the last, may begin, or -1."""
    for at in range(bit, stop):
        word = peek(data, at)
        if word & 7 == 4 and word >> 3 & 31 < 30 and word >> 8 & 31 < 30:
            n, lengths, room = (word >> 13 & 15) + 4, peek(data, at + 17), 0
            for i in range(n):
                length = (lengths >> (3 * i)) & 7
                room += (1 << (7 - length)) if length else 0
            if room == 128 and read_lengths(data, at + 3, codes) > 0:
                literals, distances = codes.literals, codes.distances
                is_whole = literals.lengths[END_OF_BLOCK] and count_lengths(literals) == 0
                if is_whole and is_sound(distances, count_lengths(distances)):
                    return at
    return -1
