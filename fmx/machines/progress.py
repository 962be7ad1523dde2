"""Time and progress of a command: clocks per stage, wall time, messages, and the progress line."""

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from numbers import Integral
from threading import Lock
from typing import Any, ClassVar, TypeAlias

from ..compiler import object_cache
from ..report import SPENT, Report
from ..system import started, tell

Writable: TypeAlias = Any  # has ``write(piece)``: a file, or a sink of the output


class Clock:
    """``seconds``: time spent in each stage, added up over all host threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = Lock()

    def add(self, stage: str, seconds: float) -> None:
        """Add time to a stage."""
        with self._lock:
            self.seconds[stage] += seconds

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the host time spent in the context to a stage."""
        start = time.perf_counter()
        yield
        self.add(stage, time.perf_counter() - start)


# The wall time of a command from its start, by stage.

_SHOWN = 0.05  # seconds; less would be printed as 0.0


class Wall:
    """``spent``: seconds of each stage of the caller's thread, which add up to the wall time.

    Compiling is a separate stage, whenever it happens.  "starting" is the time before the first named
    stage.
    """

    def __init__(self, start: float | None = None) -> None:
        self._last = start or started.get() or time.monotonic()
        self._stage, self._is_over = "starting", False
        self._compiled = object_cache.seconds_of_compiling()
        self.spent: dict[str, float] = defaultdict(float)

    def turn_to(self, stage: str) -> str:
        """Enter a stage and return the previous one."""
        if not self._is_over:
            now, compiled = time.monotonic(), object_cache.seconds_of_compiling()
            seconds = now - self._last
            compiling = min(compiled - self._compiled, seconds)
            self.spent[self._stage] += seconds - compiling
            if compiling > 0:
                self.spent["compiling"] += compiling
            self._last, self._compiled = now, compiled
        before, self._stage = self._stage, stage
        return before

    @contextmanager
    def spending(self, stage: str) -> Iterator[None]:
        """Count the time in the context as this stage."""
        before = self.turn_to(stage)
        try:
            yield
        finally:
            self.turn_to(before)

    def over(self) -> float:
        """Return the total in seconds; the first call stops the clock."""
        self.turn_to(self._stage)
        self._is_over = True
        return sum(self.spent.values())

    def in_words(self) -> str:
        """Describe the total and what it was spent on."""
        total = self.over()
        parts = [
            f"{spent:.1f} {SPENT.get(stage, stage)}" for stage, spent in self.spent.items() if spent >= _SHOWN
        ]
        return f"{total:.1f} s ({', '.join(parts)})" if parts[1:] else f"{total:.1f} s"

    def rate(self, n: int, unit: str) -> str:
        """Return a rate in units per second, without the time of compiling."""
        rate = n / max(self.over() - (compiling := self.spent.get("compiling", 0.0)), 1e-9)
        beside = " without compiling" if compiling >= _SHOWN else ""
        return f"{rate:,.0f} {unit}/s{beside}" if rate >= 10 or not n else f"{rate:.2g} {unit}/s{beside}"


# What the report of any run contains: measured while the run goes on, returned as facts (report/__init__.py).


class RunCounts:
    """Base of what a run has counted; ``things``: the field that is 0 if the inputs are empty; ``unit``: the
    one that a rate counts, if another; ``wording``: a search's options that sentences depend on, or None."""

    things: ClassVar[str]
    unit: ClassVar[str] = ""
    wording: Any = None

    def seen(self, unit: str = "") -> tuple[int, str]:
        """Return (number, noun) of what a rate counts, or of the field ``unit``."""
        unit = unit or self.unit or self.things
        return getattr(self, unit), f"{self.wording.noun}s" if self.wording and unit == "reads" else unit

    def sentence(self) -> str:
        """Return one line that describes the run."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """Return the numbers for a report (docs/formats.md)."""
        return {name: n for name, n in vars(self).items() if isinstance(n, Integral)}

    def hint(self) -> str:
        """Return advice about the run in one line, or ""."""
        return ""


class Measurement:
    """Measures one run for a Report; ``clock`` records its stages."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._clocks: dict[str, Clock] = {}
        self.clock, self._wall = Clock(), Wall()

    def begin(self, wall: Wall, sessions: Sequence[Any] = ()) -> None:
        """Start timing a run: everything is compiled and open, including the GpuSessions."""
        self._wall = wall
        self._clocks = {"CPU": self.clock} | {str(session): session.clock for session in sessions}
        for clock in self._clocks.values():
            clock.seconds.clear()

    def facts(self, places: Sequence[str], summary: Any, more: Mapping[str, Any] | None = None) -> dict:
        """Return all facts of the run: ``places`` of work, those of its ``summary``, and ``more``."""
        wall = self._wall.over()

        def rounded(seconds: Mapping[str, float]) -> dict:
            return {name: round(each, 3) for name, each in seconds.items()}

        known = {
            "started": (datetime.now(UTC) - timedelta(seconds=wall)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "places": places,
            "counts": {name: int(n) for name, n in summary.facts().items()},
            "seconds": rounded({"wall": wall, **self._wall.spent}),
            "stages": {
                place: rounded(dict(sorted(clock.seconds.items()))) for place, clock in self._clocks.items()
            },
        }
        return self._report.facts({**known, **(more or {})})


class TimedFile:
    """A file whose writes are the stage "writing" of a Wall, and "write" of a Measurement."""

    def __init__(self, file: Writable, wall: Wall, measurement: Measurement | None = None) -> None:
        self._file, self._wall, self._clock = file, wall, measurement.clock if measurement else Clock()

    def write(self, piece: Any) -> None:
        with self._wall.spending("writing"), self._clock.timed("write"):
            self._file.write(piece)


# Messages and progress on standard error: on a terminal one line that is replaced, elsewhere a line per
# minute.


class Progress:
    """Writes messages and progress, unless ``quiet``; ``warns``: warnings in any case.

    ``wall``: the wall time of the command; ``often``, ``seldom``: seconds between two lines, on a terminal
    and elsewhere; ``now()`` is the time.
    """

    def __init__(
        self,
        quiet: bool = False,
        warns: bool = False,
        often: float = 0.2,
        seldom: float = 60.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.quiet, self.wall, self._often, self._now, self._warns = quiet, Wall(), often, now, warns
        self._live = not quiet and sys.stderr.isatty()
        self._wait = often if self._live else seldom
        self._shown = now() if not self._live else 0.0
        self._lock = threading.Lock()
        self.follow()

    def follow(self, share: Callable[[], float | None] = lambda: None) -> None:
        """Begin a task; ``share()`` is the fraction of it that is done, from 0 to 1, or None if unknown."""
        self._share, self._start = share, self._now()

    def say(self, message: str) -> None:
        """Write a line that stays."""
        if not self.quiet:
            tell(f"fmx: {message}")

    def warn(self, message: str) -> None:
        """Write a warning: something of the input or the options may make the result wrong."""
        if self._warns or not self.quiet:
            tell(f"fmx: warning: {message}")

    def show(self, message: str) -> None:
        """Show progress; on a terminal, the next line replaces it, at most five times per second."""
        with self._lock:
            now = self._now()
            if self.quiet or now - self._shown <= self._wait:
                return
            self._shown = now
            columns = None
            with suppress(OSError):
                columns = max(1, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
            line = meter(message, self._share(), now - self._start, columns if self._live else None)
            if self._live:
                tell(line, end="")
            else:
                self.say(line.strip())

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[float | None], None]]:
        """Show a stage, as in ``with progress.stage("suffix array") as done:``, and then its seconds.

        ``done(share)`` may be called to update the fraction done; the time advances in any case.
        """
        wall, share = Wall(time.monotonic()), None
        wall.turn_to(name)

        def done(now: float | None) -> None:
            nonlocal share
            share = now
            self.show(name)

        self.follow(lambda: share)
        self.show(name)
        with self.kept_up(lambda: name):
            yield done
        self.say(f"{name}: {wall.in_words()}")

    @contextmanager
    def kept_up(self, message: Callable[[], str]) -> Iterator[None]:
        """Keep showing ``message()`` as time passes, from a thread."""
        is_over = threading.Event()

        def repeat() -> None:
            while not is_over.wait(max(self._wait, self._often)):
                self.show(message())

        thread = threading.Thread(target=repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


def meter(message: str, share: float | None, seconds: float, columns: int | None) -> str:
    """Format a progress line of at most ``columns`` (None: of any width)."""
    line = f"{timedelta(seconds=int(seconds))}: {message}"
    if share is not None:
        left = timedelta(seconds=int(seconds / share - seconds)) if share else "?"
        line = f"{share:4.0%} in {timedelta(seconds=int(seconds))}, {left} left: {message}"
    return line[:columns]
