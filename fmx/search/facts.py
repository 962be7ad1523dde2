"""What may be the matter where almost no read occurs, or a pattern cannot, in a line."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..input.reads import FORWARD, REVERSE, rows_of
from ..machines.auto import Auto

if TYPE_CHECKING:
    from ..index.reference import Reference
    from .counts.tally import Screen, Tally
    from .mapping import MapOptions
    from .summary import PairSummary, Summary

FEW, RARE = 100, 0.02  # reads that tell nothing yet; share of reads that is almost none


@dataclass(frozen=True)
class Asked:
    """What the words on a run depend on, beside what it has seen; JSON's types.

    ``cannot_occur``: which reads cannot, in words; ``contig``: the median length of contigs; ``strands`` as
    of MapOptions; ``iupac``: whether letters may stand for several bases; ``noun``: what one read is called.
    """

    cannot_occur: str
    contig: float
    strands: int
    iupac: bool
    noun: str = "read"

    @classmethod
    def of(cls, options: "MapOptions", reference: "Reference") -> "Asked":
        """Of MapOptions and a Reference."""
        contig = float(np.median(reference.lengths)) if len(reference.lengths) else 0.0
        iupac = bool(options.near and options.near.iupac)
        return cls(options.cannot_occur(), contig, options.strands, iupac, options.noun)


def hint(summary: "PairSummary | Summary", asked: Asked) -> str:
    """The likeliest reason why so few reads of a Summary occur, and what to do; "" if enough do."""
    n_found = summary.mapped + summary.suppressed
    if summary.reads < FEW or n_found >= RARE * summary.reads:
        return ""
    length, contig = summary.bases / summary.reads, asked.contig
    if length > contig:
        return (
            f"reads have {length:.0f} letters, and most contigs at most {contig:.0f}: "
            "cut out what can lie in a contig, with --start N --length M"
        )
    if summary.hopeless > summary.reads / 2:
        return "most reads cannot occur: is it the right file? --trim5 and --trim3 cut off ends that are N"
    if asked.strands != FORWARD | REVERSE:
        other = "--forward-only" if asked.strands == FORWARD else "--reverse-only"
        return f"reads may be of the other strand: leave out {other}"
    return (
        "a read occurs where all of its letters do: cut adapters off (--trim5, --trim3, --length); "
        "is it the right reference?"
    )


def hint_for_patterns(summary: "Summary", asked: Asked) -> str:
    """What to do about patterns of a Summary that cannot occur; "" if all can."""
    if summary.hopeless == 0 or asked.iupac:
        return ""
    return "where patterns hold letters such as N, R or Y, --iupac lets these stand for their bases"


# What a report tells of a search beyond what it tells of any run (machines/watch.py).


def search_facts(
    summary: Any, tally: "Tally", screen: "Screen | None" = None, by_group: bool = False
) -> dict:
    """Facts (report/facts.py) by a Tally of contigs, or ``by_group`` of groups, and a Screen, or None."""
    found: dict = length_facts(summary, ("lengths", "inserts", "multiplicity"))
    if getattr(summary, "strands", None) is not None:
        found["strands"] = strand_facts(summary.strands)
    if getattr(summary, "mismatches", None) is not None:
        found["mismatches"] = [[n, n, int(reads)] for n, reads in enumerate(summary.mismatches) if reads]
    found["groups" if by_group else "contigs"] = _rows_of(tally, by_group)
    if screen:
        seen = screen.combinations()
        found["screen"] = [{"groups": list(names), "reads": n} for names, n in seen.items()]
    return found


def length_facts(summary: Any, names: tuple[str, ...]) -> dict:
    """Those of ``names`` that a summary has, as rows (input/reads.py)."""
    counts = {name: getattr(summary, name) for name in names if hasattr(summary, name)}
    return {name: [] if each is None else rows_of(each) for name, each in counts.items()}


def strand_facts(strands: np.ndarray) -> dict:
    """How many occurrences, or matches, are on +, and on -, by int64[2] of these."""
    return {"forward": int(strands[0]), "reverse": int(strands[1])}


def place_of(mapper: Any) -> str:
    """Where a mapper has mapped."""
    if isinstance(mapper, Auto):
        return mapper.sentence()
    return ", ".join(map(str, mapper.sessions)) or "the CPU"


def _rows_of(tally: "Tally", by_group: bool) -> list:
    """The rows of ``fmx search --counts``, as that has them (output/formats/tsv.py)."""
    from .counts.tally import UNITS

    rows = []
    owners = tally.owners
    for name, length, row in zip(owners.names, owners.lengths.tolist(), tally.table().tolist(), strict=True):
        reads, hits, once, millionths, only = row
        split = {"unique": only, "shared": reads - only} if by_group else {"unique": once}
        counts = {"reads": reads, "hits": hits, **split, "fractional": millionths / UNITS}
        rows.append({"name": name, "length": length, **counts})
    return rows
