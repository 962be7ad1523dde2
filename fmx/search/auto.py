"""Mapping on the CPU at once, and beside it on GPUs that start meanwhile, as long as these are the faster.

To start a GPU takes two seconds, in which all cores map already.  Then each thread of the host that finds an
idle flight of a GPU gives its span there.  The reads that a thread maps in a second are noted for both, and
if they are fewer with a GPU, no more spans go there.  So nobody is slower for having a GPU.
"""

import os
import threading
import time
from dataclasses import replace

from ..errors import FmxError
from .mapper import MapOptions

CHUNK_SIZE = 1 << 24  # bytes, which suits both
START = 2.0  # seconds that GPUs take to start while all cores map
_DEVICES = ("/dev/nvidiactl", "/dev/dxg")  # one of these is there where there is a GPU, on Linux and in WSL
TRIALS = 4  # spans of each flight, after which GPUs are judged


class Speed:
    """Of one kind of place: ``reads`` that were mapped there, and the most that a thread did in a second."""

    def __init__(self):
        self.reads, self.best, self.n = 0, 0.0, 0

    def note(self, reads, seconds):
        """Count a span that a thread has mapped."""
        self.reads, self.n = self.reads + reads, self.n + 1
        self.best = max(self.best, reads / max(seconds, 1e-9))


class AutoMapper:
    """Stands in the place of ``cpu``, a Mapper, and of the mappers of GPUs that ``start(writer)`` gives.

    ``start`` opens GPUs and compiles; it may raise DeviceError.  ``n_bytes``: of all inputs, None if unknown.
    """

    sessions = ()

    def __init__(self, cpu, start, n_bytes):
        self.options: MapOptions = replace(cpu.options, chunk_size=CHUNK_SIZE)
        self.tally, self.timed = cpu.tally, cpu.timed
        self._cpu, self._start, self._n_bytes = cpu, start, n_bytes
        self._lock, self._began, self._n_spans = threading.Lock(), 0.0, 0
        self._starter: threading.Thread | None = None
        self._idle: list = []  # mappers of GPUs, once for each flight that is idle
        self._error, self._n_flights = "", 0
        self.on_cpu, self.on_gpus = Speed(), Speed()

    def map(self, span, writer, emit):
        """Emit the records of a span's reads, as ``writer`` (given) makes them: a Summary."""
        mapper, waited = self._take(writer), 0.0

        def emit_in_time(piece):
            nonlocal waited
            start = time.monotonic()
            emit(piece)
            waited += time.monotonic() - start

        start = time.monotonic()
        summary = (mapper or self._cpu).map(span, writer, emit_in_time)
        seconds = time.monotonic() - start - waited
        with self._lock:
            (self.on_gpus if mapper else self.on_cpu).note(summary.reads, seconds)
            if mapper:
                self._idle.append(mapper)
        return summary

    def _take(self, writer):
        """A mapper of a GPU that is idle, or None: the CPU's turn."""
        with self._lock:
            now = time.monotonic()
            self._began, self._n_spans = self._began or now, self._n_spans + 1
            if self._starter is None and self._is_worth_it(now - self._began):
                # Nobody waits for a driver that is still starting when all is done.
                self._starter = threading.Thread(target=self._open, args=(writer,), daemon=True)
                self._starter.start()
            is_slower = self.on_gpus.n >= TRIALS * self._n_flights and self.on_gpus.best < self.on_cpu.best
            return self._idle.pop() if self._idle and not is_slower else None

    def _is_worth_it(self, seconds) -> bool:
        """Whether a GPU that is started now would be of use before the end."""
        if self._n_bytes is None:
            return seconds > START
        done = self._n_spans * self.options.chunk_size
        return seconds > START / 4 and seconds * (self._n_bytes - done) > 2 * START * done

    def _open(self, writer):
        try:
            made = self._start(writer)
        except FmxError as error:
            self._error = str(error)
            return
        with self._lock:
            self._idle += [mapper for mapper in made for _ in range(mapper.options.n_threads)]
            self._n_flights = len(self._idle)

    def sentence(self) -> str:
        """Where reads were mapped, and why."""
        if not self._starter:
            self._error = _why_not()
        elif self._starter.is_alive():
            self._error = "it was done before a GPU had started"
        if self._error:
            return f"the CPU: {self._error}"
        all_reads = max(self.on_cpu.reads + self.on_gpus.reads, 1)
        speeds = (
            f"{100 * place.reads / all_reads:.0f} % on {name}, {place.best / 1e6:.2f} M reads/s a thread"
            for name, place in (("the CPU", self.on_cpu), ("GPUs", self.on_gpus))
            if place.reads
        )
        return "; ".join(speeds)


def _why_not() -> str:
    """Why no GPU was started.  The driver, which takes a second, is asked only where there is none."""
    if not any(map(os.path.exists, _DEVICES)):
        from ..machines import gpu

        try:
            gpu.open_device()
        except FmxError as error:
            return str(error)
    return "it was done before a GPU would have been of use"
