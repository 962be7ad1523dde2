"""What a command takes, stage by stage, and how far it is: clocks, the wall, messages and progress."""

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Protocol

from ..compiler import functions
from ..report.facts import SPENT
from ..system.process import started, tell


class Writable(Protocol):
    """What takes bytes: a file, or a sink of the output."""

    def write(self, piece: Any, /) -> object: ...


class Clock:
    """``seconds`` sums up what each stage has taken, of all threads of the host together."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = Lock()

    def add(self, stage: str, seconds: float) -> None:
        """Count some more."""
        with self._lock:
            self.seconds[stage] += seconds

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


# Messages and progress on stderr: a line that is replaced on a terminal, elsewhere a line a minute.

OFTEN, SELDOM = 0.2, 60.0  # seconds between two lines, on a terminal and elsewhere
_BAR, _WITH_BAR = "|{bar:10}| ", 64  # where a line has as many columns
_KNOWN = "{percentage:3.0f} % " + _BAR + "{elapsed}, {remaining} left: {desc}"
_UNKNOWN = "{elapsed}: {desc}"


class Progress:
    """Says what is being done.  ``quiet`` says nothing.  ``wall``: the time that the command takes."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet, self.wall = quiet, Wall()
        self._live = not quiet and sys.stderr.isatty()
        self._wait = OFTEN if self._live else SELDOM
        self._shown = time.monotonic() if not self._live else 0.0
        self._lock = threading.Lock()
        self._alone: tuple | None = None
        self.follow()

    def begin(self) -> None:
        """Another run of the same command begins."""
        self.wall = Wall(time.monotonic())

    def follow(self, share: Callable[[], float | None] = lambda: None) -> None:
        """Begin something of which ``share()`` is done, from 0 to 1, or None where that is not known."""
        self._share, self._start = share, time.monotonic()

    def share(self) -> float | None:
        """The share that is done of what is followed, or None where that is not known."""
        return self._share()

    def say(self, message: str) -> None:
        """One line that stays."""
        if not self.quiet:
            tell(f"fmx: {message}")

    def show(self, message: str) -> None:
        """How far it is: on a terminal a line that the next one replaces, five times a second at most."""
        with self._lock:
            now = time.monotonic()
            if self.quiet or now - self._shown <= self._wait:
                return
            self._shown = now
            what, share, start = self._alone or (lambda: message, self._share, self._start)
            line = meter(what(), share(), now - start, _columns() if self._live else None)
            if self._live:
                tell(line, end="")
            else:
                self.say(line.strip())

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[float | None], None]]:
        """``with progress.stage("suffix array") as done:`` tells the stage and the seconds it took.

        ``done(share)`` may be called as it goes on; the time goes on in any case.
        """
        start, share = time.monotonic(), None

        def done(now: float | None) -> None:
            nonlocal share
            share = now
            self.show(name)

        self.follow(lambda: share)
        self.show(name)
        with self.kept_up(lambda: name):
            yield done
        self.say(f"{name}: {time.monotonic() - start:.1f} s")

    @contextmanager
    def alone(self, message: Callable[[], str], share: Callable[[], float | None]) -> Iterator[None]:
        """Within, show ``message()`` and ``share()`` in place of anything else, as time goes by."""
        self._alone = message, share, time.monotonic()
        try:
            with self.kept_up(message):
                yield
        finally:
            self._alone = None

    @contextmanager
    def kept_up(self, message: Callable[[], str]) -> Iterator[None]:
        """Show what ``message()`` gives as time goes by, whatever the caller's thread does."""
        is_over = threading.Event()

        def repeat() -> None:
            while not is_over.wait(max(self._wait, OFTEN)):
                self.show(message())

        thread = threading.Thread(target=repeat, daemon=True)
        if not self.quiet:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            if not self.quiet:
                thread.join()


def meter(message: str, share: float | None, seconds: float, columns: int | None) -> str:
    """A line of progress that is no wider than ``columns`` (None: of any width, without a bar)."""
    from tqdm.std import tqdm  # 25 ms, which only who waits spends

    form = _UNKNOWN if share is None else _KNOWN if (columns or 0) >= _WITH_BAR else _KNOWN.replace(_BAR, "")
    is_plain = "utf" not in (sys.stderr.encoding or "").lower()
    line = tqdm.format_meter(
        share or 0, 1, seconds, ncols=columns, prefix=message, bar_format=form, ascii=is_plain
    )
    return line.rstrip()


def _columns() -> int | None:
    try:
        return max(1, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
    except OSError:
        return None
