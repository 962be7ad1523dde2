"""What a report tells of any run: looked at while it goes on, and told as facts (report/facts.py)."""

import time
from datetime import UTC, datetime

from .clock import Clock, Timed


class Watch:
    """Of one run, for a Report; ``clock`` is told what its stages take."""

    def __init__(self, report):
        self._report, self._clocks = report, {}
        self.clock, self._began, self._at = Clock(), time.monotonic(), datetime.now(UTC)
        self._start = self._began

    def begin(self, sessions=()) -> None:
        """All is compiled and open, also the GpuSessions of GPUs: now the work begins."""
        self._start = time.monotonic()
        self._clocks = {"CPU": self.clock} | {str(session): session.clock for session in sessions}
        for clock in self._clocks.values():
            clock.seconds.clear()

    def timed(self, sink) -> Timed:
        """The file that is written."""
        return Timed(self.clock, sink)

    def facts(self, places, summary, found=None) -> dict:
        """All that is told: ``places`` of the work, a ``summary`` of it, and what else was ``found``."""
        now = time.monotonic()
        known = {
            "started": self._at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "places": places,
            "counts": {name: int(n) for name, n in summary.facts().items()},
            "seconds": {
                "starting": round(self._start - self._began, 3),
                "working": round(now - self._start, 3),
            },
            "stages": {
                place: {stage: round(seconds, 3) for stage, seconds in sorted(clock.seconds.items())}
                for place, clock in self._clocks.items()
            },
        }
        self._began, self._at = now, datetime.now(UTC)  # of the next run by the same machines
        return self._report.facts({**known, **(found or {})})
