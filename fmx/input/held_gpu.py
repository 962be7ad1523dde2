"""The bytes of a span of BGZF on the GPU that inflates them; the host gets the ends, where records are cut.

    file      | blocks of the span                        | blocks behind it ...
    pinned    | packed                                                  |
    device    | inflated, checked, newlines counted                     |
    host      | first bytes |                      | last ones and those beyond |

What a GPU cannot do, or what is damaged, is read as on the CPU, which says what is wrong.
"""

from functools import partial

import numpy as np

from ..codecs.bgzf import blocks
from ..codecs.gzip_streams import Blocks, after
from ..codecs.inflate_gpu import SLACK
from ..compiler.warp import atomic_add, grid_size, kernel, thread_index
from ..machines import gpu
from ..machines.gpu_jobs import Report
from .chunks import find_border, is_border, skip_blank
from .held import Held

ENDS = 1 << 16  # bytes at either end that the host is told, at most
_PROBLEM, _BORDERS = 0, 1  # of what is reported
_N_THREADS, _STRETCH, _COUNTERS = (
    128,
    256,
    1 << 16,
)  # bytes for a thread that counts, and such threads, at most


@kernel
def count_kernel(data, own, is_fastq, report):
    """Adds to ``report[_BORDERS]`` the newlines that count among the first ``own`` bytes (chunks.count).

    Some threads, each of which takes bytes at even distances.
    """
    n = np.int64(0)
    for i in range(thread_index(), own, grid_size()):
        n += is_border(data, i, is_fastq)
    atomic_add(report, _BORDERS, n)


class There:
    """``data``: bytes of a Chunk on a GPU, of a flight."""

    def __init__(self, flight, data):
        self._flight, self.data = flight, data

    def bring(self, here):
        """Copy them to the host's memory."""
        gpu.copy(self.data, here, self._flight.stream)
        self._flight.wait()


class GpuHeld(Held):
    """Held bytes, those of blocks of BGZF on the GPU of a ``flight``; ``inflater``: its Inflater."""

    def __init__(self, flight, inflater, reader):
        super().__init__(reader, partial(flight.here, "data"))
        self._flight, self._inflater, self._there, self._known = flight, inflater, None, 0

    def load(self, own, beyond, is_fastq):
        found = self._inflate(own, beyond, is_fastq) if isinstance(self._reader, Blocks) else None
        return super().load(own, beyond, is_fastq) if found is None else found

    def read_on(self, more):
        self.whole()
        self._there = None
        super().read_on(more)

    def whole(self):
        if self._there is not None and self._known < self.n:
            There(self._flight, self._there).bring(self.data())
            self._known = self.n
        return self.data()

    def begin(self, left, is_fastq):
        if self._there is None:
            return super().begin(left, is_fastq)
        begin, left_over = find_border(self.data()[: self._known], 0, left, is_fastq)
        return find_border(self.whole(), 0, left, is_fastq)[0] if left_over else begin

    def end_line(self):
        super().end_line()
        if self._there is not None:
            gpu.copy(self._buffer[self.n : self.n + 1], self._there[self.n : self.n + 1], self._flight.stream)

    def cut(self, begin, stop):
        data, _ = super().cut(begin, stop)
        return data, There(self._flight, self._there[begin:stop]) if self._there is not None else None

    def _inflate(self, own, beyond, is_fastq):
        """``load`` by the GPU, or None where the host must do it."""
        reader, flight = self._reader, self._flight
        stops, is_end = _with_those_behind(reader, beyond)
        if reader.skip or stops is None:
            return None
        n_bytes = int(stops[-1])
        packed = flight.here("packed", n_bytes + SLACK, np.uint8)[: n_bytes + SLACK]
        if reader.file.read(packed[:n_bytes], reader.start) < n_bytes:
            return None
        report = Report(flight)
        inflated = self._inflater.inflate(flight, packed, stops, report, _PROBLEM)
        if inflated is None:
            return None
        there, n = inflated
        n_threads = min(-(-own // _STRETCH), _COUNTERS)
        flight.launch(count_kernel, n_threads, _N_THREADS, there, own, is_fastq, report.there)
        first, last = min(ENDS, n), max(own - ENDS, 0)
        ends = flight.here("ends", first + n - last, np.uint8)[: first + n - last]
        flight.receive([there[:first], there[last:n]], [ends[:first], ends[first:]])
        report.read()
        if report[_PROBLEM]:
            return None
        here = np.empty(n + 1, np.uint8)  # of whose pages the middle ones are never touched
        here[:first], here[last:n] = ends[:first], ends[first:]
        self._reader, self._there, self._buffer = after(reader.file, reader.start + n_bytes), there, here
        self.n, self.is_end, self._known = n, is_end, first if first < last else n
        if skip_blank(here[:first], 0) == first or skip_blank(here[last:own], 0) == own - last:
            self.whole()  # what is looked for at the ends lies further in
        return report[_BORDERS]


def _with_those_behind(reader, beyond):
    """Where blocks end: those of ``reader`` (Blocks), and those behind that hold ``beyond`` bytes.

    (int64[n], from where the first begins, or None if there are none such; whether the input ends so).
    """
    stops, file, size = list(reader.stops), reader.file, None
    for stop, size in blocks(file, stops[-1], at_once=8):
        stops.append(stop)
        beyond -= size
        if beyond <= 0:
            break
    is_end = beyond > 0 and stops[-1] == file.size and not any(file.bytes(4, stops[-1] - 4))
    if beyond > 0 and not is_end:
        return None, False
    return np.array(stops, np.int64) - reader.start, is_end
