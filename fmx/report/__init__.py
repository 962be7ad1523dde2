"""The facts of a run as JSON types, and the sum of the facts of shards.

docs/formats.md describes each fact.  A command supplies what it knows before the run (Report.about), the run
adds its results: counts, seconds, stages, lengths, contigs.  page.py formats them.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any

from ..errors import shown
from ..system import PLACE

_FORMAT = 1  # version of the facts
_COUNTED = {"assigned", "one_letter_off", "ambiguous", "low_quality", "recombined", "unassigned"}
_OF_READS = {"mapped", "unique", "suppressed", "unmapped", "cannot_occur", *_COUNTED}  # counts with a share
_OF_PAIRS = {"proper", "unique", "suppressed", *_COUNTED}
SPENT = {"opening": "opening the index", "cluster": "on the cluster"}  # names of the parts of a run
_LISTS = ("lengths", "match_lengths", "inserts", "multiplicity", "mismatches")  # of [least, most, count]
FATES = {  # outcomes of reads and of pairs: label and colour
    what: {"unique": ("once", "#4477aa"), "several": ("several times", "#ccbb44"),
           "suppressed": ("more often than -m", "#ee8866"), "unmapped": (nowhere, "#bbbbbb")}
    for what, nowhere in (("reads", "nowhere"), ("pairs", "not as proper pairs"))
}  # fmt: skip
_TABLES = ("contigs", "groups")  # of dicts, with names and lengths
_LONG = (*_LISTS, *_TABLES, "screen", "samples", "correlation")


_typed: ContextVar[str] = ContextVar("typed")


def command_line() -> str:
    """Return the command as typed, on one line, without tabs."""
    return _typed.get("") or shown(shlex.join(["fmx", *sys.argv[1:]]))


def on_behalf_of(command: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``work(*arguments)``, in which ``command`` is the command line: on a worker, the client's."""
    context = copy_context()
    context.run(_typed.set, command)
    return context.run(work, *arguments)


@dataclass(frozen=True)
class Report:
    """Files to write a report to: ``paths``, whose suffixes set their kinds; ``about``: facts so far."""

    paths: tuple[str, ...]
    about: dict

    def facts(self, results: Mapping[str, Any]) -> dict:
        """Return all facts: ``about``, ``results`` and the rates that follow from them."""
        return _with_rates({"format": _FORMAT, **self.about, **results})


@dataclass(frozen=True)
class JobOutput:
    """What a job writes: a main output at ``path`` in the format ``kind``, with ``tables``, {option: path},
    ``reads``, an output.files.ReadsOutput or None, and a ``report`` of the run or None."""

    path: str | None = field(default="-", metadata=PLACE)
    kind: str = "tsv"
    tables: dict[str, str] = field(default_factory=dict, metadata=PLACE)
    reads: Any = None
    report: Report | None = field(default=None, metadata=PLACE)

    @property
    def reports(self) -> tuple[str, ...]:
        """Paths of the report."""
        return self.report.paths if self.report else ()

    @property
    def reads_files(self) -> dict[str, Any]:
        """The files of reads: {path: output.files.ReadsFile}."""
        return self.reads.files if self.reads else {}

    @property
    def places(self) -> dict[str, str | None]:
        """All paths that are written, by option."""
        reads = {file.option: path for path, file in self.reads_files.items()}
        reports = {f"--report as {kind_of(path)}": path for path in self.reports}
        return {"-o": self.path, **self.tables, **reads, **reports}

    def additional(self) -> dict:
        """Return what each shard stores besides its part of the main output, as {option: form}."""
        reads = {file.option.split()[0]: file.is_gzip for file in self.reads_files.values()}
        forms = {option: "gzip" if is_gzip else "plain" for option, is_gzip in reads.items()}
        return {**dict.fromkeys(self.tables, True), "--report": bool(self.report), **forms}


def _with_rates(facts: dict[str, Any]) -> dict:
    """Add the shares and rates that follow from counts and seconds, without those of compiling."""
    counts, spent = facts["counts"], facts["seconds"]
    seconds = max(spent["wall"] - spent.get("compiling", 0), 1e-9)
    whole, names = ("pairs", _OF_PAIRS) if "pairs" in counts else ("reads", _OF_READS)
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
    """Return (reads or pairs, {outcome in words: count}); without -m the outcome of -m is left out."""
    counts = facts["counts"]
    what, mapped = ("pairs", counts["proper"]) if "pairs" in counts else ("reads", counts["mapped"])
    numbers = {
        "unique": counts["unique"], "several": mapped - counts["unique"],
        "suppressed": counts["suppressed"], "unmapped": counts[what] - mapped - counts["suppressed"],
    }  # fmt: skip
    has_m = facts.get("options", {}).get("m") is not None or counts["suppressed"]
    names = {name: words for name, (words, _) in FATES[what].items() if has_m or name != "suppressed"}
    return what, {words: numbers[name] for name, words in names.items()}


def added(
    shards: Sequence[dict[str, Any]], about: Mapping[str, Any] | None = None, wall: float | None = None
) -> dict:
    """Add up the facts of all shards of a run; ``about`` overrides what the shards know of it.

    ``wall``: seconds of the whole run; by default the sum of the shards' seconds.
    """
    first = shards[0]
    options = {key: value for key, value in first.get("options", {}).items() if key != "shard"}
    whole = {**first, "options": options, **(about or {})}
    whole["shards"], whole["started"] = len(shards), min(each["started"] for each in shards)
    for name in ("counts", "seconds", "strands"):
        if parts := [each[name] for each in shards if name in each]:
            whole[name] = _sums(parts)
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
            whole[name] = []
            for rows in zip(*(each[name] for each in shards), strict=True):
                sums = {
                    what: sum(row[what] for row in rows) for what in rows[0] if what not in ("name", "length")
                }
                sums["fractional"] = round(sums["fractional"], 6)
                whole[name].append({"name": rows[0]["name"], "length": rows[0]["length"], **sums})
    if "screen" in first:
        whole["screen"] = joined_screens([each["screen"] for each in shards])
    return _with_rates(whole)


def joined_screens(screens: Sequence[list]) -> list:
    """Add up rows of {groups, reads}: first single groups in order, then combinations."""
    total: dict = {}
    for row in (row for rows in screens for row in rows):
        names = tuple(row["groups"])
        total[names] = total.get(names, 0) + row["reads"]
    number = {names[0]: i for i, names in enumerate(names for names in total if len(names) == 1)}
    order = sorted(total, key=lambda names: (len(names), [number[name] for name in names]))
    return [{"groups": list(names), "reads": total[names]} for names in order]


def _sums(dicts: Iterable[Mapping[str, Any]]) -> dict:
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


# Kinds of report files, by suffix.

MULTIQC, GENERAL = "_mqc.json", "_general_mqc.json"
_SUFFIXES = {  # the first match wins
    GENERAL: "GENERAL", MULTIQC: "MULTIQC", ".json": "JSON", ".html": "HTML", ".htm": "HTML", ".tsv": "TSV",
}  # fmt: skip
KINDS = {  # by command
    "search": ("JSON", "HTML", "MULTIQC", "GENERAL"), "mem": ("JSON", "HTML"),
    "count": ("JSON", "HTML", "TSV", "MULTIQC", "GENERAL"), "offtargets": ("JSON", "HTML"),
}  # fmt: skip


def kind_of(path: str) -> str | None:
    """Return the kind that the suffix of a name stands for, or None."""
    name = os.path.basename(path).lower()
    end = next((end for end in _SUFFIXES if name.endswith(end)), name)
    return None if end == name else _SUFFIXES[end]


def with_general(path: str) -> tuple[str, ...]:
    """Return the files of a report: MultiQC reads General Statistics from a separate file."""
    return (path, f"{path[: -len(MULTIQC)]}{GENERAL}") if kind_of(path) == "MULTIQC" else (path,)


def as_json(facts: dict[str, Any]) -> bytes:
    """Return JSON with one line per element of long lists."""
    long = {name: facts[name] for name in _LONG if name in facts}
    text = json.dumps({name: value for name, value in facts.items() if name not in long}, indent=1)
    for name, rows in long.items():
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = f'{text[:-2]},\n "{name}": [\n{lines}\n ]\n}}' if rows else f'{text[:-2]},\n "{name}": []\n}}'
    return f"{text}\n".encode()
