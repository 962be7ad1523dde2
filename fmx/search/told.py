"""What a report tells of a search beyond what it tells of any run (machines/watch.py)."""

from ..input.reads import rows_of
from .auto import AutoMapper
from .tally import UNITS


def told(summary, tally, screen=None, by_group=False) -> dict:
    """Facts (report/facts.py) by a Tally of contigs, or ``by_group`` of groups, and a Screen, or None."""
    found: dict = lengths_told(summary, ("lengths", "inserts", "multiplicity"))
    if getattr(summary, "strands", None) is not None:
        found["strands"] = strands_told(summary.strands)
    if getattr(summary, "mismatches", None) is not None:
        found["mismatches"] = [[n, n, int(reads)] for n, reads in enumerate(summary.mismatches) if reads]
    found["groups" if by_group else "contigs"] = _rows_of(tally, by_group)
    if screen:
        seen = screen.combinations()
        found["screen"] = [{"groups": list(names), "reads": n} for names, n in seen.items()]
    return found


def lengths_told(summary, names) -> dict:
    """Those of ``names`` that a summary has, as rows (input/reads.py)."""
    counts = {name: getattr(summary, name) for name in names if hasattr(summary, name)}
    return {name: [] if each is None else rows_of(each) for name, each in counts.items()}


def strands_told(strands) -> dict:
    """How many occurrences, or matches, are on +, and on -, by int64[2] of these."""
    return {"forward": int(strands[0]), "reverse": int(strands[1])}


def place_of(mapper) -> str:
    """Where a mapper has mapped."""
    if isinstance(mapper, AutoMapper):
        return mapper.sentence()
    return ", ".join(map(str, mapper.sessions)) or "the CPU"


def _rows_of(tally, by_group) -> list:
    """The rows of ``fmx search --counts``, as that has them (output/formats/tsv.py)."""
    rows = []
    owners = tally.owners
    for name, length, row in zip(owners.names, owners.lengths.tolist(), tally.table().tolist(), strict=True):
        reads, hits, once, millionths, only = row
        split = {"unique": only, "shared": reads - only} if by_group else {"unique": once}
        counts = {"reads": reads, "hits": hits, **split, "fractional": millionths / UNITS}
        rows.append({"name": name, "length": length, **counts})
    return rows
