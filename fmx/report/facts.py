"""The facts of a run as JSON's types, and those of shards added up.

docs/reports.md says what each fact is.  A command says what it knows beforehand (Report.about), and the run
what came of it: counts, seconds, stages, lengths, contigs.  Files of several kinds report them
(kinds.py).
"""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import shown

FORMAT = 1  # of facts
_COUNTED = {"assigned", "one_letter_off", "ambiguous", "low_quality", "recombined", "unassigned"}
OF_READS = {"mapped", "unique", "suppressed", "unmapped", "cannot_occur", *_COUNTED}  # shares of these
_OF_PAIRS = {"proper", "unique", "suppressed", *_COUNTED}
SPENT = {"opening": "opening the index", "cluster": "on the cluster"}  # what time is spent on, in words
_LISTS = ("lengths", "match_lengths", "inserts", "multiplicity", "mismatches")  # of [least, most, how many]
FATES = {  # of reads and of pairs, by their counts: what became of them, and its colour
    what: {"unique": ("once", "#4477aa"), "several": ("several times", "#ccbb44"),
           "suppressed": ("more often than -m", "#ee8866"), "unmapped": (nowhere, "#bbbbbb")}
    for what, nowhere in (("reads", "nowhere"), ("pairs", "not as proper pairs"))
}  # fmt: skip
_TABLES = ("contigs", "groups")  # of dicts, with names and lengths
LONG = (*_LISTS, *_TABLES, "screen", "samples", "ranks", "correlation")


def command_line() -> str:
    """The command as typed, on one line without tabs."""
    return shown(shlex.join(["fmx", *sys.argv[1:]]))


@dataclass(frozen=True)
class Report:
    """``paths`` of the files that tell of a run, whose names say their kinds; ``about`` it: a dict."""

    paths: tuple[str, ...]
    about: dict

    def facts(self, found: Mapping[str, Any]) -> dict:
        """All of it, with what was ``found``."""
        return with_rates({"format": FORMAT, **self.about, **found})


class SingleOutput:
    """What a job writes at one ``path``, and beside it a ``report`` of the run, or None.

    A base of frozen dataclasses with these two fields, or the first of them.
    """

    path: str
    report: Report | None = None

    @property
    def reports(self) -> tuple[str, ...]:
        """The paths of the report."""
        return self.report.paths if self.report else ()

    @property
    def places(self) -> tuple[str, ...]:
        """Where all of it is written."""
        return self.path, *self.reports

    def beside(self) -> dict[str, bool]:
        """What each shard leaves beside its part of the result, by the option that asks for it."""
        return {"--report": bool(self.report)}


def with_rates(facts: dict[str, Any]) -> dict:
    """Facts with the shares and rates that follow from their counts and seconds."""
    counts, seconds = facts["counts"], max(facts["seconds"]["wall"], 1e-9)
    whole, names = ("pairs", _OF_PAIRS) if "pairs" in counts else ("reads", OF_READS)
    shares = {
        name: round(n / max(counts[whole], 1), 6)
        for name, n in counts.items()
        if whole in counts and name in names
    }
    rates = {
        f"{name}_per_second": round(counts[name] / seconds, 1)
        for name in ("pairs", "reads", "queries", "bases")
        if name in counts
    }
    return {**facts, "shares": shares, "rates": rates}


def fates_of(facts: dict[str, Any]) -> tuple[str, dict]:
    """(reads or pairs, how many of them became what, in words); of -m nothing where it was not given."""
    counts = facts["counts"]
    what, mapped = ("pairs", counts["proper"]) if "pairs" in counts else ("reads", counts["mapped"])
    own = {
        "unique": counts["unique"],
        "several": mapped - counts["unique"],
        "suppressed": counts["suppressed"],
        "unmapped": counts[what] - mapped - counts["suppressed"],
    }
    given = facts.get("options", {}).get("m") is not None or counts["suppressed"]
    fates = {words: own[name] for name, (words, _) in FATES[what].items() if given or name != "suppressed"}
    return what, fates


def added(
    shards: Sequence[dict[str, Any]], about: Mapping[str, Any] | None = None, wall: float | None = None
) -> dict:
    """The facts of shards of one run as those of the whole; ``about`` it, if that is known better.

    ``wall``: the seconds that the whole took, by default those of all shards added up.
    """
    first = shards[0]
    options = {key: value for key, value in first.get("options", {}).items() if key != "shard"}
    whole = {**first, "options": options, **(about or {})}
    whole["shards"], whole["started"] = len(shards), min(each["started"] for each in shards)
    for name in ("counts", "seconds", "strands"):
        if found := [each[name] for each in shards if name in each]:
            whole[name] = _sums(found)
    if wall is not None:
        whole["seconds"]["wall"] = round(wall, 3)
    whole["stages"] = {
        place: _sums(each["stages"].get(place, {}) for each in shards)
        for place in dict.fromkeys(place for each in shards for place in each["stages"])
    }
    whole["places"] = list(dict.fromkeys(place for each in shards for place in each["places"]))
    for name in _LISTS:
        if any(name in each for each in shards):
            whole[name] = _joined(row for each in shards for row in each.get(name, ()))
    for name in _TABLES:
        if name in first:
            whole[name] = [_row(rows) for rows in zip(*(each[name] for each in shards), strict=True)]
    if "screen" in first:
        whole["screen"] = joined_screens([each["screen"] for each in shards])
    return with_rates(whole)


def joined_screens(screens: Sequence[list]) -> list:
    """Rows of {groups, reads} added up: each group by itself, in order, then combinations that were seen."""
    total: dict = {}
    for row in (row for rows in screens for row in rows):
        names = tuple(row["groups"])
        total[names] = total.get(names, 0) + row["reads"]
    number = {names[0]: i for i, names in enumerate(names for names in total if len(names) == 1)}
    order = sorted(total, key=lambda names: (len(names), [number[name] for name in names]))
    return [{"groups": list(names), "reads": total[names]} for names in order]


def _sums(dicts: Iterable[Mapping[str, Any]]) -> dict:
    """The numbers of the same name added up."""
    total: dict = {}
    for each in dicts:
        for name, n in each.items():
            total[name] = total.get(name, 0) + n
    return {name: round(n, 3) if isinstance(n, float) else n for name, n in total.items()}


def _joined(rows: Iterable[Any]) -> list:
    total: dict = {}
    for least, most, n in rows:
        total[least, most] = total.get((least, most), 0) + n
    return [[*ends, n] for ends, n in sorted(total.items())]


def _row(rows: Sequence[Any]) -> dict:
    """Rows of one contig, or group, as one: all but its name and length are added up."""
    sums = {name: sum(row[name] for row in rows) for name in rows[0] if name not in ("name", "length")}
    sums["fractional"] = round(sums["fractional"], 6)
    return {"name": rows[0]["name"], "length": rows[0]["length"], **sums}
