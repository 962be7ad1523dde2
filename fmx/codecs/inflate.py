"""Inflate (RFC 1951): Huffman tables, also for the GPU (inflate_gpu.py); decoding from mid-stream on the CPU.

Huffman codes (sections 3.2.2 to 3.2.7) are tables indexed by the next bits:

    entry      bit 0      5            9                       26
    literals   bits taken | 1 or 2     | one or two literals   | LITERALS
    length     bits taken | extra bits | length without them   | VALUE
    distance   bits taken | extra bits | distance without them | VALUE

An _END entry is the code that ends a block.  The entry of codes with more bits than the table's index
is LONG: they are decoded bit by bit.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiler import simd
from ..compiler.functions import compiled, inlined
from ..compiler.primitives import load_little_endian

_LITERAL_BITS, _DISTANCE_TABLE_BITS = 11, 10
MORE, FIELD, KIND = 5, 9, 26  # bit where each field begins
VALUE, LITERALS, _END, LONG, INVALID = 0, 1, 2, 3, 4
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
    """The codes of a block; ``lengths``: the code in which the lengths of the others are written.

    ``order`` int64[19]: the order of its lengths; ``both`` uint8[n]: code lengths of literals and distances.
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
        _make_code(288, _LITERAL_BITS, np.concatenate([letters, [_END << KIND], lengths, no_symbols])),
        _make_code(32, _DISTANCE_TABLE_BITS, np.append(distances, no_symbols)),
        _make_code(19, 7, np.arange(19) << FIELD),
        ORDER, np.zeros(288 + 32, np.uint8),
    )  # fmt: skip


@inlined
def _count_lengths(code):
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
def _fill(code, bits):
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
def _walk(code, word):
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
def _peek(data, bit):
    """Return the next 57 bits or more, the next one lowest."""
    return np.int64(load_little_endian(data, bit >> 3) >> np.uint64(bit & 7))


@inlined
def read_lengths(data, bit, codes):
    """Read the code lengths of a dynamic block, from its fourth bit on; return the bit after them, or -1."""
    word = _peek(data, bit)
    n_literals, n_distances, n_lengths = (word & 31) + 257, (word >> 5 & 31) + 1, (word >> 10 & 15) + 4
    if n_literals > N_LITERALS or n_distances > N_DISTANCES:
        return -1
    bit += 14
    word, code = _peek(data, bit), codes.lengths
    # The code of lengths.
    for i in range(19):
        code.lengths[codes.order[i]] = (word >> (3 * i)) & 7 if i < n_lengths else 0
    bit += 3 * n_lengths
    if not is_sound(code, _count_lengths(code)):
        return -1
    _fill(code, 7)
    # All lengths by that code: 0 to 15 is a length, 16 repeats the previous one, 17 and 18 are runs of 0.
    n, before = 0, 0
    while n < n_literals + n_distances:
        word = _peek(data, bit)
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
def _fill_codes(codes):
    """Fill the tables of a block from its code lengths; return False if they form no valid codes."""
    literals, distances, table = codes.literals, codes.distances, codes.literals.table
    if literals.lengths[END_OF_BLOCK] == 0 or not is_sound(literals, _count_lengths(literals)):
        return False
    if not is_sound(distances, _count_lengths(distances)):
        return False
    _fill(literals, _LITERAL_BITS)
    _fill(distances, _DISTANCE_TABLE_BITS)
    # Combine two literals in an entry if both codes fit, from the last entry to the first, because entries
    # that are looked up must still have one literal.
    for i in range(table.size - 1, -1, -1):
        entry = table[i]
        if entry >> KIND == LITERALS:
            first = entry & 31
            second = table[i >> first]
            taken = first + (second & 31)
            if second >> KIND == LITERALS and taken <= _LITERAL_BITS:
                symbols = (entry >> FIELD & 255) | (second >> FIELD & 255) << 8
                table[i] = np.int32(LITERALS << KIND | symbols << FIELD | 2 << MORE | taken)
    return True


@inlined
def set_fixed_lengths(codes):
    """Set the code lengths of a fixed block (section 3.2.6) in Codes."""
    for i in range(288):
        codes.literals.lengths[i] = 8 if i < 144 else 9 if i < 256 else 7 if i < 280 else 8
    for i in range(32):
        codes.distances.lengths[i] = 5


@compiled
def find_dynamic_block(data, bit, stop, codes):
    """Return the first bit in ``bit`` to ``stop`` where a dynamic block, not the last, may begin, or -1."""
    for at in range(bit, stop):
        word = _peek(data, at)
        if word & 7 == 4 and word >> 3 & 31 < 30 and word >> 8 & 31 < 30:
            n, lengths, room = (word >> 13 & 15) + 4, _peek(data, at + 17), 0
            for i in range(n):
                length = (lengths >> (3 * i)) & 7
                room += (1 << (7 - length)) if length else 0
            if room == 128 and read_lengths(data, at + 3, codes) > 0:
                literals, distances = codes.literals, codes.distances
                is_whole = literals.lengths[END_OF_BLOCK] and _count_lengths(literals) == 0
                if is_whole and is_sound(distances, _count_lengths(distances)):
                    return at
    return -1


# Inflate from the middle of a gzip stream, before the preceding 32 kB are known (Kerbiriou 2019).
#
# Symbols are uint16.  A copy from before the start produces markers, 256 plus the position there, which later
# copies copy like any symbol.  Once the 32 kB are known, their bytes replace the markers:
#
#     out     | 32,768 before: markers, or bytes | symbols ...
#               256 257 258 ...                    65 84 300 71 ...

WINDOW = 1 << 15  # bytes that a copy may reach back
MARKER = 256  # the first one
SLACK = 1024  # symbols that one step may write beyond its end
REACHED, NEEDS_INPUT, _NEEDS_ROOM, _FAULT, ENDED = 0, 1, 2, 3, 4
MOST_MEMBERS = 256  # that may end in one run of blocks
SPARE = 512  # readable bytes beyond Input.last: more than the longest block header


class Input(NamedTuple):
    """``data`` uint8[n]: a file from some byte on.  Bits count from there.

    ``last``: bit after which no block may start, SPARE bytes or more before the end; ``end``: the file's.
    """

    data: np.ndarray
    last: int
    end: int


class State(NamedTuple):
    """The state between two blocks: next ``bit``, ``n`` symbols in ``out``, where their ``member`` began."""

    bit: int
    n: int
    member: int


class InflatedRun(NamedTuple):
    """The output of a run of blocks.

    ``out`` uint16[m]; ``ends`` int64[MOST_MEMBERS, 3]: for each member that ends in the run, the symbols up
    to there, and CRC-32 and size from its trailer; ``n_ends`` int64[1].
    """

    out: np.ndarray
    ends: np.ndarray
    n_ends: np.ndarray


@inlined
def _copy_back(out, at, distance, length):
    """Copy ``length`` symbols from ``distance`` back; may write up to 31 more."""
    if distance >= simd.LANES:
        for i in range(0, length, simd.LANES):
            simd.store(out, at + i, simd.load(out, at + i - distance))
    elif distance == 1:
        same = simd.fill(out, out[at - 1])
        for i in range(0, length, simd.LANES):
            simd.store(out, at + i, same)
    else:
        for i in range(length):
            out[at + i] = out[at + i - distance]


@inlined
def _coded_block(data, last, codes, run, state):
    """Decode the symbols of a block whose codes are read: (status, State); ``last`` is that of Input."""
    out, literal_table, distance_table = run.out, codes.literals.table, codes.distances.table
    bit, at, member, room = state.bit, state.n, state.member, run.out.size - SLACK
    status = REACHED
    while True:
        if at > room:
            status = _NEEDS_ROOM
            break
        if bit > last:
            status = NEEDS_INPUT
            break
        # Literals, up to two per entry, as long as the peeked bits suffice.
        word = _peek(data, bit)
        entry, taken = literal_table[word & (1 << _LITERAL_BITS) - 1], 0
        while entry >> KIND == LITERALS and taken < 33:
            out[at], out[at + 1] = entry >> FIELD & 255, entry >> (FIELD + 8) & 255
            at += entry >> MORE & 15
            taken += entry & 31
            entry = literal_table[(word >> taken) & (1 << _LITERAL_BITS) - 1]
        bit += taken
        if entry >> KIND == LITERALS:
            continue
        if taken:
            word = _peek(data, bit)
        if entry >> KIND == LONG:
            entry = _walk(codes.literals, word)
        # A single literal with a long code, or the end of the block.
        kind, bits = entry >> KIND, entry & 31
        if kind != VALUE:
            bit += bits
            if kind == LITERALS:
                out[at] = entry >> FIELD & 255
                at += 1
                continue
            status = REACHED if kind == _END else _FAULT
            break
        # A copy: length with its extra bits, then distance with its extra bits.
        more = entry >> MORE & 15
        length = (entry >> FIELD) + ((word >> bits) & (1 << more) - 1)
        bits += more
        entry = distance_table[(word >> bits) & (1 << _DISTANCE_TABLE_BITS) - 1]
        if entry >> KIND == LONG:
            entry = _walk(codes.distances, word >> bits)
        if entry >> KIND != VALUE:
            status = _FAULT
            break
        bits, more = bits + (entry & 31), entry >> MORE & 15
        distance = (entry >> FIELD) + ((word >> bits) & (1 << more) - 1)
        if distance > at - member:
            status = _FAULT
            break
        bit += bits + more
        _copy_back(out, at, distance, length)
        at += length
    return status, State(bit, at, member)


@inlined
def _stored_block(data, last, run, state):
    """Copy a stored block: (status, State); ``last`` is that of Input."""
    start = (state.bit + 7) >> 3
    word = _peek(data, 8 * start)
    n, check = word & 0xFFFF, word >> 16 & 0xFFFF
    if n ^ check != 0xFFFF:
        return _FAULT, state
    if 8 * (start + 4 + n) > last:
        return NEEDS_INPUT, state
    if state.n + n > run.out.size - SLACK:
        return _NEEDS_ROOM, state
    for i in range(n):
        run.out[state.n + i] = data[start + 4 + i]
    return REACHED, State(8 * (start + 4 + n), state.n + n, state.member)


@inlined
def _next_member(data, end, run, state):
    """Record the end of a member and go to the first block of the next: (status, State); ENDED at the end."""
    at = (state.bit + 7) >> 3
    if 8 * (at + 8) > end or run.n_ends[0] == run.ends.shape[0]:
        return _FAULT, state
    word = _peek(data, 8 * at)
    row = run.n_ends[0]
    run.ends[row, 0], run.ends[row, 1], run.ends[row, 2] = state.n, word & 0xFFFFFFFF, word >> 32 & 0xFFFFFFFF
    run.n_ends[0] += 1
    at += 8
    if 8 * at == end:
        return ENDED, State(8 * at, state.n, state.n)
    start = header_end(data, at)
    return (REACHED if 0 < 8 * start < end else _FAULT), State(8 * start, state.n, state.n)


@compiled
def header_end(data, at):
    """Return where the gzip header at ``at`` ends; -1 if there is none, or it is unusual or very long.

    ``data`` uint8[n]: SPARE bytes or more from there on.
    """
    stop, flags = at + 400, data[at + 3]
    if data[at] != 0x1F or data[at + 1] != 0x8B or data[at + 2] != 8 or flags & 0xE7:
        return -1
    at += 10
    for flag in (8, 16):  # a name, a comment
        if flags & flag:
            while at < stop and data[at] != 0:
                at += 1
            at += 1
    return at if at < stop else -1


@compiled
def inflate_blocks(source, stop, codes, run, state):
    """Inflate blocks until one begins at bit ``stop`` or later: (status, *State before that block).

    If input or room runs out, or data are faulty, the State is the one before the block in question.
    """
    while state.bit < stop:
        n_ends = run.n_ends[0]
        if state.bit > source.last:
            return NEEDS_INPUT, state.bit, state.n, state.member
        status, after = _block(source, codes, run, state)
        if status == ENDED:
            return ENDED, after.bit, after.n, after.member
        if status != REACHED:
            run.n_ends[0] = n_ends
            return status, state.bit, state.n, state.member
        state = after
    return REACHED, state.bit, state.n, state.member


@inlined
def _block(source, codes, run, state):
    """Inflate one block and, after the last of a member, go to the next member: (status, State)."""
    head = _peek(source.data, state.bit)
    is_final, kind, bit = head & 1, head >> 1 & 3, state.bit + 3
    if kind == 0:
        status, after = _stored_block(source.data, source.last, run, State(bit, state.n, state.member))
    else:
        if kind == 2:
            bit = read_lengths(source.data, bit, codes)
        else:
            set_fixed_lengths(codes)
        if kind == 3 or bit < 0 or not _fill_codes(codes):
            return _FAULT, state
        after = State(bit, state.n, state.member)
        status, after = _coded_block(source.data, source.last, codes, run, after)
    if status == REACHED and is_final:
        return _next_member(source.data, source.end, run, after)
    return status, after


@compiled
def resolve(symbols, meaning, out):
    """Write ``symbols`` (uint16[n]) as bytes: ``meaning`` uint8[MARKER + WINDOW] has the byte of each."""
    for i in range(symbols.size):
        out[np.uint64(i)] = meaning[np.uint64(symbols[np.uint64(i)])]
