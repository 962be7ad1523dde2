"""BGZF blocks on a GPU, from tokens and their codes to final bytes; a warp writes a section at a time.

    coded     head | header of deflate | tokens of section 0 | ... | end of block | CRC-32, number of bytes
    stored    head | 1, n, ~n          | bytes of section 0  | ...                | CRC-32, number of bytes

A warp appends 32 values at a time: prefix sums give the position of each, and their bits are combined in
shared memory.  A 32-bit word may belong to two sections or two blocks; it is combined in place, atomically.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.warp import (
    UINT32,
    WARP,
    add_across,
    atomic_or,
    cuda,
    device,
    kernel,
    sync_block,
    sync_warp,
    take,
    thread_in_block,
)  # fmt: skip
from ..machines import gpu
from ..machines.gpu_jobs import add_up
from . import huffman_gpu, lz77_gpu
from .bgzf import BLOCK, HEAD, HEADER, LONGEST, STORED, TAIL
from .crc32_gpu import ADVANCE, LOW
from .huffman import END_OF_BLOCK, N_DISTANCES, N_LITERALS, ORDER
from .huffman_gpu import CHECK, HEAD_BITS, N_CODES, N_LENGTHS, BlockCodes, codes_kernel, extra_bits
from .lz77_gpu import COPY, N_COUNTS, N_SECTIONS, SECTION, PlainBytes, Tokens

if TYPE_CHECKING:
    from ..machines.gpu import DeviceArray
    from ..machines.gpu_jobs import KernelReport
    from ..machines.gpu_session import GpuStream

N_THREADS = 256
_STAGE = 64  # words in which a warp combines 32 * 48 bits with those before them
_N_STAGED = N_THREADS // WARP * _STAGE
_DYNAMIC = 5 | (N_LITERALS - 257) << 3 | (N_DISTANCES - 1) << 8 | (N_LENGTHS - 4) << 13  # the last block
_HEAD_ROUNDS = 2 - (-N_COUNTS // WARP)  # of everything before the tokens


class End(NamedTuple):
    """Where a warp's output ends: ``used`` bits of word ``i`` (uint32), which so far are ``word``."""

    i: int
    used: int
    word: int


@kernel
def bits_kernel(plain, first, tokens, made, same, out, done):
    """Write the blocks from ``first`` on, by N_THREADS each, to ``out`` uint32, which holds zeros there.

    ``made``: their BlockCodes.  ``done``: byte where the first of them begins.  ``same`` uint8: HEADER of
    bgzf.py, then ORDER of huffman.py.
    """
    own, block, n_threads = thread_in_block(), np.int64(cuda.blockIdx.x), np.int64(cuda.blockDim.x)
    codes = cuda.shared.array(N_CODES, UINT32)
    stages = cuda.shared.array(_N_STAGED, UINT32)
    sums = cuda.shared.array(N_SECTIONS, UINT32)
    for i in range(own, N_CODES, n_threads):
        codes[i] = made.codes[block * N_CODES + i]
    for i in range(own, _N_STAGED, n_threads):
        stages[i] = 0
    sync_block()
    begin, is_stored = (first + block) * BLOCK, codes[END_OF_BLOCK] == 0
    n = min(plain.data.size - begin, BLOCK)
    warp, lane, n_warps = own // WARP, own % WARP, n_threads // WARP
    stage = stages[warp * _STAGE : (warp + 1) * _STAGE]
    # Bits of each section, from which the place of every later section follows.
    for s in range(warp, N_SECTIONS, n_warps):
        i, bits = block * N_SECTIONS + s, np.int64(0)
        if is_stored:
            bits = 8 * min(max(n - s * SECTION, 0), SECTION)
        else:
            for j in range(lane, tokens.n_tokens[i], WARP):
                bits += _coded(codes, tokens.tokens[i * SECTION + j])[1]
            for reach in (1, 2, 4, 8, 16):
                bits = add_across(bits, bits, reach)
        if lane == 0:
            sums[s] = bits
    sync_block()
    # Write each section: before the first one the head, after the last one the tail; 32 values per turn.
    for s in range(warp, N_SECTIONS, n_warps):
        i, start, size = block * N_SECTIONS + s, s * SECTION, min(max(n - s * SECTION, 0), SECTION)
        at = 8 * (done + made.stops[block]) + (np.int64(codes[HEAD_BITS]) if s > 0 else 0)
        for j in range(s):
            at += np.int64(sums[j])
        n_head = 0 if s > 0 else 2 if is_stored else _HEAD_ROUNDS
        n_values = np.int32(size if is_stored else tokens.n_tokens[i])
        n_body = n_head + (n_values + WARP - 1) // WARP
        end = End(np.uint32(at >> 5), np.int32(at & 31), np.uint32(0))
        for turn in range(n_body + (1 if size > 0 and start + size == n else 0)):
            value, bits, j = np.uint64(0), np.int32(0), np.int32((turn - n_head) * WARP + lane)
            if turn < n_head:
                length = made.stops[block + 1] - made.stops[block]
                value, bits = _head(codes, same, length, n, turn, lane)
            elif turn == n_body:
                value, bits = _tail(codes, end.used, n, lane)
            elif j < n_values and is_stored:
                value, bits = np.uint64(plain.data[begin + start + j]), np.int32(8)
            elif j < n_values:
                value, bits = _coded(codes, tokens.tokens[i * SECTION + j])
            end = _put(stage, out, end, value, bits, lane)
        if lane == 0 and end.used > 0:
            atomic_or(out, end.i, end.word)


@device
def _coded(codes, token):
    """Return (bits of a token as written, uint64; their number, int32)."""
    if token < COPY:
        code = codes[token]
        return np.uint64(code & np.uint32(0xFFFF)), np.int32(code >> np.uint32(16))
    length, distance = END_OF_BLOCK + 1 + (np.int32(token) & 31), N_LITERALS + (np.int32(token) >> 10 & 31)
    code, far = codes[length], codes[distance]
    bits = np.int32(code >> np.uint32(16))
    value = np.uint64(code & np.uint32(0xFFFF)) | np.uint64(
        token >> np.uint32(5) & np.uint32(31)
    ) << np.uint64(bits)
    bits = np.int32(bits + extra_bits(length))
    value |= np.uint64(far & np.uint32(0xFFFF)) << np.uint64(bits)
    bits = np.int32(bits + np.int32(far >> np.uint32(16)))
    value |= np.uint64(token >> np.uint32(15) & np.uint32(8191)) << np.uint64(bits)
    return value, np.int32(bits + extra_bits(distance))


@device
def _put(stage, out, end, value, bits, lane):
    """Append each lane's ``value`` of ``bits`` bits, in lane order, at an End; return the new End.

    ``stage`` uint32[_STAGE]: zeros on entry and on return.
    """
    stop = bits
    for reach in (1, 2, 4, 8, 16):
        before = np.int32(take(stop, max(lane - reach, 0)))
        stop = np.int32(stop + (before if lane >= reach else np.int32(0)))
    begin, behind = np.int32(end.used + stop - bits), np.int32(end.used + np.int32(take(stop, WARP - 1)))
    i, shift = np.uint32(begin) >> np.uint32(5), np.uint64(begin & 31)
    low = np.uint64(value << shift)
    first, second = np.uint32(low & np.uint64(LOW)), np.uint32(low >> np.uint64(32))
    if first != 0:
        atomic_or(stage, np.uint32(i), first)
    if second != 0:
        atomic_or(stage, np.uint32(i + np.uint32(1)), second)
    if np.int32(begin & 31) + bits > 64:
        atomic_or(stage, np.uint32(i + np.uint32(2)), np.uint32(value >> (np.uint64(64) - shift)))
    sync_warp()
    n_full, own, upper = np.int32(behind >> 5), np.uint32(lane), np.uint32(lane + WARP)
    if own < n_full and lane == 0:
        atomic_or(out, end.i, np.uint32(stage[own] | end.word))  # shared with the section or block before
    elif own < n_full:
        out[np.uint32(end.i + own)] = stage[own]
    if upper < n_full:
        out[np.uint32(end.i + upper)] = stage[upper]
    rest = np.uint32(stage[np.uint32(n_full)] | (end.word if n_full == 0 else np.uint32(0)))
    sync_warp()
    stage[own] = stage[upper] = np.uint32(0)
    sync_warp()
    return End(np.uint32(end.i + np.uint32(n_full)), np.int32(behind & 31), rest)


@device
def _head(codes, same, length, n, turn, lane):
    """Return a lane's (value, bits) of what comes before the first token, 32 values per turn.

    The block has n bytes, compressed to ``length``.  In order: BGZF's head; the numbers of codes; lengths of
    the code of lengths; with this code, all lengths.
    """
    value, bits = np.int64(0), np.int32(0)
    if turn == 0 and lane < HEAD:
        value, bits = np.int64(same[lane]), np.int32(8)
        if lane >= HEAD - 2:
            value = (length - 1) >> (8 * (lane & 1)) & 255
    elif turn == 1 and codes[END_OF_BLOCK] == 0:
        value = 1 if lane == 0 else (n | (n ^ 0xFFFF) << 16) >> (8 * ((lane - 1) & 3)) & 255
        value, bits = (value, np.int32(8)) if lane < STORED else (np.int64(0), np.int32(0))
    elif turn == 1 and lane == 0:
        value, bits = np.int64(_DYNAMIC), np.int32(17)
    elif turn == 1 and lane <= N_LENGTHS:
        of_length = codes[N_COUNTS + np.int64(same[HEAD + lane - 1])]
        value, bits = np.int64(of_length >> np.uint32(16)), np.int32(3)
    elif turn > 1 and (turn - 2) * WARP + lane < N_COUNTS:
        code = codes[N_COUNTS + np.int64(codes[(turn - 2) * WARP + lane] >> np.uint32(16))]
        value, bits = np.int64(code & np.uint32(0xFFFF)), np.int32(code >> np.uint32(16))
    return np.uint64(value), bits


@device
def _tail(codes, used, n, lane):
    """Return a lane's (value, bits) of what comes after the last token of a block of n bytes.

    In order: the end of block, bits up to the next byte, the CRC-32, and n.  ``used``: bits of the last word
    so far.
    """
    end = codes[END_OF_BLOCK]
    value, bits = np.int64(end & np.uint32(0xFFFF)), np.int32(end >> np.uint32(16))
    if lane == 1:
        value, bits = np.int64(0), np.int32(-(used + bits) & 7)
    elif lane > 1:
        both = np.int64(codes[CHECK]) | n << 32
        value, bits = both >> (8 * ((lane - 2) & 7)) & 255, np.int32(8)
    if lane > 1 + TAIL:
        value, bits = np.int64(0), np.int32(0)
    return np.uint64(value), bits


# The steps from bytes on a GPU to BGZF blocks there.
#
# data      | 65,280 bytes | 65,280 bytes | ...      AT_ONCE blocks at a time
# tokens    | literals and copies | ...               lz77_gpu.py; also the CRC-32
# codes     | of Huffman | ...                       huffman_gpu.py; they determine the size of each block
# blocks    |head stream tail|head stream tail|      deflate_gpu.py

AT_ONCE = 768  # blocks; each needs another 0.3 MB
_N_THREADS = lz77_gpu.N_THREADS, huffman_gpu.N_THREADS, N_THREADS


def refusal() -> str:
    """Return why this thread's GPU cannot deflate, or an empty string."""
    has, needs = gpu.shared_bytes(), lz77_gpu.SHARED
    if has >= needs:
        return ""
    return f"a block of threads of this GPU has {has} bytes of shared memory, but {needs} are needed"


class GpuDeflater:
    """Compresses data to BGZF blocks on the GPU that this thread uses."""

    def __init__(self) -> None:
        self._advance = gpu.take(ADVANCE)
        self._same = gpu.take(np.concatenate([HEADER, ORDER.astype(np.uint8)]))

    def deflate(
        self, stream: "GpuStream", data: "DeviceArray", report: "KernelReport", slot: int,
        at_once: int = AT_ONCE,
    ) -> "DeviceArray":  # fmt: skip
        """Return ``data`` (uint8[n > 0] on the device) as BGZF blocks in one device array.

        Waits for the result.  Uses number ``slot`` of the KernelReport.  Makes ``at_once`` blocks at a time.
        """
        n_blocks, plain, done = -(-data.size // BLOCK), PlainBytes(data, gpu.words_of(data)), 0
        out = stream.there("blocks of BGZF", n_blocks * LONGEST, np.uint8)
        gpu.fill_zero(out, stream.handle, n_blocks * LONGEST)
        words, size = gpu.words_of(out), -(-n_blocks // -(-n_blocks // at_once))  # batches of similar size
        for first in range(0, n_blocks, size):
            stream.begin("deflate")
            n = min(size, n_blocks - first)
            tokens, codes = self._room(stream, n)
            for_tokens, for_codes, for_bits = map(gpu.block_size, _N_THREADS)
            how = n, for_tokens, stream.handle, lz77_gpu.SHARED
            lz77_gpu.tokens_kernel[how](plain, first, self._advance, tokens)
            codes_kernel[n, for_codes, stream.handle](tokens, data.size - first * BLOCK, codes)
            add_up(stream, codes.stops, n, report, slot)
            same = self._same
            bits_kernel[n, for_bits, stream.handle](plain, first, tokens, codes, same, words, done)
            report.read()
            done += report[slot]
        return out[:done]

    @staticmethod
    def _room(stream: "GpuStream", n: int) -> tuple[Tokens, BlockCodes]:
        """Return buffers for the Tokens and BlockCodes of n blocks."""
        there = stream.there
        tokens = Tokens(
            there("tokens", n * N_SECTIONS * SECTION, np.uint32),
            there("numbers of tokens", n * N_SECTIONS, np.int32),
            there("sums", n * N_SECTIONS, np.uint32),
            there("counts", n * N_COUNTS, np.uint32),
        )
        return tokens, BlockCodes(there("codes", n * N_CODES, np.uint32), there("stops", n + 1, np.int64))
