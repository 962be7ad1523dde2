"""Summary of a run of fmx search: sums, a hint if nearly no read is mapped, and facts for a report."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..compiler.functions import compiled
from ..errors import n_of
from ..input.reads import FORWARD, REVERSE, WHOLE, count_lengths, histogram, no_lengths, rows_of
from ..machines.progress import RunCounts
from .hits import eligible_of

if TYPE_CHECKING:
    from ..index.reference import Reference
    from .counts import Screen, Tally
    from .find import SearchedReads
    from .mapping import MapOptions


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

    def hint(self) -> str:
        return hint(self)

    @classmethod
    def of(cls, reads: "SearchedReads", options: "MapOptions") -> "Summary":
        """Return the Summary of SearchedReads."""
        summary = cls(*_sums_of((reads,), reads.total, options.policy.at_most)[:-1])
        if options.counts_lengths:
            eligible = options.policy.eligible(reads.total)
            weight = reads.weight * (eligible > 0)
            summary.lengths, summary.multiplicity = _lengths_of((reads,)), no_lengths()
            count_lengths(eligible, weight, summary.multiplicity)
            if (of_reads := reads.reverse) is None:
                lo, hi = (array[:, 1::2].astype(np.int64) for array in reads.intervals)
                of_reads = (hi - lo).sum(axis=0)
            if reads.fewest is not None:
                summary.mismatches = np.bincount(reads.fewest, weight, 3).astype(np.int64)
            reverse = (of_reads * weight).sum()
            summary.strands = np.array([(eligible * weight).sum() - reverse, reverse])
        return summary

    def facts(self) -> dict:
        """Return the numbers for a report (docs/formats.md)."""
        return {
            "reads": self.reads, "bases": self.bases, "mapped": self.mapped, "unique": self.unique,
            "suppressed": self.suppressed, "unmapped": self.reads - self.mapped - self.suppressed,
            "cannot_occur": self.hopeless, "occurrences": self.hits,
        }  # fmt: skip

    def sentence(self) -> str:
        """Return one line that describes the run."""
        wording: Wording = self.wording
        share = 100 * self.mapped / max(self.reads, 1)
        more = f", {self.suppressed:,} suppressed by -m" if self.suppressed else ""
        hopeless = f"; {self.hopeless:,} not searched ({wording.cannot_occur})"
        mapped = wording.matched() or ("mapped" if wording.noun == "read" else "found")
        counts = f", {self.unique:,} uniquely{more}; {n_of(self.hits, 'occurrence')}"
        return (
            f"{n_of(self.reads, wording.noun)}: {self.mapped:,} {mapped} ({share:.2f} %)"
            f"{counts if wording.counts_all else ''}{hopeless if self.hopeless else ''}"
        )


def _sums_of(mates: "Sequence[SearchedReads]", total: np.ndarray, at_most: int) -> tuple[int, ...]:
    """Return the result of ``_sums`` for reads, or both mates of pairs, with ``total`` int64[n]."""
    columns = zip(*((each.total, each.batch.length, each.can_occur) for each in mates), strict=True)
    return _sums(total, *columns, mates[0].weight, at_most)


def _lengths_of(mates: "Sequence[SearchedReads]") -> np.ndarray:
    """Return the number of reads by length."""
    counts = no_lengths()
    for each in mates:
        count_lengths(each.batch.length, each.weight, counts)
    return counts


@compiled
def _sums(total, of_mates, length, can_occur, weight, at_most):
    """Return the fields of a PairSummary; of single reads none is a mate mapped alone.

    ``of_mates``, ``length``, ``can_occur``: of reads, or of mates 1 and of mates 2.
    """
    n = bases = mapped = unique = suppressed = hits = alone = hopeless = np.int64(0)
    for r in range(total.size):
        eligible = eligible_of(total[r], at_most)
        n += weight[r]
        mapped += weight[r] * (eligible > 0)
        unique += weight[r] * (eligible == 1)
        suppressed += weight[r] * (total[r] != eligible)
        hits += weight[r] * eligible
        for mate in range(len(of_mates)):
            bases += weight[r] * length[mate][r]
            alone += total[r] == 0 and eligible_of(of_mates[mate][r], at_most) > 0
            hopeless += weight[r] * (not can_occur[mate][r])
    return n, bases, mapped, unique, suppressed, hits, hopeless, alone


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
    hopeless: int = 0
    alone: int = 0  # mates that occur, but in no proper pair
    _: KW_ONLY
    lengths: np.ndarray | None = None
    inserts: np.ndarray | None = None
    multiplicity: np.ndarray | None = None  # number of pairs by their proper pairs, if requested
    mismatches: np.ndarray | None = None

    things, unit = "reads", "pairs"

    def hint(self) -> str:
        return hint(self)

    @classmethod
    def of(
        cls,
        mates: "Sequence[SearchedReads]",
        options: "MapOptions",
        total: np.ndarray,
        fewest: np.ndarray,
        inserts: np.ndarray | None = None,
    ) -> "PairSummary":
        """Return the PairSummary of mates 1 and mates 2.

        ``total``, ``fewest`` int64[n]: number of proper pairs of each pair, and the fewest mismatches in one.
        """
        summary = cls(*_sums_of(mates, total, options.policy.at_most), inserts=inserts)
        if options.counts_lengths:
            eligible = options.policy.eligible(total)
            summary.lengths = _lengths_of(mates)
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
        """Return the numbers for a report (docs/formats.md)."""
        return {
            "pairs": self.pairs, "reads": self.reads, "bases": self.bases, "proper": self.proper,
            "unique": self.unique, "suppressed": self.suppressed, "alone": self.alone,
            "cannot_occur": self.hopeless, "proper_pairs": self.hits,
        }  # fmt: skip

    def sentence(self) -> str:
        """Return one line that describes the run."""
        wording: Wording = self.wording
        share = 100 * self.proper / max(self.pairs, 1)
        more = f", {self.suppressed:,} suppressed by -m" if self.suppressed else ""
        hopeless = f"; {n_of(self.hopeless, 'mate')} not searched ({wording.cannot_occur})"
        if matched := wording.matched():
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
class Wording:
    """Options that sentences about a summary depend on; JSON types.

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
    def of(cls, options: "MapOptions", reference: "Reference") -> "Wording":
        """Return the Wording of MapOptions and a Reference."""
        contig = float(np.median(reference.lengths)) if len(reference.lengths) else 0.0
        mismatches, iupac = (options.near.mismatches, options.near.iupac) if options.near else (0, False)
        trims = options.trim != WHOLE or options.collapse not in (None, WHOLE)
        counts_all = options.near is None or options.near.counts_all or options.near.strata
        counts_all &= not options.stretch
        return cls(
            options.cannot_occur(), contig, options.strands, iupac, options.noun, mismatches, trims,
            counts_all=counts_all, stretch=options.stretch,
        )  # fmt: skip


def hint(summary: "PairSummary | Summary") -> str:
    """Return the likeliest reason why so few reads occur, or why patterns cannot, and what to do, or ""."""
    wording, n_found = summary.wording, summary.mapped + summary.suppressed
    if wording.noun == "pattern":
        is_possible = summary.hopeless == 0 or wording.iupac or not wording.has_codes
        return "" if is_possible else "to match IUPAC codes in patterns, such as N, R or Y, add --iupac"
    if summary.reads < FEW or n_found >= RARE * summary.reads or wording.stretch:
        return ""
    length, contig = summary.bases / summary.reads, wording.contig
    if length > contig:
        return (
            f"reads have {length:.0f} bases on average, but most contigs are no longer than {contig:.0f}: "
            "use --start N --length M to search only the part of each read that can match"
        )
    if summary.hopeless > summary.reads / 2:
        if wording.trims:
            return (
                "most reads cannot be searched after trimming: check the file, --trim5, --trim3, --start, "
                "--length and --min-length"
            )
        return "most reads cannot be searched: check the file; trim ends of N with --trim5 and --trim3"
    if wording.strands != FORWARD | REVERSE:
        other = "--forward-only" if wording.strands == FORWARD else "--reverse-only"
        return f"reads may come from the other strand: remove {other}"
    allow = (", allow --mismatches,", ", allow --mismatches 2,", "")[wording.mismatches]
    return (
        "a read must match over its whole length: trim adapters (--trim5, --trim3, --length)"
        f"{allow} and check the reference"
    )


# Facts in the report of a search, besides those of every run (machines/progress.py).


def search_facts(
    summary: "PairSummary | Summary", tally: "Tally | None", screen: "Screen | None", by_group: bool = False
) -> dict:
    """Return facts (report/__init__.py) of a Tally of contigs, or ``by_group`` of groups, and of a Screen."""
    facts = count_facts(summary, "lengths", "inserts", "multiplicity")
    if summary.mismatches is not None:
        facts["mismatches"] = [[n, n, int(reads)] for n, reads in enumerate(summary.mismatches) if reads]
    if tally:
        facts["groups" if by_group else "contigs"] = _rows_of(tally, by_group)
    if screen:
        combinations = screen.combinations().items()
        facts["screen"] = [{"groups": list(names), "reads": n} for names, n in combinations]
    return facts


def count_facts(summary: Any, *names: str) -> dict:
    """Return those of ``names`` that a summary has, as rows (input/reads.py), and counts of strands."""
    counts = {name: getattr(summary, name) for name in names if hasattr(summary, name)}
    facts: dict = {name: [] if each is None else rows_of(each) for name, each in counts.items()}
    if hasattr(summary, "strands"):
        forward, reverse = (0, 0) if summary.strands is None else summary.strands
        facts["strands"] = {"forward": int(forward), "reverse": int(reverse)}
    return facts


def _rows_of(tally: "Tally", by_group: bool) -> list:
    """Return the rows of ``fmx search --counts``, as in output/formats/tsv.py."""
    from .counts import UNITS

    rows, owners = [], tally.owners
    for name, length, row in zip(owners.names, owners.lengths.tolist(), tally.table().tolist(), strict=True):
        reads, hits, once, millionths, only = row
        split = {"unique": only, "shared": reads - only} if by_group else {"unique": once}
        counts = {"reads": reads, "hits": hits, **split, "fractional": millionths / UNITS}
        rows.append({"name": name, "length": length, **counts})
    return rows
