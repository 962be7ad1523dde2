"""What a report tells of a search: looked at while it runs, and told as facts (report/facts.py)."""

import time
from datetime import UTC, datetime

from ..input.lengths import rows_of
from ..machines.clock import Clock, Timed
from .auto import AutoMapper
from .tally import UNITS


class Watch:
    """Of one search, for a Report; ``clock`` is told what its stages take."""

    def __init__(self, report):
        self._report = report
        self.clock, self._began, self._at = Clock(), time.monotonic(), datetime.now(UTC)
        self._start, self._mappers = self._began, []

    def begin(self, mappers) -> None:
        """All is compiled and open: now reads are mapped."""
        self._mappers, self._start = mappers, time.monotonic()
        for clock in (self.clock, *self._clocks().values()):
            clock.seconds.clear()

    def timed(self, sink) -> Timed:
        """The file that is written."""
        return Timed(self.clock, sink)

    def _clocks(self) -> dict:
        return {str(session): session.clock for mapper in self._mappers for session in mapper.sessions}

    def facts(self, summary, tally, screen=None, by_group=False) -> dict:
        """All that is told; ``tally``: a Tally of contigs, or ``by_group`` of groups; a Screen, or None."""
        now, clocks = time.monotonic(), {"CPU": self.clock, **self._clocks()}
        found = {
            "started": self._at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "places": [_place(mapper) for mapper in self._mappers],
            "counts": {name: int(n) for name, n in summary.facts().items()},
            "seconds": {
                "starting": round(self._start - self._began, 3),
                "working": round(now - self._start, 3),
            },
            "stages": {
                place: {stage: round(seconds, 3) for stage, seconds in sorted(clock.seconds.items())}
                for place, clock in clocks.items()
            },
        }
        self._began, self._at = now, datetime.now(UTC)  # of the next search by the same mappers
        for name in ("lengths", "inserts"):
            if hasattr(summary, name):
                counts = getattr(summary, name)
                found[name] = [] if counts is None else rows_of(counts)
        found["groups" if by_group else "contigs"] = _rows_of(tally, by_group)
        if screen:
            seen = screen.combinations()
            found["screen"] = [{"groups": list(names), "reads": n} for names, n in seen.items()]
        return self._report.facts(found)


def _place(mapper) -> str:
    if isinstance(mapper, AutoMapper):
        return mapper.sentence()
    return ", ".join(map(str, mapper.sessions)) or "the CPU"


def _rows_of(tally, by_group) -> list:
    """The rows of ``fmx search --counts``, as that has them (output/tsv.py)."""
    rows = []
    owners = tally.owners
    for name, length, row in zip(owners.names, owners.lengths.tolist(), tally.table().tolist(), strict=True):
        reads, hits, once, millionths, only = row
        split = {"unique": only, "shared": reads - only} if by_group else {"unique": once}
        counts = {"reads": reads, "hits": hits, **split, "fractional": millionths / UNITS}
        rows.append({"name": name, "length": length, **counts})
    return rows
