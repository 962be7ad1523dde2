"""Mapping on the CPU at once, and on GPUs that start meanwhile, if that is faster.

To start a GPU takes two seconds, in which all cores map already.  Then two other ways are tried for a moment
each: both together, and the GPUs alone, whose threads need the cores too.  The way that mapped most reads in
a second is kept.  So nobody is slower for having a GPU.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ..errors import FmxError
from .mapping import MapOptions

if TYPE_CHECKING:
    from ..input.chunks import Chunk
    from ..input.spans import Span
    from .mapping import Mapper
    from .summary import Summary

CHUNK_SIZE = 1 << 24  # bytes, which suits both
START = 2.0  # seconds that GPUs take to start while all cores map
_DEVICES = ("/dev/nvidiactl", "/dev/dxg")  # one of these is there where there is a GPU, on Linux and in WSL
SETTLE, TRIAL = 0.1, 0.25  # seconds until spans of the way before are done with, and of a trial after that
PATIENCE = 0.2  # seconds that a thread waits for a stream; who has one may wait for this span's records
ON_CPU, ON_BOTH, ON_GPUS = "the CPU", "both", "the GPUs alone"


class Ways:
    """The ways to map, tried one after the other: ``now`` is in use; ``speeds`` in reads/s of those tried."""

    def __init__(self) -> None:
        self.now = ON_CPU
        self.speeds: dict[str, float] = {}
        self._left = [ON_BOTH, ON_GPUS]
        self._since, self._reads = 0.0, 0  # since the first span is done, if not later

    def note(self, reads: int, has_gpus: bool) -> None:
        """Count a span that was mapped.  The CPU's trial lasts until there are GPUs."""
        now = time.monotonic()
        self._since = self._since or now
        if len(self.speeds) > 2 or now <= self._since:
            return
        self._reads += reads
        seconds = now - self._since
        if has_gpus and (seconds > TRIAL or self.now == ON_CPU):
            self.speeds[self.now] = self._reads / max(seconds, 1e-9)
            self.now = self._left.pop(0) if self._left else max(self.speeds, key=self.speeds.__getitem__)
            self._since, self._reads = now + SETTLE, 0


class AutoMapper:
    """Stands in the place of ``cpu``, a Mapper, and of the mappers of GPUs that ``start(writer)`` gives.

    ``start`` opens GPUs and compiles; it may raise DeviceError.  ``n_bytes``: of all inputs, None if unknown.
    """

    sessions = ()

    def __init__(self, cpu: "Mapper", start: Callable[[Any], Any], n_bytes: int) -> None:
        self.options: MapOptions = replace(cpu.options, chunk_size=CHUNK_SIZE)
        self.tally, self.timed = cpu.tally, cpu.timed
        self._cpu, self._start, self._n_bytes = cpu, start, n_bytes
        self._lock, self._began, self._n_spans = threading.Lock(), 0.0, 0
        self._starter: threading.Thread | None = None
        self._idle: list = []  # mappers of GPUs, once for each stream that is idle
        self._waiting: deque = deque()  # queues of those who wait for a stream, who are given one in turn
        self._error, self._n_streams = "", 0
        self._ways, self._reads = Ways(), {ON_CPU: 0, ON_GPUS: 0}

    def map(self, span: "Chunk | Span", writer: Any, emit: Callable[..., Any]) -> "Summary":
        """Emit the records of a span's reads, as ``writer`` (given) makes them: a Summary."""
        mapper = self._take(writer)
        try:
            summary = (mapper or self._cpu).map(span, writer, emit)
        finally:
            if mapper:
                with self._lock:
                    self._give(mapper)
        with self._lock:
            self._reads[ON_GPUS if mapper else ON_CPU] += summary.reads
            self._ways.note(summary.reads, self._n_streams > 0)
        return summary

    def _give(self, mapper: Any) -> None:
        """Leave a stream to the first who waits for one: whoever took one before could starve him."""
        if self._waiting:
            self._waiting.popleft().put(mapper)
        else:
            self._idle.append(mapper)

    def _take(self, writer: Any) -> Any:
        """A mapper of a GPU that is idle, or None: the CPU's turn."""
        with self._lock:
            now = time.monotonic()
            self._began, self._n_spans = self._began or now, self._n_spans + 1
            if self._starter is None and self._is_worth_it(now - self._began):
                # Nobody waits for a driver that is still starting when all is done.
                self._starter = threading.Thread(target=self._open, args=(writer,), daemon=True)
                self._starter.start()
            if self._ways.now == ON_CPU:
                return None
            if self._idle or self._ways.now == ON_BOTH:
                return self._idle.pop() if self._idle else None
            mine: SimpleQueue = SimpleQueue()
            self._waiting.append(mine)
        with suppress(Empty):
            return mine.get(timeout=PATIENCE)
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return None
        return mine.get()  # it came just now

    def _is_worth_it(self, seconds: float) -> bool:
        """Whether a GPU that is started now would be of use before the end."""
        if self._n_bytes is None:
            return seconds > START
        done = self._n_spans * self.options.chunk_size
        return seconds > START / 4 and seconds * (self._n_bytes - done) > 2 * START * done

    def _open(self, writer: Any) -> None:
        try:
            made = self._start(writer)
        except FmxError as error:
            self._error = str(error)
            return
        with self._lock:
            self._idle += [mapper for mapper in made for _ in range(mapper.options.n_threads)]
            self._n_streams = len(self._idle)

    def sentence(self) -> str:
        """Where reads were mapped, and why."""
        if not self._starter:
            self._error = _why_not()
        elif self._starter.is_alive() or not (self._error or self._ways.speeds):
            self._error = "it was done before a GPU had started"
        if self._error:
            return f"the CPU: {self._error}"
        on_gpus = 100 * self._reads[ON_GPUS] / max(sum(self._reads.values()), 1)
        speeds = ", ".join(f"{name} {speed / 1e6:.1f}" for name, speed in self._ways.speeds.items())
        return f"GPUs for {on_gpus:.0f} % of the reads, the CPU for the others; tried, M reads/s: {speeds}"


def _why_not() -> str:
    """Why no GPU was started.  The driver, which takes a second, is asked only where there is none."""
    if not any(map(os.path.exists, _DEVICES)):
        from ..machines import gpu

        try:
            gpu.open_device()
        except FmxError as error:
            return str(error)
    return "it was done before a GPU would have been of use"
