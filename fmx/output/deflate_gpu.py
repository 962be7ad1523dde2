"""Bytes on a GPU -> blocks of BGZF there, by kernels of fmx.

data      | 65,280 bytes | 65,280 bytes | ...      AT_ONCE blocks at a time
tokens    | literals and copies | ...               tokens_gpu.py, copies_gpu.py; also the CRC-32
codes     | of Huffman | ...                       codes_gpu.py; by them the size of each block
blocks    |head stream tail|head stream tail|      bits_gpu.py
"""

import numpy as np

from ..input.bgzf import LONGEST
from ..input.crc32_gpu import ADVANCE
from ..input.deflate import BLOCK, HEADER
from ..input.huffman import ORDER
from ..machines import gpu
from ..machines.gpu_sums import add_up
from . import bits_gpu, codes_gpu, tokens_gpu
from .codes_gpu import N_CODES, Codes, codes_kernel
from .tokens_gpu import N_COUNTS, N_SECTIONS, SECTION, Plain, Tokens

AT_ONCE = 768  # blocks, each of which takes 0.3 MB besides
_N_THREADS = tokens_gpu.N_THREADS, codes_gpu.N_THREADS, bits_gpu.N_THREADS


def refusal() -> str:
    """Why the GPU that this thread uses cannot deflate, or nothing."""
    has, needs = gpu.shared_bytes(), tokens_gpu.SHARED
    if has >= needs:
        return ""
    return f"a block of threads of this GPU has {has} bytes of memory, and {needs} are needed"


class GpuDeflater:
    """Makes blocks of BGZF on the GPU that this thread uses."""

    def __init__(self):
        self._advance = gpu.take(ADVANCE)
        self._same = gpu.take(np.concatenate([HEADER, ORDER.astype(np.uint8)]))

    def deflate(self, flight, data, report, slot):
        """The device's blocks of ``data`` (uint8[n > 0] there), as one array.

        Waits for them.  A number of the Report, ``slot``, is used.
        """
        n_blocks, plain, done = -(-data.size // BLOCK), Plain(data, gpu.words_of(data)), 0
        out = flight.there("blocks of BGZF", n_blocks * LONGEST, np.uint8)
        gpu.fill_zero(out, flight.stream, n_blocks * LONGEST)
        words, at_once = gpu.words_of(out), -(-n_blocks // -(-n_blocks // AT_ONCE))  # alike many each time
        for first in range(0, n_blocks, at_once):
            flight.begin("deflate")
            n = min(at_once, n_blocks - first)
            tokens, codes = self._room(flight, n)
            for_tokens, for_codes, for_bits = map(gpu.block_size, _N_THREADS)
            how = n, for_tokens, flight.stream, tokens_gpu.SHARED
            tokens_gpu.tokens_kernel[how](plain, first, self._advance, tokens)
            codes_kernel[n, for_codes, flight.stream](tokens, data.size - first * BLOCK, codes)
            add_up(flight, codes.stops, n, report, slot)
            same = self._same
            bits_gpu.bits_kernel[n, for_bits, flight.stream](plain, first, tokens, codes, same, words, done)
            report.read()
            done += report[slot]
        return out[:done]

    @staticmethod
    def _room(flight, n):
        """For Tokens and Codes of n blocks."""
        there = flight.there
        tokens = Tokens(
            there("tokens", n * N_SECTIONS * SECTION, np.uint32),
            there("numbers of tokens", n * N_SECTIONS, np.int32),
            there("sums", n * N_SECTIONS, np.uint32),
            there("counts", n * N_COUNTS, np.uint32),
        )
        return tokens, Codes(there("codes", n * N_CODES, np.uint32), there("stops", n + 1, np.int64))
