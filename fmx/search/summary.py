"""Summary of a run of fmx search: sums, a hint if nearly no read is mapped, and facts for a report."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import leading_zeros
from ..dna import FORWARD, REVERSE
from ..errors import n_of
from ..input.reads import WHOLE
from ..machines.progress import RunCounts
from .hits import eligible_of

if TYPE_CHECKING:
    from ..index.reference import Reference
    from .counts import Screen, Tally
    from .hits import ReadRun
    from .mapping import MapOptions


@dataclass
class Sums(RunCounts):
    """Base of dataclasses of numbers and arrays that add up; None where nothing is counted."""

    def add(self, other: Self) -> Self:
        """Add another one and return self."""
        for item in fields(self):
            mine, more = getattr(self, item.name), getattr(other, item.name)
            setattr(self, item.name, more if mine is None else mine if more is None else mine + more)
        return self


@dataclass
class Summary(Sums):
    """Counts of a run, in reads, mates among them; a collapsed read counts with its weight.

    Of pairs, ``unique``, ``suppressed`` and ``hits`` count proper pairs, not occurrences. ``pairs``,
    ``proper`` (those mapped as proper pairs) and ``alone`` (mates that occur, but in no proper pair) are None
    for single reads.

    The others are None unless requested. ``lengths`` int64[N_CLASSES]: number of reads by length.
    ``multiplicity`` int64[N_CLASSES]: number of mapped reads, or pairs, by their hits. ``mismatches``
    int64[3 or 5]: number of these by the mismatches of their best hit, if allowed. ``strands`` int64[2]:
    occurrences on + and -, of single reads. ``inserts``: number of pairs by the insert size of their first
    proper pair. A shard's manifest has the whole numbers by name (jobs/shard.py, _FORMAT), to be added up.
    """

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    unique: int = 0
    suppressed: int = 0
    hits: int = 0
    unsearchable: int = 0  # reads that were not searched; "cannot_occur" in reports
    pairs: Any = None
    proper: Any = None
    alone: Any = None
    _: KW_ONLY
    lengths: np.ndarray | None = None
    multiplicity: np.ndarray | None = None
    mismatches: np.ndarray | None = None
    strands: np.ndarray | None = None
    inserts: np.ndarray | None = None

    things = "reads"

    @classmethod
    def of_sums(cls, in_pairs: bool, sums: Sequence[int] = (0,) * 8) -> Self:
        """Return the counts of reads or of pairs from the result of ``_sums``, by default zeros."""
        n, bases, mapped, *others, alone = sums
        numbers: list = [n, bases, mapped, *others]
        if in_pairs:
            numbers = [2 * n, bases, 2 * mapped + alone, *others, n, mapped, alone]
        return cls(*numbers)

    @classmethod
    def of(
        cls, mates: "Sequence[ReadRun]", options: "MapOptions", total: np.ndarray,
        fewest: np.ndarray | None,
    ) -> Self:  # fmt: skip
        """Return the counts of reads, or of mates 1 and mates 2, without insert sizes.

        ``total``, ``fewest`` int64[n]: number of hits of each read or pair, and the fewest mismatches in one.
        """
        columns = zip(*((each.total, each.batch.length, each.can_occur) for each in mates), strict=True)
        weight, in_pairs = mates[0].weight, len(mates) > 1
        summary = cls.of_sums(in_pairs, _sums(total, *columns, weight, options.policy.at_most))
        if options.counts_lengths:
            eligible = options.policy.eligible(total)
            weight_of_mapped = weight * (eligible > 0)
            summary.lengths, summary.multiplicity = no_lengths(), histogram(eligible, weight_of_mapped)
            for each in mates:
                _count_lengths(each.batch.length, each.weight, summary.lengths)
            if options.near and fewest is not None:
                most = 2 * len(mates) + 1
                summary.mismatches = np.bincount(fewest, weight_of_mapped, most).astype(np.int64)
            if not in_pairs:
                reverse = (mates[0].n_reverse * weight_of_mapped).sum()
                summary.strands = np.array([(eligible * weight).sum() - reverse, reverse])
        return summary

    @property
    def unit(self) -> str:  # type: ignore[override]
        return "" if self.pairs is None else "pairs"

    def hint(self) -> str:
        """Return the likeliest reason why few reads, or no patterns, can occur, and what to do, or ""."""
        wording, n_found = self.wording, self.mapped + self.suppressed
        if wording.noun == "pattern":
            is_possible = self.unsearchable == 0 or wording.iupac or not wording.has_codes
            return "" if is_possible else "to match IUPAC codes in patterns, such as N, R or Y, add --iupac"
        if self.reads < _LEAST_READS or n_found >= _LOW_FRACTION * self.reads or wording.stretch:
            return ""
        length, contig = self.bases / self.reads, wording.contig
        if length > contig:
            return (
                f"reads have {length:.0f} bases on average, but most contigs are no longer than {contig:.0f}"
                ": use --trim5 N --length M to search only the part of each read that can match"
            )
        if self.unsearchable > self.reads / 2:
            if wording.trims:
                return (
                    "most reads cannot be searched after trimming: check the file, --trim5, --trim3, "
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

    def facts(self) -> dict:
        """Return the numbers for a report (docs/formats.md)."""
        mapped, unmapped = self.mapped, self.reads - self.mapped - self.suppressed
        of_reads = (
            (mapped, unmapped, self.hits, None) if self.pairs is None else (None, None, None, self.hits)
        )
        facts = {
            "pairs": self.pairs, "reads": self.reads, "bases": self.bases, "mapped": of_reads[0],
            "proper": self.proper, "unique": self.unique, "suppressed": self.suppressed,
            "unmapped": of_reads[1], "alone": self.alone, "cannot_occur": self.unsearchable,
            "occurrences": of_reads[2], "proper_pairs": of_reads[3],
        }  # fmt: skip
        return {name: n for name, n in facts.items() if n is not None}

    def sentence(self) -> str:
        """Return one line that describes the run."""
        wording: Wording = self.wording
        matched, in_pairs = wording.matched(), self.pairs is not None
        if in_pairs:
            n, noun, mapped, what = self.pairs, "pair", self.proper, "mapped as proper pairs"
            hits = f"{n_of(self.hits, 'proper pair')} in all; {n_of(self.alone, 'mate')} mapped separately"
            unsearchable = n_of(self.unsearchable, "mate")
        else:
            n, noun, mapped = self.reads, wording.noun, self.mapped
            what = "mapped" if noun == "read" else "found"
            hits, unsearchable = n_of(self.hits, "occurrence"), f"{self.unsearchable:,}"
        suppressed = f", {self.suppressed:,} suppressed by -m" if self.suppressed else ""
        counts = f", {self.unique:,} uniquely{suppressed}; {hits}"
        return (
            f"{n_of(n, noun)}: {mapped:,} {matched or what} ({100 * mapped / max(n, 1):.2f} %)"
            f"{counts if wording.counts_all or (in_pairs and not matched) else ''}"
            f"{f'; {unsearchable} not searched ({wording.cannot_occur})' if self.unsearchable else ''}"
        )


@compiled
def _sums(total, of_mates, length, can_occur, weight, at_most):
    """Return the fields of a Summary of single reads, and the number of mates that are mapped alone.

    Reads are pairs where the fields count pairs. ``total``, ``weight`` int64[n]. Tuples, of reads or
    of mates 1 and of mates 2: ``of_mates`` (their hits), ``length`` int64[n]; ``can_occur`` bool[n].
    """
    n = bases = mapped = unique = suppressed = hits = alone = unsearchable = np.int64(0)
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
            unsearchable += weight[r] * (not can_occur[mate][r])
    return n, bases, mapped, unique, suppressed, hits, unsearchable, alone


# Histogram of lengths or insert sizes: exact below 1,024 bases, then in classes 1 to 2 % wide.

_EXACT, _BITS, _TOP = 1 << 10, 6, 31  # 2^6 classes per power of two, up to 2^31
N_CLASSES = _EXACT + ((_TOP - 10) << _BITS)


@inlined
def class_of(length):
    """Return the class, below N_CLASSES, of a length >= 0; ``rows_of`` is the inverse."""
    if length < _EXACT:
        return length
    top = min(63 - leading_zeros(np.uint64(length)), _TOP)
    return min(_EXACT + ((top - 11) << _BITS) + (length >> (top - _BITS)), N_CLASSES - 1)


def no_lengths() -> np.ndarray:
    """Return int64[N_CLASSES] of zeros, to count in."""
    return np.zeros(N_CLASSES, np.int64)


@compiled
def _count_lengths(length, weight, counts):
    """Count each ``length`` int64[n] in ``counts`` int64[N_CLASSES], ``weight`` int64[n] times."""
    for i in range(length.size):
        counts[class_of(length[i])] += weight[i]


def histogram(length: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return int64[N_CLASSES]: counts of ``length`` int64[n], each ``weight`` [n] times, once by default."""
    counts = no_lengths()
    weight = np.ones(length.size, np.int64) if weight is None else np.asarray(weight, np.int64)
    _count_lengths(length, weight, counts)
    return counts


def rows_of(counts: np.ndarray) -> list:
    """Return [shortest, longest, count] of each non-empty class, in order."""
    rows = []
    for number in np.flatnonzero(counts).tolist():
        octave, step = divmod(max(number - _EXACT, 0), 1 << _BITS)
        width = 1 << (octave + 10 - _BITS)
        least = ((1 << _BITS) + step) * width
        bounds = [number, number] if number < _EXACT else [least, least + width - 1]
        rows.append([*bounds, int(counts[number])])
    return rows


# Hints: why nearly no read occurs, or why a pattern cannot occur, in one line.

_LEAST_READS, _LOW_FRACTION = 100, 0.02  # too few reads for a hint; largest mapped fraction that gets one


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


# Facts in the report of a search, besides those of every run (machines/progress.py).


def search_facts(
    summary: Summary, tally: "Tally | None", screen: "Screen | None", by_group: bool = False
) -> dict:
    """Return facts (report/__init__.py) of a Tally of contigs, or ``by_group`` of groups, and of a Screen."""
    from .counts import UNITS

    facts = count_facts(summary, "lengths", *(() if summary.pairs is None else ("inserts",)), "multiplicity")
    if summary.pairs is not None:
        del facts["strands"]
    if summary.mismatches is not None:
        facts["mismatches"] = [[n, n, int(reads)] for n, reads in enumerate(summary.mismatches) if reads]
    if tally:
        facts["groups" if by_group else "contigs"] = rows = []  # as in output/formats/tsv.py
        names, lengths, table = tally.owners.names, tally.owners.lengths, tally.table()
        for name, length, row in zip(names, lengths.tolist(), table.tolist(), strict=True):
            reads, hits, once, millionths, only = row
            split = {"unique": only, "shared": reads - only} if by_group else {"unique": once}
            counts = {"reads": reads, "hits": hits, **split, "fractional": millionths / UNITS}
            rows.append({"name": name, "length": length, **counts})
    if screen:
        combinations = screen.combinations().items()
        facts["screen"] = [{"groups": list(names), "reads": n} for names, n in combinations]
    return facts


def count_facts(summary: Any, *names: str) -> dict:
    """Return those of ``names`` that a summary has, as rows, and counts of strands."""
    counts = {name: getattr(summary, name) for name in names if hasattr(summary, name)}
    facts: dict = {name: [] if each is None else rows_of(each) for name, each in counts.items()}
    if hasattr(summary, "strands"):
        forward, reverse = (0, 0) if summary.strands is None else summary.strands
        facts["strands"] = {"forward": int(forward), "reverse": int(reverse)}
    return facts
