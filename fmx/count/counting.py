"""Samples -> counts of their guides: spans on the one road, what is seen in them added up."""

import time
from dataclasses import dataclass

import numpy as np

from ..input.reads import parse
from ..machines.pipeline import travel
from .assign import WORST, Rules, assign
from .inputs import Inputs
from .offsets import LOOKED_AT, choose
from .table import Table
from .tally import Tally, add_counts, add_hits
from .where import FORWARD, REVERSE, Where, at_offsets, scanned

FIRST = 1 << 20  # reads of a file whose windows are kept where they are unassigned


@dataclass(frozen=True)
class CountOptions:
    """Where guides are looked for, and what counts.

    ``offsets`` of a read; ``after`` and ``before``: flanks; ``anywhere``; none of them: the offsets that the
    first reads tell.  ``strands`` as bits; ``mismatches`` 0 or 1; ``quality`` of each letter of a guide.
    """

    offsets: tuple = ()
    after: str = ""
    before: str = ""
    anywhere: bool = False
    strands: int = FORWARD | REVERSE
    mismatches: int = 0
    quality: int = 0
    n_threads: int = 1

    def __str__(self):
        where = f"at {', '.join(map(str, self.offsets))}" if self.offsets else "at offsets of the first reads"
        if self.after or self.before or self.anywhere:
            where = f"after {self.after}" if self.after else ""
            where += f" before {self.before}" if self.before else ""
            where = where.strip() or "anywhere"
        strands = {FORWARD: "forward", REVERSE: "reverse", FORWARD | REVERSE: "both strands"}[self.strands]
        return f"{where}, {strands}, mismatches {self.mismatches}, quality {self.quality}"

    def where(self) -> Where | None:
        """Where guides are looked for, as asked; None if the first reads tell."""
        if self.offsets:
            both = [(False, FORWARD), (True, REVERSE)]
            strands = [reverse for reverse, strand in both if self.strands & strand]
            return at_offsets([(offset, reverse) for offset in self.offsets for reverse in strands])
        if self.after or self.before or self.anywhere:
            return scanned(self.strands, self.after, self.before)
        return None


class Counter:
    """Counts the guides of a Table in spans of reads."""

    def __init__(self, table: Table, n_guides, options: CountOptions):
        self._table, self.n_guides, self._asked = table, n_guides, options.where()
        self._strands, self._judge = options.strands, (options.mismatches, options.quality + WORST)
        self.left_length = int(table.lengths[0])

    def work(self, emit, inputs):
        """(number of the sample, Tally) of the next span, or None."""
        taken = inputs.take()
        if taken is None:
            return None
        source, span, is_first = taken
        try:
            chunk = span.read()
            batch = parse(chunk)
            if is_first:
                source.where.tell(self._asked or self._find(chunk.path, batch))
        finally:
            if is_first and not source.where.is_told():
                source.where.tell(None)
        where = source.where.wait()
        if where is None:  # the first span has failed, and says so
            return None
        return source.sample, self.count(batch, chunk.number, where)

    def count(self, batch, number, where) -> Tally:
        """The Tally of a ReadBatch whose first read is that ``number`` of its file."""
        rules = Rules(self._table, where, *self._judge)
        assigned = assign(rules, batch, batch.length.size, max(0, FIRST + 1 - number))
        tally = Tally.of_nothing(self.n_guides, assigned.left[assigned.has_left])
        add_counts(assigned.guide, assigned.off, tally)
        add_hits(assigned.guide, assigned, 0, tally.hits)
        return tally

    def _find(self, path, batch) -> Where:
        """Where guides stand, as the first reads of a file tell.  Raises InputError."""
        n = min(LOOKED_AT, batch.length.size)
        found = assign(Rules(self._table, scanned(self._strands), 0, WORST), batch, n, 0)
        tally = Tally.of_nothing(self.n_guides)
        add_hits(found.guide, found, 0, tally.hits)
        return at_offsets(choose(path, self._table, tally.hits[:2], n))


def count_samples(counter, samples, n_threads, progress) -> list:
    """A Tally for each Sample, in order."""
    found = [Tally.of_nothing(counter.n_guides) for _ in samples]
    left: list = [[] for _ in samples]
    inputs, n_reads, start = Inputs(samples, n_threads), 0, time.monotonic()
    progress.follow(inputs.share)
    for seen in travel(inputs, [counter.work] * n_threads, None):
        if seen is not None:
            number, tally = seen
            for mine, more in zip(found[number][:-1], tally[:-1], strict=True):
                mine += more
            left[number].append(tally.left)
            n_reads += tally.reads
            rate = n_reads / max(time.monotonic() - start, 1e-9)
            progress.show(f"{n_reads:,} reads, {rate:,.0f} reads/s")
    return [
        tally._replace(left=np.concatenate([tally.left, *each]))
        for tally, each in zip(found, left, strict=True)
    ]
