"""What the stages of a piece of work take."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Protocol

from ..compiler import functions
from ..report.facts import SPENT
from ..system.process import started


class Writable(Protocol):
    """What takes bytes: a file, or a sink of the output."""

    def write(self, piece: Any, /) -> object: ...


class Clock:
    """``seconds`` sums up what each stage has taken, of all threads of the host together."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, stage: str, seconds: float) -> None:
        """Count some more."""
        with self._lock:
            self.seconds[stage] += seconds  # type: ignore[assignment]

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Count the time that the host spends within."""
        start = time.perf_counter()
        yield
        self.add(stage, time.perf_counter() - start)


class Timed:
    """A file whose writing is timed, as the stage "write"."""

    def __init__(self, clock: Clock, file: Writable) -> None:
        self._clock, self._file = clock, file

    def write(self, piece: Any) -> None:
        with self._clock.timed("write"):
            self._file.write(piece)


# The wall time of a command from its start, and what it was spent on.

_SHOWN = 0.05  # seconds, which are not 0.0


class Wall:
    """``spent``: the seconds of each stage, as the caller's thread went through them, which add up to all.

    What was spent on compiling is a stage of its own, whenever that was.  "starting" is what comes before the
    first stage that is named.
    """

    def __init__(self, start: float | None = None) -> None:
        self._last = start or started.get() or time.monotonic()
        self._stage, self._is_over = "starting", False
        self._compiled = functions.seconds_of_compiling()
        self.spent: dict[str, float] = defaultdict(float)

    def turn_to(self, stage: str) -> str:
        """From now on time is spent on this; what it was spent on before."""
        if not self._is_over:
            now, compiled = time.monotonic(), functions.seconds_of_compiling()
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
        """Time within is spent on this."""
        before = self.turn_to(stage)
        try:
            yield
        finally:
            self.turn_to(before)

    def over(self) -> float:
        """The seconds of the whole; from the first call on they stay as they are."""
        self.turn_to(self._stage)
        self._is_over = True
        return sum(self.spent.values())

    def written(self, sink: Writable) -> "Written":
        """The file that is written."""
        return Written(self, sink)

    def in_words(self) -> str:
        """All of it, and what it was spent on."""
        total = self.over()
        parts = [
            f"{seconds:.1f} {SPENT.get(stage, stage)}"
            for stage, seconds in self.spent.items()
            if seconds >= _SHOWN
        ]
        return f"{total:.1f} s ({', '.join(parts)})" if parts[1:] else f"{total:.1f} s"

    def rate(self, n: int, unit: str) -> str:
        """So many of a unit a second."""
        return f"{n / max(self.over(), 1e-9):,.0f} {unit}/s"


class Written:
    """A file, and the Wall of who writes to it."""

    def __init__(self, wall: Wall, file: Writable) -> None:
        self._wall, self._file = wall, file

    def write(self, piece: Any) -> None:
        with self._wall.spending("writing"):
            self._file.write(piece)


# What a report tells of any run: looked at while it goes on, and told as facts (report/facts.py).


class Watch:
    """Of one run, for a Report; ``clock`` is told what its stages take."""

    def __init__(self, report: Any) -> None:
        self._report = report
        self._clocks: dict[str, Clock] = {}
        self.clock, self._wall = Clock(), Wall()

    def begin(self, wall: Wall, sessions: Sequence[Any] = ()) -> None:
        """All is compiled and open, also the GpuSessions of GPUs: now the work begins, for the first time or
        once more."""
        self._wall = wall
        self._clocks = {"CPU": self.clock} | {str(session): session.clock for session in sessions}
        for clock in self._clocks.values():
            clock.seconds.clear()

    def timed(self, sink: Writable) -> Timed:
        """The file that is written."""
        return Timed(self.clock, sink)

    def facts(self, places: Any, summary: Any, found: Mapping[str, Any] | None = None) -> dict:
        """All that is told: ``places`` of the work, a ``summary`` of it, and what else was ``found``."""
        wall = self._wall.over()
        known = {
            "started": (datetime.now(UTC) - timedelta(seconds=wall)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "places": places,
            "counts": {name: int(n) for name, n in summary.facts().items()},
            "seconds": _rounded({"wall": wall, **self._wall.spent}),
            "stages": {
                place: _rounded(dict(sorted(clock.seconds.items()))) for place, clock in self._clocks.items()
            },
        }
        return self._report.facts({**known, **(found or {})})


def _rounded(seconds: Mapping[str, float]) -> dict:
    return {name: round(each, 3) for name, each in seconds.items()}
