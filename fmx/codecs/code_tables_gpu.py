"""Tables of Huffman codes on a GPU, filled by a warp, and the next token of deflate for each lane.

A table has the entries of huffman.py, each with one literal: with two, lanes that begin at different tokens
would not come to the same ones.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.primitives import bits_from32
from ..compiler.warp import WARP, atomic_add, ballot, device, n_bits, reversed_bits, sync_warp, take
from .crc32_gpu import LOW
from .huffman import (
    END_OF_BLOCK,
    HELD,
    INVALID,
    KIND,
    LONG,
    MORE,
    MOST_BITS,
    VALUE,
    HuffmanCode,
    is_sound,
    read_lengths,
    take_fixed_lengths,
)

LITERAL_BITS, DISTANCE_BITS = 10, 8  # of the tables' index


class CodeTable(NamedTuple):
    """A canonical code: ``lengths`` uint8[n], bits of each symbol's code; ``table`` int32[1 << bits].

    For each number of bits, int32[16]: ``n_of``, its symbols; ``first``, its lowest code; ``begins``, where
    its symbols begin in ``symbols`` int16[n], which are in code order.  ``entry`` int64[n]: the table entry
    of each symbol, without the bits taken.
    """

    lengths: np.ndarray
    table: np.ndarray
    n_of: np.ndarray
    first: np.ndarray
    begins: np.ndarray
    symbols: np.ndarray
    entry: np.ndarray


class BlockTables(NamedTuple):
    """The codes of a block, with the fields of huffman.Codes, which read_lengths fills."""

    literals: CodeTable
    distances: CodeTable
    lengths: HuffmanCode
    order: np.ndarray
    both: np.ndarray


class Bits(NamedTuple):
    """The next ``n`` bits of a stream, at least 32, in ``held`` (uint64), lowest first.

    ``ahead`` is the word after them, number ``i`` of the stream, loaded before it is needed.
    """

    held: np.uint64
    n: np.int32
    i: np.uint32
    ahead: np.uint32


@device
def take_codes(data, bit, kind, codes, lane):
    """Fill the tables of a block of a kind by a warp; return the bit where its tokens begin, or -1.

    ``codes``: BlockTables.
    """
    begin = np.int32(-1)
    if lane == 0 and kind == 2:
        begin = np.int32(read_lengths(data, np.int64(bit), codes))
    elif lane == 0 and kind == 1:
        take_fixed_lengths(codes)
        begin = np.int32(bit)
    begin = np.int32(take(begin, 0))
    sync_warp()
    if begin < 0 or codes.literals.lengths[END_OF_BLOCK] == 0:
        return np.int32(-1)
    literals, distances = _unused(codes.literals, lane), _unused(codes.distances, lane)
    if not (is_sound(codes.literals, literals) and is_sound(codes.distances, distances)):
        return np.int32(-1)
    _fill(codes.literals, LITERAL_BITS, lane)
    _fill(codes.distances, DISTANCE_BITS, lane)
    return begin


@device
def _unused(code, lane):
    """Count ``n_of``; return the unused code space in units of 2^-15, negative if oversubscribed."""
    if lane <= MOST_BITS:
        code.n_of[lane] = 0
    sync_warp()
    for symbol in range(lane, code.lengths.size, WARP):
        atomic_add(code.n_of, np.int64(code.lengths[symbol]), np.int32(1))
    sync_warp()
    left = np.int64(1)
    for bits in range(1, MOST_BITS + 1):
        if left >= 0:
            left = 2 * left - code.n_of[bits]
    return left


@device
def _fill(code, bits, lane):
    """Fill the ``table`` of a code, which is indexed by ``bits`` bits, and what longer codes need."""
    table, first, index = code.table, np.int32(0), np.int32(0)
    for i in range(lane, table.size, WARP):
        table[i] = INVALID << KIND
    sync_warp()
    for length in range(1, MOST_BITS + 1):
        n, first = np.int32(code.n_of[length]), np.int32(first << 1)
        if lane == 0:
            code.first[length], code.begins[length] = first, index
        before = np.int32(0)
        for symbol in range(lane, code.lengths.size if n > 0 else 0, WARP):
            is_own = code.lengths[symbol] == length
            lanes = ballot(is_own)
            if is_own:
                rank = np.int32(before + n_bits(lanes & np.int64(~bits_from32(np.int32(lane)))))
                code.symbols[index + rank] = symbol
                value = np.uint32(reversed_bits(np.uint32(first + rank)) >> np.uint32(32 - length))
                if length <= bits:
                    entry = np.int32(code.entry[symbol] | length)
                    for i in range(value, table.size, 1 << length):
                        table[i] = entry
                else:
                    table[value & np.uint32(table.size - 1)] = LONG << KIND
            before = np.int32(before + n_bits(lanes))
        first, index = np.int32(first + n), np.int32(index + n)
    sync_warp()


@device
def _looked_up(code, held, bits):
    """Return the entry (uint32) of the code at the lowest bits of ``held``; ``bits``: of the table's
    index."""
    entry = np.uint32(code.table[held & np.uint64((1 << bits) - 1)])
    if entry >> np.uint32(KIND) == LONG:
        entry, mirrored = np.uint32(INVALID << KIND), reversed_bits(np.uint32(held & np.uint64(LOW)))
        length = np.int32(bits + 1)
        while length <= MOST_BITS:
            rank = np.int32(np.int32(mirrored >> np.uint32(32 - length)) - code.first[length])
            if rank < code.n_of[length]:
                symbol = code.symbols[np.int32(code.begins[length] + rank)]
                entry, length = np.uint32(code.entry[symbol] | length), np.int32(MOST_BITS)
            length = np.int32(length + 1)
    return entry


@device
def bits_at(words, bit):
    """Return the Bits from ``bit`` on; three words of ``words`` (uint32) are read."""
    i = np.uint32(bit) >> np.uint32(5)
    after = np.uint32(i + np.uint32(1))
    bits = Bits(np.uint64(words[i]), np.int32(32), after, words[after])
    return _without(words, bits, np.int32(bit & 31))


@device
def _without(words, bits, n):
    """Return the Bits after n of them, at most 32."""
    held, left, i, ahead = np.uint64(bits.held >> np.uint64(n)), np.int32(bits.n - n), bits.i, bits.ahead
    if left < 32:
        held |= np.uint64(ahead) << np.uint64(left)
        left, i = np.int32(left + 32), np.uint32(i + np.uint32(1))
        ahead = words[i]
    return Bits(held, left, i, ahead)


@device
def next_token(words, bits, codes):
    """Return (Bits after the next token, its kind, its bits, its bytes, its literal or distance).

    ``kind``: LITERALS for one literal, VALUE for a copy, END, or INVALID.
    """
    entry = _looked_up(codes.literals, bits.held, LITERAL_BITS)
    kind, n_taken = entry >> np.uint32(KIND), np.int32(entry & np.uint32(31))
    n, what = _fields(entry)  # literals: their number, 1; length: its extra bits
    if kind != VALUE:
        return _without(words, bits, n_taken), kind, n_taken, n, what
    length = np.int32(what + np.int32(bits.held >> np.uint64(n_taken) & np.uint64((1 << n) - 1)))
    n_first = np.int32(n_taken + n)
    bits = _without(words, bits, n_first)
    entry = _looked_up(codes.distances, bits.held, DISTANCE_BITS)
    n_taken = np.int32(entry & np.uint32(31))
    n, distance = _fields(entry)
    distance = np.int32(distance + np.int32(bits.held >> np.uint64(n_taken) & np.uint64((1 << n) - 1)))
    if entry >> np.uint32(KIND) != VALUE:
        kind = np.uint32(INVALID)
    n_second = np.int32(n_taken + n)
    return _without(words, bits, n_second), kind, np.int32(n_first + n_second), length, distance


@device
def _fields(entry):
    return (
        np.int32(entry >> np.uint32(MORE) & np.uint32(15)),
        np.int32(entry >> np.uint32(HELD) & np.uint32((1 << KIND - HELD) - 1)),
    )
