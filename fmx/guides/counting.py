"""Where the guides of a file stand, as its first reads tell: at which offsets, on which strand."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, n_of
from ..input.reads import FORWARD, REVERSE, ReadBatch
from ..machines.pipeline import run_ordered
from .assign import WORST, Rules, assign
from .table import NONE, Table
from .tally import OFFSETS, Sum, Tally, add_counts, add_hits, unique_pairs
from .targets import EITHER, EVERY, Targets, join
from .where import GuideWindow, at_offsets, scanned

if TYPE_CHECKING:
    from ..machines.progress import Progress
    from .inputs import Inputs
    from .shards import ShardInputs, _Taken

LOOKED_AT = 10_000  # reads
LEAST = 0.01  # share of the guides found that an offset must have
CHANCE = 5  # times as many as by chance

NOT_FOUND = (
    "no guide is found in the first {}: is it the right library? If guides are rare here, say where "
    "they stand with --offset, --after, --before or --anywhere"
)
OTHER_STRAND = {
    FORWARD: "the first {} hold guides as reverse complements: leave --forward-only out",
    REVERSE: "the first {} hold guides as they are, not as reverse complements: leave --reverse-only out",
}


def choose(table: Table, hits: np.ndarray, n_reads: int) -> list:
    """The (offset, is it reverse) of guides, the most frequent first.

    ``hits`` int64[2, OFFSETS] of the first n_reads of a file.
    """
    keys = np.add.reduceat((table.guides >= 0).astype(np.int64), table.first)
    by_chance = n_reads * float((keys / 4.0**table.lengths).sum())
    least = max(LEAST * hits.sum(), CHANCE * by_chance, 1)
    places = [
        (-int(hits[strand, offset]), offset, bool(strand))
        for strand in range(2)
        for offset in range(OFFSETS - 1)
        if hits[strand, offset] >= least
    ]
    return [(offset, reverse) for _, offset, reverse in sorted(places)]


# Samples -> counts of their guides: spans in one queue, what is seen in them added up.

FIRST = 1 << 20  # reads of a file whose windows are kept where they are unassigned


@dataclass(frozen=True)
class CountOptions:
    """Where guides are ``looked`` for in reads, or in mates 1 and mates 2, and what counts: ``mismatches`` 0
    or 1; ``quality`` of each letter of a guide."""

    looked: tuple = (GuideWindow(),)
    mismatches: int = 0
    quality: int = 0
    n_threads: int = 1

    def __str__(self) -> str:
        where = "; mates 2 ".join(map(str, self.looked))
        return f"{where}, mismatches {self.mismatches}, quality {self.quality}"


class Counter:
    """Counts the guides of Targets in spans of reads, or of pairs."""

    def __init__(self, targets: Targets, options: CountOptions) -> None:
        self.targets, self._looked = targets, options.looked
        self._judge = options.mismatches, options.quality + WORST

    def work(self, emit: Callable[..., Any], inputs: "Inputs | _Taken") -> tuple[int, Tally] | None:
        """(number of the sample, Tally) of the next span, or None."""
        taken = inputs.take()
        if taken is None:
            return None
        source, read, is_first = taken
        seen = Sum(self.targets.n_rows)
        try:
            found = read()
            if is_first:
                source.where.tell(self.find(source.names, found[0].batches if found else ()))
        finally:
            if is_first and not source.where.is_told():
                source.where.tell(None)
        where = source.where.wait()
        if where is None:  # the first span has failed, and says so
            return None
        for reads in found:
            seen.add(self.count(reads.batches, where, source.file, reads.number))
        return source.sample, seen.tally()

    def count(self, batches: tuple, where: tuple, file: int, number: int) -> Tally:
        """The Tally of a ReadBatch, or of those of mates, whose first is read ``number`` of a file."""
        n, n_left = batches[0].length.size, max(0, FIRST + 1 - number)
        assigned = [
            assign(Rules(guides.table, place, *self._judge), batch, n, n_left)
            for guides, place, batch in zip(self.targets.guides, where, batches, strict=True)
        ]
        guide, off, tally = assigned[0].guide, assigned[0].off, Tally.of_nothing(self.targets.n_rows)
        if pairs := self.targets.pairs:
            guide, off, keys = np.empty(n, np.int32), np.empty(n, np.uint8), np.empty(n, np.uint64)
            join(tuple(assigned), pairs, guide, off, keys)
            if pairs.kind == EVERY:
                tally = tally._replace(pairs=unique_pairs(keys[guide >= 0]))
        kept = np.flatnonzero(assigned[0].has_left & (guide[:n_left] == NONE))
        places = (kept + ((file << 32) + number)).astype(np.uint64)
        tally = tally._replace(left=np.stack([assigned[0].left[kept], places]))
        add_counts(guide, off, tally)
        for mate, each in enumerate(assigned):
            add_hits(guide, each, mate, tally.hits)
        return tally

    def find(self, names: Sequence[str], batches: tuple[ReadBatch, ...]) -> tuple:
        """Where guides stand: as asked, or as the first reads of files tell.  Raises InputError."""
        where = [looked.where() for looked in self._looked]
        if not batches:
            return tuple(place or at_offsets([]) for place in where)
        n = min(LOOKED_AT, batches[0].length.size)
        for mate, batch in enumerate(batches):
            if where[mate] is None:
                where[mate] = at_offsets(self._places(mate, batch, n, self._looked[mate].strands))
        empty = [i for i, place in enumerate(where) if not place.is_scanned and place.offset.size == 0]
        is_either = self.targets.pairs is not None and self.targets.pairs.kind == EITHER
        if n and len(empty) > (1 if is_either else 0):
            what = self._why_none(empty[0], batches[empty[0]], n)
            raise InputError(names[empty[0]], "", what.format(n_of(n, "read")))
        return tuple(where)

    def _why_none(self, mate: int, batch: ReadBatch, n: int) -> str:
        """What to say of files of a ``mate`` in whose first n reads no guide is."""
        strands = self._looked[mate].strands
        if strands != (FORWARD | REVERSE) and self._places(mate, batch, n, strands ^ (FORWARD | REVERSE)):
            return OTHER_STRAND[strands]
        return NOT_FOUND

    def _places(self, mate: int, batch: ReadBatch, n: int, strands: int) -> list:
        """(offset, is it reverse) of the guides on ``strands`` of the first n reads."""
        table = self.targets.guides[mate].table
        found = assign(Rules(table, scanned(strands), 0, WORST), batch, n, 0)
        hits = Tally.of_nothing(0).hits
        add_hits(found.guide, found, 0, hits)
        return choose(table, hits[:2], n)


def count_samples(
    counter: Counter, inputs: "Inputs | ShardInputs", n_samples: int, n_threads: int, progress: "Progress"
) -> list:
    """A Tally for each sample of Inputs, or of others that a Counter takes, in order."""
    sums, n_reads = [Sum(counter.targets.n_rows) for _ in range(n_samples)], 0
    unit = "pair" if counter.targets.pairs else "read"
    start = time.monotonic()
    progress.follow(inputs.share)
    with closing(run_ordered(inputs, [counter.work] * n_threads, None)) as parts:
        for number, tally in filter(None, parts):
            sums[number].add(tally)
            n_reads += tally.reads
            rate = n_reads / max(time.monotonic() - start, 1e-9)
            progress.show(f"{n_of(n_reads, unit)}, {rate:,.0f} {unit}s/s")
    return [each.tally() for each in sums]
