"""What a report tells of any run: looked at while it goes on, and told as facts (report/facts.py)."""

from datetime import UTC, datetime, timedelta

from .clock import Clock, Timed
from .wall import Wall


class Watch:
    """Of one run, for a Report; ``clock`` is told what its stages take."""

    def __init__(self, report):
        self._report, self._clocks = report, {}
        self.clock, self._wall = Clock(), Wall()

    def begin(self, wall: Wall, sessions=()) -> None:
        """All is compiled and open, also the GpuSessions of GPUs: now the work begins, for the first time or
        once more."""
        self._wall = wall
        self._clocks = {"CPU": self.clock} | {str(session): session.clock for session in sessions}
        for clock in self._clocks.values():
            clock.seconds.clear()

    def timed(self, sink) -> Timed:
        """The file that is written."""
        return Timed(self.clock, sink)

    def facts(self, places, summary, found=None) -> dict:
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


def _rounded(seconds) -> dict:
    return {name: round(each, 3) for name, each in seconds.items()}
