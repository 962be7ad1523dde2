"""Inflate from the middle of a gzip stream, before the preceding 32 kB are known (Kerbiriou 2019).

Symbols are uint16.  A copy from before the start produces markers, 256 plus the position there, which later
copies copy like any symbol.  Once the 32 kB are known, their bytes replace the markers:

    out     | 32,768 before: markers, or bytes | symbols ...
              256 257 258 ...                    65 84 300 71 ...
"""

from typing import NamedTuple

import numpy as np

from ..compiler import simd
from ..compiler.functions import compiled, inlined
from . import huffman
from .huffman import (
    END,
    FIELD,
    KIND,
    LITERALS,
    LONG,
    MORE,
    VALUE,
    peek,
    read_lengths,
    take_codes,
    take_fixed_lengths,
)

WINDOW = 1 << 15  # bytes that a copy may reach back
MARKER = 256  # the first one
SLACK = 1024  # symbols that one step may write beyond its end
REACHED, NEEDS_INPUT, NEEDS_ROOM, FAULT, ENDED = 0, 1, 2, 3, 4
MOST_MEMBERS = 256  # that may end in one run of blocks
SPARE = 512  # readable bytes beyond ``last``: more than the longest block header


class Input(NamedTuple):
    """``data`` uint8[n]: a file from some byte on.  Bits count from there.

    ``last``: SPARE bytes before the end of ``data``; ``end``: the end of the file, followed by zeros.
    """

    data: np.ndarray
    last: int
    end: int


class State(NamedTuple):
    """The state between two blocks: the next ``bit``, symbols in ``out``, and where their member began."""

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
def _copy(out, at, distance, length):
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
            status = NEEDS_ROOM
            break
        if bit > last:
            status = NEEDS_INPUT
            break
        # Literals, up to two per entry, as long as the peeked bits suffice.
        word = peek(data, bit)
        entry, taken = literal_table[word & (1 << huffman.LITERAL_BITS) - 1], 0
        while entry >> KIND == LITERALS and taken < 33:
            out[at], out[at + 1] = entry >> FIELD & 255, entry >> (FIELD + 8) & 255
            at += entry >> MORE & 15
            taken += entry & 31
            entry = literal_table[(word >> taken) & (1 << huffman.LITERAL_BITS) - 1]
        bit += taken
        if entry >> KIND == LITERALS:
            continue
        if taken:
            word = peek(data, bit)
        if entry >> KIND == LONG:
            entry = huffman.walk(codes.literals, word)
        # A single literal with a long code, or the end of the block.
        kind, bits = entry >> KIND, entry & 31
        if kind != VALUE:
            bit += bits
            if kind == LITERALS:
                out[at] = entry >> FIELD & 255
                at += 1
                continue
            status = REACHED if kind == END else FAULT
            break
        # A copy: length with its extra bits, then distance with its extra bits.
        more = entry >> MORE & 15
        length = (entry >> FIELD) + ((word >> bits) & (1 << more) - 1)
        bits += more
        entry = distance_table[(word >> bits) & (1 << huffman.DISTANCE_BITS) - 1]
        if entry >> KIND == LONG:
            entry = huffman.walk(codes.distances, word >> bits)
        if entry >> KIND != VALUE:
            status = FAULT
            break
        bits, more = bits + (entry & 31), entry >> MORE & 15
        distance = (entry >> FIELD) + ((word >> bits) & (1 << more) - 1)
        if distance > at - member:
            status = FAULT
            break
        bit += bits + more
        _copy(out, at, distance, length)
        at += length
    return status, State(bit, at, member)


@inlined
def _stored_block(data, last, run, state):
    """Copy a stored block: (status, State); ``last`` is that of Input."""
    start = (state.bit + 7) >> 3
    word = peek(data, 8 * start)
    n, check = word & 0xFFFF, word >> 16 & 0xFFFF
    if n ^ check != 0xFFFF:
        return FAULT, state
    if 8 * (start + 4 + n) > last:
        return NEEDS_INPUT, state
    if state.n + n > run.out.size - SLACK:
        return NEEDS_ROOM, state
    for i in range(n):
        run.out[state.n + i] = data[start + 4 + i]
    return REACHED, State(8 * (start + 4 + n), state.n + n, state.member)


@inlined
def _next_member(data, end, run, state):
    """Record the end of a member and go to the first block of the next: (status, State); ENDED at the end."""
    at = (state.bit + 7) >> 3
    if 8 * (at + 8) > end or run.n_ends[0] == run.ends.shape[0]:
        return FAULT, state
    word = peek(data, 8 * at)
    row = run.n_ends[0]
    run.ends[row, 0], run.ends[row, 1], run.ends[row, 2] = state.n, word & 0xFFFFFFFF, word >> 32 & 0xFFFFFFFF
    run.n_ends[0] += 1
    at += 8
    if 8 * at == end:
        return ENDED, State(8 * at, state.n, state.n)
    start = _header_end(data, at)
    return (REACHED if 0 < 8 * start < end else FAULT), State(8 * start, state.n, state.n)


@inlined
def _header_end(data, at):
    """Return where the gzip header at ``at`` ends; -1 if there is none, or it is unusual or very long."""
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
def header_end(data):
    """Return where the gzip header that begins ``data`` (uint8[n], n >= SPARE) ends; -1 if there is none."""
    return _header_end(data, 0)


@compiled
def inflate_blocks(source, stop, codes, run, state):
    """Inflate blocks until one begins at bit ``stop`` or later: (status, State before that block).

    If input or room runs out, or data are faulty, the State is the one before the block in question.
    """
    while state.bit < stop:
        n_ends = run.n_ends[0]
        if state.bit > source.last:
            return NEEDS_INPUT, state
        status, after = _block(source, codes, run, state)
        if status == ENDED:
            return ENDED, after
        if status != REACHED:
            run.n_ends[0] = n_ends
            return status, state
        state = after
    return REACHED, state


@inlined
def _block(source, codes, run, state):
    """Inflate one block and, after the last of a member, go to the next member: (status, State)."""
    head = peek(source.data, state.bit)
    is_final, kind, bit = head & 1, head >> 1 & 3, state.bit + 3
    if kind == 0:
        status, after = _stored_block(source.data, source.last, run, State(bit, state.n, state.member))
    else:
        if kind == 2:
            bit = read_lengths(source.data, bit, codes)
        else:
            take_fixed_lengths(codes)
        if kind == 3 or bit < 0 or not take_codes(codes):
            return FAULT, state
        after = State(bit, state.n, state.member)
        status, after = _coded_block(source.data, source.last, codes, run, after)
    if status == REACHED and is_final:
        return _next_member(source.data, source.end, run, after)
    return status, after


@compiled
def resolve(symbols, meaning, n_known, out):
    """Write ``symbols`` (uint16[n]) as bytes: ``meaning`` uint8[MARKER + WINDOW] has the byte of each.

    Only the last ``n_known`` bytes of the window are known: returns False if others are needed.
    """
    for i in range(symbols.size):
        out[np.uint64(i)] = meaning[np.uint64(symbols[np.uint64(i)])]
    if n_known < WINDOW:
        for i in range(symbols.size):
            if MARKER <= symbols[i] < MARKER + WINDOW - n_known:
                return False
    return True
