"""Summary of a run of fmx search: sums, a hint if nearly no read is mapped, and facts for a report."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from ..compiler.functions import compiled
from ..errors import n_of
from ..input.reads import FORWARD, REVERSE, WHOLE, count_lengths, histogram, no_lengths, rows_of
from ..machines.progress import RunCounts
from .hits import eligible_of

if TYPE_CHECKING:
    from ..index.reference import Reference
    from .counts import Screen, Tally
    from .find import FoundReads
    from .hits import SelectionPolicy
    from .mapping import MapOptions
    from .pairs import PairTotals


@dataclass
class Sums(RunCounts):
    """Base of dataclasses of numbers and arrays that add up; None where nothing is counted."""

    def add(self, other: Self) -> None:
        for item in fields(self):
            mine, more = getattr(self, item.name), getattr(other, item.name)
            setattr(self, item.name, more if mine is None else mine if more is None else mine + more)

    def plus(self, other: Self) -> Self:
        """Add another one and return self."""
        self.add(other)
        return self


@dataclass
class Summary(Sums):
    """Counts of a run, in reads (``hits`` in occurrences); a collapsed read counts with its weight.

    The others are None unless requested. ``lengths`` int64[N_CLASSES]: number of reads by length
    (input/reads.py). ``multiplicity`` int64[N_CLASSES]: number of mapped reads by their occurrences.
    ``strands`` int64[2]: occurrences on + and -. ``mismatches`` int64[3]: number of mapped reads by the
    mismatches of their best hit, if allowed.
    """

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    unique: int = 0
    suppressed: int = 0
    hits: int = 0
    hopeless: int = 0  # reads that were not searched
    _: KW_ONLY
    lengths: np.ndarray | None = None
    multiplicity: np.ndarray | None = None
    strands: np.ndarray | None = None
    mismatches: np.ndarray | None = None

    things = "reads"

    @classmethod
    def of(cls, found: "FoundReads", options: "MapOptions") -> "Summary":
        """Return the Summary of FoundReads."""
        at_most = options.policy.at_most
        summary = cls(*_sums(found.total, found.batch.length, found.searched, found.weight, at_most))
        if options.counts_lengths:
            summary.lengths = lengths_of(options, found)
            summary.count_hits(found, options.policy)
        return summary

    def count_hits(self, found: "FoundReads", policy: "SelectionPolicy") -> None:
        """Count how often reads occur, on which strands, and with how many mismatches."""
        eligible = policy.eligible(found.total)
        weight = found.weight * (eligible > 0)
        self.multiplicity, self.strands = no_lengths(), np.zeros(2, np.int64)
        count_lengths(eligible, weight, self.multiplicity)
        if found.reverse is None:
            count_strands(found.intervals, weight, self.strands)
        else:
            reverse = int((found.reverse * weight).sum())
            self.strands[:] = int((eligible * weight).sum()) - reverse, reverse
        if found.fewest is not None:
            self.mismatches = np.bincount(found.fewest, weight, 3).astype(np.int64)

    def facts(self) -> dict:
        """Return the numbers for a report (docs/reports.md)."""
        return {
            "reads": self.reads, "bases": self.bases, "mapped": self.mapped, "unique": self.unique,
            "suppressed": self.suppressed, "unmapped": self.reads - self.mapped - self.suppressed,
            "cannot_occur": self.hopeless, "occurrences": self.hits,
        }  # fmt: skip

    def sentence(self, asked: "Asked") -> str:
        """Return one line that describes the run."""
        share = 100 * self.mapped / max(self.reads, 1)
        more = f", {self.suppressed:,} suppressed by -m" if self.suppressed else ""
        hopeless = f"; {self.hopeless:,} not searched ({asked.cannot_occur})"
        mapped = asked.matched() or ("mapped" if asked.noun == "read" else "found")
        counts = f", {self.unique:,} uniquely{more}; {n_of(self.hits, 'occurrence')}"
        return (
            f"{n_of(self.reads, asked.noun)}: {self.mapped:,} {mapped} ({share:.2f} %)"
            f"{counts if asked.counts_all else ''}{hopeless if self.hopeless else ''}"
        )


def lengths_of(options: "MapOptions", *found: "FoundReads") -> np.ndarray | None:
    """Return the number of FoundReads by length, if MapOptions request it."""
    if not options.counts_lengths:
        return None
    counts = no_lengths()
    for its in found:
        count_lengths(its.batch.length, its.weight, counts)
    return counts


@compiled
def count_strands(intervals, weight, strands):
    """Count occurrences of reads with Intervals [n_parts, 2 * n_reads] in ``strands`` int64[2]."""
    for part in range(intervals.lo.shape[0]):
        for i in range(2 * weight.size):
            n = np.int64(intervals.hi[part, i]) - np.int64(intervals.lo[part, i])
            strands[i & 1] += n * weight[i >> 1]


@compiled
def _pair_sums(total, alone, length, sought, at_most):
    """Return the fields of a PairSummary; ``alone``, ``length``, ``sought``: of mates 1 and of mates 2."""
    bases = proper = unique = suppressed = hits = n_alone = hopeless = np.int64(0)
    for r in range(total.size):
        eligible = eligible_of(total[r], at_most)
        proper += eligible > 0
        unique += eligible == 1
        suppressed += total[r] != eligible
        hits += eligible
        for mate in range(2):
            bases += length[mate][r]
            n_alone += total[r] == 0 and eligible_of(alone[mate][r], at_most) > 0
            hopeless += not sought[mate][r]
    return total.size, bases, proper, unique, suppressed, hits, n_alone, hopeless


@compiled
def _sums(total, length, sought, weight, at_most):
    """Return the fields of a Summary."""
    reads = bases = mapped = unique = suppressed = hits = hopeless = np.int64(0)
    for r in range(total.size):
        eligible = eligible_of(total[r], at_most)
        reads += weight[r]
        bases += weight[r] * length[r]
        mapped += weight[r] * (eligible > 0)
        unique += weight[r] * (eligible == 1)
        suppressed += weight[r] * (total[r] != eligible)
        hits += weight[r] * eligible
        hopeless += weight[r] * (not sought[r])
    return reads, bases, mapped, unique, suppressed, hits, hopeless


@dataclass
class PairSummary(Sums):
    """Counts of a run, in pairs (``hits`` in proper pairs; ``alone`` and ``hopeless`` in mates).

    ``lengths``: number of mates by length. ``inserts``: number of pairs by the insert size of their first
    proper pair. ``mismatches`` int64[5]: number of pairs by the mismatches of both mates in their best proper
    pair, if allowed. None unless requested.
    """

    pairs: int = 0
    bases: int = 0
    proper: int = 0
    unique: int = 0
    suppressed: int = 0
    hits: int = 0
    alone: int = 0  # mates that occur, but in no proper pair
    hopeless: int = 0
    _: KW_ONLY
    lengths: np.ndarray | None = None
    inserts: np.ndarray | None = None
    multiplicity: np.ndarray | None = None  # number of pairs by their proper pairs, if requested
    mismatches: np.ndarray | None = None

    things, unit = "reads", "pairs"

    @classmethod
    def of(
        cls,
        found: "Sequence[FoundReads]",
        options: "MapOptions",
        totals: "PairTotals",
        inserts: np.ndarray | None = None,
    ) -> "PairSummary":
        """Return the PairSummary of FoundReads, mates 1 and mates 2."""
        (total, fewest), (one, two) = totals, found
        columns = (one.total, two.total), (one.batch.length, two.batch.length), (one.searched, two.searched)
        summary = cls(*_pair_sums(total, *columns, options.policy.at_most), inserts=inserts)
        if options.counts_lengths:
            eligible = options.policy.eligible(total)
            summary.lengths = lengths_of(options, *found)
            summary.multiplicity = histogram(eligible, eligible > 0)
            if options.near:
                summary.mismatches = np.bincount(fewest[eligible > 0], minlength=5)
        return summary

    @property
    def reads(self) -> int:
        return 2 * self.pairs

    @property
    def mapped(self) -> int:
        return 2 * self.proper + self.alone

    def facts(self) -> dict:
        """Return the numbers for a report (docs/reports.md)."""
        return {
            "pairs": self.pairs, "reads": self.reads, "bases": self.bases, "proper": self.proper,
            "unique": self.unique, "suppressed": self.suppressed, "alone": self.alone,
            "cannot_occur": self.hopeless, "proper_pairs": self.hits,
        }  # fmt: skip

    def sentence(self, asked: "Asked") -> str:
        """Return one line that describes the run."""
        share = 100 * self.proper / max(self.pairs, 1)
        more = f", {self.suppressed:,} suppressed by -m" if self.suppressed else ""
        hopeless = f"; {n_of(self.hopeless, 'mate')} not searched ({asked.cannot_occur})"
        if matched := asked.matched():
            ending = hopeless if self.hopeless else ""
            return f"{n_of(self.pairs, 'pair')}: {self.proper:,} {matched} ({share:.2f} %){ending}"
        return (
            f"{n_of(self.pairs, 'pair')}: {self.proper:,} mapped as proper pairs ({share:.2f} %), "
            f"{self.unique:,} uniquely{more}; {n_of(self.hits, 'proper pair')} in all; "
            f"{n_of(self.alone, 'mate')} mapped separately{hopeless if self.hopeless else ''}"
        )


# Hints: why nearly no read occurs, or why a pattern cannot occur, in one line.

FEW, RARE = 100, 0.02  # too few reads for a hint; largest mapped fraction that gets one


@dataclass(frozen=True)
class Asked:
    """Options that hints depend on, besides the summary; JSON types.

    ``cannot_occur``: which reads are not searched, in words. ``contig``: median length of contigs.
    ``strands``: as in MapOptions. ``iupac``: whether IUPAC codes stand for several bases. ``noun``: what a
    read is called. ``mismatches``: how many are allowed. ``trims``: whether reads are trimmed.
    ``has_codes``: whether reads may have IUPAC codes of several bases. ``counts_all``: as in Near.
    ``stretch``: as in MapOptions.
    """

    cannot_occur: str
    contig: float
    strands: int
    iupac: bool
    noun: str = "read"
    mismatches: int = 0
    trims: bool = False
    has_codes: bool = True
    counts_all: bool = True
    stretch: int = 0

    def matched(self) -> str:
        """Return what reads of a search by stretches have, in words; "" for other searches."""
        return f"with a match of {n_of(self.stretch, 'base')}" if self.stretch else ""

    @classmethod
    def of(cls, options: "MapOptions", reference: "Reference") -> "Asked":
        """Return the Asked of MapOptions and a Reference."""
        contig = float(np.median(reference.lengths)) if len(reference.lengths) else 0.0
        mismatches, iupac = (options.near.mismatches, options.near.iupac) if options.near else (0, False)
        trims = options.trim != WHOLE or options.collapse not in (None, WHOLE)
        counts_all = options.near is None or options.near.counts_all or options.near.strata
        counts_all &= not options.stretch
        asked = cls(options.cannot_occur(), contig, options.strands, iupac, options.noun, mismatches, trims)
        return replace(asked, counts_all=counts_all, stretch=options.stretch)


def hint(summary: "PairSummary | Summary", asked: Asked) -> str:
    """Return the likeliest reason why so few reads occur, and what to do; "" if enough do."""
    n_found = summary.mapped + summary.suppressed
    if summary.reads < FEW or n_found >= RARE * summary.reads or asked.stretch:
        return ""
    length, contig = summary.bases / summary.reads, asked.contig
    if length > contig:
        return (
            f"reads have {length:.0f} bases on average, but most contigs are no longer than {contig:.0f}: "
            "use --start N --length M to search only the part of each read that can match"
        )
    if summary.hopeless > summary.reads / 2:
        if asked.trims:
            return (
                "most reads cannot be searched after trimming: check the file, --trim5, --trim3, --start, "
                "--length and --min-length"
            )
        return "most reads cannot be searched: check the file; trim ends of N with --trim5 and --trim3"
    if asked.strands != FORWARD | REVERSE:
        other = "--forward-only" if asked.strands == FORWARD else "--reverse-only"
        return f"reads may come from the other strand: remove {other}"
    allow = (", allow --mismatches,", ", allow --mismatches 2,", "")[asked.mismatches]
    return (
        "a read must match over its whole length: trim adapters (--trim5, --trim3, --length)"
        f"{allow} and check the reference"
    )


def hint_for_patterns(summary: "Summary", asked: Asked) -> str:
    """Return what to do about patterns that cannot occur; "" if all can."""
    if summary.hopeless == 0 or asked.iupac or not asked.has_codes:
        return ""
    return "to match IUPAC codes in patterns, such as N, R or Y, add --iupac"


# Facts in the report of a search, besides those of every run (machines/progress.py).


def search_facts(
    summary: "PairSummary | Summary", tally: "Tally | None", screen: "Screen | None", by_group: bool = False
) -> dict:
    """Return facts (report/__init__.py) of a Tally of contigs, or ``by_group`` of groups, and of a Screen."""
    found: dict = length_facts(summary, ("lengths", "inserts", "multiplicity"))
    if isinstance(summary, Summary):
        found["strands"] = strand_facts((0, 0) if summary.strands is None else summary.strands)
    if summary.mismatches is not None:
        found["mismatches"] = [[n, n, int(reads)] for n, reads in enumerate(summary.mismatches) if reads]
    if tally:
        found["groups" if by_group else "contigs"] = _rows_of(tally, by_group)
    if screen:
        seen = screen.combinations()
        found["screen"] = [{"groups": list(names), "reads": n} for names, n in seen.items()]
    return found


def length_facts(summary: object, names: tuple[str, ...]) -> dict:
    """Return those of ``names`` that a summary has, as rows (input/reads.py)."""
    counts = {name: getattr(summary, name) for name in names if hasattr(summary, name)}
    return {name: [] if each is None else rows_of(each) for name, each in counts.items()}


def strand_facts(strands: "np.ndarray | tuple[int, int]") -> dict:
    """Return the number of occurrences or matches on + and on -, from int64[2]."""
    return {"forward": int(strands[0]), "reverse": int(strands[1])}


def _rows_of(tally: "Tally", by_group: bool) -> list:
    """Return the rows of ``fmx search --counts``, as in output/formats/tsv.py."""
    from .counts import UNITS

    rows = []
    owners = tally.owners
    for name, length, row in zip(owners.names, owners.lengths.tolist(), tally.table().tolist(), strict=True):
        reads, hits, once, millionths, only = row
        split = {"unique": only, "shared": reads - only} if by_group else {"unique": once}
        counts = {"reads": reads, "hits": hits, **split, "fractional": millionths / UNITS}
        rows.append({"name": name, "length": length, **counts})
    return rows
