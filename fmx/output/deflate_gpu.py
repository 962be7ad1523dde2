"""Bytes on a GPU -> blocks of BGZF there: nvCOMP makes streams of deflate, kernels what stands around them.

data      | 65,280 bytes  | 65,280 bytes  | ...           AT_ONCE blocks at a time
streams   | stream .....  | stream ..     |
blocks    |head stream tail|head stream tail|
"""

from typing import NamedTuple

import numpy as np

from ..compiler import nvcomp
from ..compiler.warp import WARP, kernel, thread_in_block, thread_index
from ..input.bgzf import HEAD, LONGEST, TAIL
from ..input.crc32_gpu import TABLE, crc32_of_warp
from ..input.deflate import BLOCK, HEADER
from ..machines import gpu
from ..machines.gpu_sums import add_up

AT_ONCE = 768  # blocks, each of which takes nvCOMP 0.6 MB besides; few take as long as many
N_THREADS = 128


class Streams(NamedTuple):
    """Streams of deflate on the device, of blocks of ``data`` uint8, of BLOCK bytes but for the last one.

    That of block i stands at ``i * room`` of ``streams`` uint8; ``sizes`` int64[n]: its bytes; ``statuses``
    int32[n]: 0 if it was made.  ``stops`` int64[n + 1]: bytes of the blocks of BGZF, then running totals.
    """

    data: np.ndarray
    streams: np.ndarray
    room: int
    sizes: np.ndarray
    statuses: np.ndarray
    stops: np.ndarray


@kernel
def sizes_kernel(made, n, report, slot):
    """``made.stops`` gets the bytes of each of n blocks, by a thread a block.

    ``report[slot]`` gets 1 if a stream could not be made, or is too long for a block.
    """
    b = thread_index()
    if b < n:
        size = made.sizes[b]
        if made.statuses[b] != 0 or size > LONGEST - HEAD - TAIL:
            size, report[slot] = 0, 1
        made.stops[b] = HEAD + size + TAIL


@kernel
def blocks_kernel(made, n, header, table, out):
    """The blocks, one after the other, into ``out`` uint8, by a warp a block.

    ``header`` uint8[HEAD]; ``table``: that of crc32_gpu.py.
    """
    b, lane = thread_index() // WARP, thread_in_block() % WARP
    if b < n:
        start, stop = made.stops[b], made.stops[b + 1]
        if lane < HEAD - 2:
            out[start + lane] = header[lane]
        for i in range(lane, stop - start - HEAD - TAIL, WARP):
            out[start + HEAD + i] = made.streams[b * made.room + i]
        n_bytes = min(BLOCK, made.data.size - b * BLOCK)
        check = crc32_of_warp(made.data, b * BLOCK, n_bytes, lane, table)
        if lane < 2:
            out[start + HEAD - 2 + lane] = (stop - start - 1) >> (8 * lane) & 255
        if lane < 4:
            out[stop - TAIL + lane] = check >> (8 * lane) & 255
            out[stop - 4 + lane] = n_bytes >> (8 * lane) & 255


class GpuDeflater:
    """Makes blocks of BGZF on the GPU that this thread uses.  Raises DeviceError where nvCOMP is missing."""

    def __init__(self):
        self._room = nvcomp.room(BLOCK)
        self._header, self._table = gpu.take(HEADER), gpu.take(TABLE)

    def deflate(self, flight, data, report, slot):
        """The device's blocks of ``data`` (uint8[n > 0] there), as one array; None if that cannot be.

        Waits for them.  Two numbers of the Report, from ``slot`` on, are used.
        """
        n_blocks, there, done = -(-data.size // BLOCK), flight.there, 0
        out = there("blocks of BGZF", n_blocks * LONGEST, np.uint8)
        at_once = -(-n_blocks // -(-n_blocks // AT_ONCE))  # alike many each time
        for first in range(0, n_blocks, at_once):
            n = min(at_once, n_blocks - first)
            flight.begin("deflate")
            made = self._streams(flight, data[first * BLOCK : (first + n) * BLOCK], n)
            flight.launch(sizes_kernel, n, N_THREADS, made, n, report.there, slot + 1)
            add_up(flight, made.stops, n, report, slot)
            own = out[done:]
            flight.launch(
                blocks_kernel, WARP * n, gpu.block_size(N_THREADS), made, n, self._header, self._table, own
            )
            report.read()
            if report[slot + 1]:
                return None
            done += report[slot]
        return out[:done]

    def _streams(self, flight, data, n) -> Streams:
        """Launch the making of n streams, of BLOCK bytes of ``data`` each."""
        there, size = flight.there, nvcomp.scratch(n, BLOCK)
        streams, scratch = there("streams", n * self._room, np.uint8), there("scratch", size, np.uint8)
        here = flight.here("places", 3 * n, np.int64)[: 3 * n].reshape(3, n)
        here[0] = gpu.address(data) + BLOCK * np.arange(n)
        here[1] = BLOCK
        here[1, -1] = data.size - (n - 1) * BLOCK
        here[2] = gpu.address(streams) + self._room * np.arange(n)
        places = gpu.copy(here.reshape(-1), there("places", 3 * n, np.int64), flight.stream)
        sizes, statuses = there("stream sizes", n, np.int64), there("statuses", n, np.int32)
        columns = [gpu.address(places) + 8 * n * i for i in range(3)]
        columns += [gpu.address(sizes), gpu.address(statuses)]
        nvcomp.deflate(n, BLOCK, columns, (gpu.address(scratch), size), flight.stream)
        return Streams(data, streams, self._room, sizes, statuses, there("stops", n + 1, np.int64))
