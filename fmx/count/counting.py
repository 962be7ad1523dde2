"""Samples -> counts of their guides: spans on the one road, what is counted in them added up."""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import InputError
from ..input.dna import CODE, WORD
from ..input.read_problems import complaint
from ..machines.pipeline import travel
from .assign import (
    AMBIGUOUS,
    INEXACT,
    LEFT,
    LOW_QUALITY,
    N_TOTALS,
    OFFSETS,
    READS,
    WORST,
    Rules,
    count_records,
    new_tally,
    one_record,
)
from .inputs import Inputs
from .offsets import LOOKED_AT, choose
from .table import Table
from .where import BIT, FORWARD, REVERSE, Where, at_offsets, scanned

FIRST = 1 << 20  # reads of a file whose windows are kept where they are unassigned
_PLAIN = np.where(CODE < 4, CODE, 0).astype(np.uint8)
_ALL = 2**62


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


@dataclass
class Counted:
    """What was seen of a sample: ``counts``, ``totals`` and ``hits`` of assign.Tally; ``left``: arrays of the
    windows of unassigned reads."""

    counts: np.ndarray
    totals: np.ndarray = field(default_factory=lambda: np.zeros(N_TOTALS, np.int64))
    hits: np.ndarray = field(default_factory=lambda: np.zeros((2, OFFSETS), np.int64))
    left: list = field(default_factory=list)

    def add(self, tally) -> None:
        self.counts += tally.counts
        self.totals += tally.totals
        self.hits += tally.hits
        self.left.append(tally.left[: tally.totals[LEFT]].copy())

    @property
    def reads(self) -> int:
        return int(self.totals[READS])

    @property
    def assigned(self) -> int:
        return int(self.counts.sum())

    @property
    def ambiguous(self) -> int:
        return int(self.totals[AMBIGUOUS])

    @property
    def low_quality(self) -> int:
        return int(self.totals[LOW_QUALITY])

    @property
    def inexact(self) -> int:
        return int(self.totals[INEXACT])

    @property
    def unassigned(self) -> int:
        return self.reads - self.assigned - self.ambiguous - self.low_quality


class Counter:
    """Counts the guides of a Table in spans of reads."""

    def __init__(self, table: Table, n_guides, options: CountOptions):
        self._table, self._n_guides, self._asked = table, n_guides, options.where()
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
            if is_first:
                source.where.tell(self._asked or self._find(chunk))
        finally:
            if is_first and not source.where.is_told():
                source.where.tell(None)
        where = source.where.wait()
        if where is None:  # the first span has failed, and says so
            return None
        return source.sample, self.count(chunk, where)

    def count(self, chunk, where):
        """The Tally of a chunk.  Raises InputError."""
        n_left = min(chunk.n_bound, max(0, FIRST + 1 - chunk.number))
        return self._count(chunk, Rules(self._table, where, *self._judge, _ALL, CODE, _PLAIN, BIT), n_left)

    def _count(self, chunk, rules, n_left):
        tally = new_tally(self._n_guides, n_left, self.left_length)
        batch, words = one_record(chunk.data), np.empty(chunk.data.size // WORD + 2, np.uint64)
        problem = count_records(rules, batch, chunk.is_fastq, words, tally)
        if problem:
            record = f"record {chunk.number + int(tally.totals[READS])}"
            raise InputError(chunk.path, record, complaint(chunk, batch, 0, problem))
        return tally

    def _find(self, chunk) -> Where:
        """Where guides stand, as the first reads tell."""
        if not chunk.is_fastq:  # to take FASTA's records changes them
            chunk = replace(chunk, data=chunk.data.copy())
        rules = Rules(self._table, scanned(self._strands), 0, WORST, LOOKED_AT, CODE, _PLAIN, BIT)
        tally = self._count(chunk, rules, 0)
        return at_offsets(choose(chunk.path, self._table, tally.hits, int(tally.totals[READS])))


def count_samples(counter, samples, n_guides, n_threads, progress) -> list:
    """A Counted for each Sample, in order."""
    found = [Counted(np.zeros(n_guides, np.int64)) for _ in samples]
    n_reads, start = 0, time.monotonic()
    for seen in travel(Inputs(samples, n_threads), [counter.work] * n_threads, None):
        if seen is not None:
            sample, tally = seen
            found[sample].add(tally)
            n_reads += int(tally.totals[READS])
            rate = n_reads / max(time.monotonic() - start, 1e-9)
            progress.show(f"{n_reads:,} reads, {rate:,.0f} reads/s")
    return found
