"""Report files of the facts of a run: an HTML page with figures, JSON, a table, a MultiQC section."""

import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..errors import n_of
from . import samples, svg
from .facts import FATES, GENERAL, MULTIQC, SPENT, as_json, fates_of, kind_of
from .html import amounts, bars, breakable, cells, page, shares, table

_MOST = 30  # contigs to show, those with the most reads
_COLUMNS = 60  # of a histogram, at most
_SHOWN = 0.995  # fraction of items in a histogram; a few very long ones would compress the rest
_WORDS = {
    "reads": "reads", "pairs": "pairs", "queries": "queries", "bases": "bases",
    "mapped": "mapped", "unique": "mapped uniquely", "suppressed": "suppressed by -m",
    "unmapped": "unmapped", "cannot_occur": "unmapped, not searched", "occurrences": "occurrences",
    "proper": "mapped as proper pairs", "proper_pairs": "occurrences as proper pairs",
    "alone": "mates mapped separately",
    "hopeless": "mates not searched",
    "matches": "matches", "assigned": "assigned to guides", "one_letter_off": "assigned with one mismatch",
    "low_quality": "low quality",
}  # fmt: skip


def rendered(path: str, facts: dict[str, Any]) -> bytes:
    """Return the contents of a report file for its suffix."""
    makers = {"JSON": as_json, "HTML": html, "TSV": samples.as_table}
    kind = kind_of(path)
    if kind in makers:
        return makers[kind](facts)
    return (as_general if kind == "GENERAL" else as_multiqc)(path, facts)


def html(facts: dict[str, Any]) -> bytes:
    """Make the page."""
    counts = facts["counts"]
    names = [each["path"].rsplit("/", 1)[-1] for each in facts["inputs"]]
    title = f"fmx {facts['command']}: {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
    parts = [f"<h1>{breakable(title)}</h1>", f'<p class="about">{_about(facts)}</p>']
    parts += ["<h2>Counts</h2>", _counts(facts)]
    if "unique" in counts:
        parts += _fates(facts)
    if "samples" in facts:
        parts += samples.sections(facts)
    if any((strands := facts.get("strands", {})).values()):
        parts.append(f"<h2>Strands of {'matches' if 'matches' in counts else 'occurrences'}</h2>")
        parts.append(shares({"as given (+)": strands["forward"], "reverse (-)": strands["reverse"]}))
    of_pairs = "pairs" if "pairs" in counts else "reads"
    if facts.get("mismatches"):
        where = f"Mismatches in the best {'proper pair' if of_pairs == 'pairs' else 'hit'}"
        numbers = {n_of(n, "mismatch", "mismatches"): reads for n, _, reads in facts["mismatches"]}
        parts += [f"<h2>{where}</h2>", shares(numbers)]
    things = "sequences" if facts["command"] == "pairwise" else "queries" if "queries" in counts else "reads"
    for name, words, (them, unit) in (
        ("multiplicity", f"Occurrences per mapped {of_pairs[:-1]}", (f"mapped {of_pairs}", "occurrence")),
        ("lengths", f"Lengths of {things}", (things, "base")),
        ("match_lengths", "Lengths of matches", ("matches", "base")),
        ("inserts", "Insert sizes of proper pairs", ("pairs", "base")),
    ):
        if facts.get(name):
            parts += [f"<h2>{words}</h2>", *_histogram(facts[name], words, them, unit)]
    groups = "indexes" if len(facts.get("references", ())) > 1 else "groups"
    for name, called in (("contigs", "contigs"), ("groups", groups)):
        if facts.get(name):
            parts += [f"<h2>{called.capitalize()}</h2>", *_of_reference(called, facts[name])]
    if facts.get("screen"):
        parts += [f"<h2>Reads by combination of {groups}</h2>", *_screen(groups, facts["screen"])]
    parts += ["<h2>Time</h2>", *_times(facts)]
    parts += ["<h2>Run</h2>", _run(facts)]
    return page(title, parts)


def _about(facts: dict[str, Any]) -> str:
    started = facts["started"].replace("T", " ").replace("Z", " UTC")
    said = [f"fmx {facts['fmx']}", started, f"{facts['seconds']['wall']:,.1f} s"]
    if "shards" in facts:
        said.append(f"{n_of(facts['shards'], 'shard')}, with their seconds added up")
    return escape("; ".join(said))


def _counts(facts: dict[str, Any]) -> str:
    rows, columns = [], 3 if facts["shares"] else 2
    for name, n in facts["counts"].items():
        if name == "suppressed" and not n and facts["options"].get("m") is None:
            continue
        share = facts["shares"].get(name)
        share = "" if share is None else f"{100 * share:.2f} %"
        what = "hopeless" if name == "cannot_occur" and "pairs" in facts["counts"] else name
        rows.append(cells(_WORDS.get(what, what), f"{n:,}", share))
    for name, rate in facts["rates"].items():
        number = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
        rows.append(cells(name.replace("_per_second", " per second"), number, ""))
    return table(("", "number", "share")[:columns], [row[:columns] for row in rows])


def _fates(facts: dict[str, Any]) -> list:
    what, fates = fates_of(facts)
    n = max(facts["counts"][what], 1)
    title = f"Where {what} occur"
    colours = [colour for words, colour in FATES[what].values() if words in fates]
    fractions, kinds = [each / n for each in fates.values()], list(fates)
    bar = bars({what: (fractions, f"{100 * fractions[0]:.1f} % {kinds[0]}")}, colours, kinds)
    return [f"<h2>{title}</h2>", bar]


def _histogram(rows: Sequence[Sequence[int]], title: str, things: str, unit: str) -> list:
    """A histogram with columns of equal width, of the fraction _SHOWN; a sentence if all values are equal."""
    total, seen, most = sum(n for *_, n in rows), 0, rows[0][1]
    for _, longest, n in rows:
        if seen >= _SHOWN * total:
            break
        seen, most = seen + n, longest
    least = rows[0][0]
    width = -(-(most - least + 1) // _COLUMNS)
    columns = [0] * (-(-(most - least + 1) // width))
    if len(columns) == 1:
        if total == seen:
            return [f"<p>All {things} have {n_of(least, unit)}.</p>"]
        rest = f"{total - seen:,} have more, up to {rows[-1][1]:,}"
        return [f"<p>{seen:,} of {total:,} {things} have {n_of(least, unit)}; {rest}.</p>"]
    for shortest, _, n in rows:
        if shortest <= most:
            columns[(shortest - least) // width] += n
    words = f"{unit}s" if width == 1 else f"{unit}s, {width:,} per column"
    if total > seen:
        words += f"; {total - seen:,} {things} with more are not shown"
    return [svg.histogram(columns, (least, width), (words, things), title)]


def _of_reference(what: str, rows: Sequence[dict[str, Any]]) -> list:
    """Return a table of the contigs or groups with the most reads, each with a bar."""
    shown = sorted(rows, key=lambda row: -row["reads"])[:_MOST]
    found = []
    if len(rows) > len(shown):
        found.append(_most(len(shown), len(rows), what))
    names = [name for name in shown[0] if name not in ("name", "length")]
    most = max(shown[0]["reads"], 1)
    bars = [f'<td class="bar"><i style="width: {100 * row["reads"] / most:.1f}%"></i></td>' for row in shown]
    lines = [[*cells(*row.values()), bar] for row, bar in zip(shown, bars, strict=True)]
    return [*found, table(["name", "bases", *names, ""], lines)]


def _screen(groups: str, rows: Sequence[dict[str, Any]]) -> list:
    shown = sorted(rows, key=lambda row: -row["reads"])[:_MOST]
    lines = [cells(", ".join(row["groups"]), row["reads"]) for row in shown]
    found = [table((groups, "reads"), lines)]
    return [_most(len(shown), len(rows), "combinations"), *found] if len(rows) > len(shown) else found


def _most(n: int, of_all: int, what: str) -> str:
    return f"<p>The {n} of {of_all:,} {what} with the most reads; the JSON report has all.</p>"


def _times(facts: dict[str, Any]) -> list:
    wall, *spent = facts["seconds"].items()
    parts = ", ".join(f"{seconds:.2f} s {SPENT.get(what, what)}" for what, seconds in spent)
    whole = f"{wall[1]:.2f} s from the start of the command to its end"
    between = "; added up over all shards" if "shards" in facts else ""
    found = [f"<p>{whole}{between}: {parts}.</p>", "<p>Time by stage, added up over all threads:</p>"]
    for place, stages in facts["stages"].items():
        if stages:
            order = sorted(stages.items(), key=lambda item: -item[1])
            words = "{:.2f} s" if order[0][1] >= 1 else "{:.3f} s"
            rows = {stage: (spent, words.format(spent)) for stage, spent in order}
            rows = {stage: row for stage, row in rows.items() if row[1] != words.format(0)}
            found.append(amounts(rows, f"Seconds by stage, {place}"))
    return found


def _run(facts: dict[str, Any]) -> str:
    rows = [("command", facts["command_line"]), ("run on", "; ".join(facts["places"]))]
    for each in facts["inputs"]:
        size = "" if each["bytes"] is None else f" ({each['bytes']:,} bytes)"
        rows.append(("input", f"{each['path']}{size}"))
    parts = [("reference", each) for each in facts.get("references", ())]
    parts += [(name, facts[name]) for name in ("library", "machine", "versions") if name in facts]
    for what, known in parts:
        rows += [(f"{what}: {name}", value) for name, value in known.items()]
    given = {name: value for name, value in facts["options"].items() if value not in (None, False, [], "")}
    for name, value in given.items():
        words = ", ".join(map(str, value)) if isinstance(value, list) else "yes" if value is True else value
        rows.append(("-" * min(len(name), 2) + name, words))
    return table(("", ""), [cells(*row, kind=' class="words"') for row in rows])


# A section of MultiQC's report: custom content, found by the name of the file.

_ABOUT = "finds every place where a DNA read occurs in a reference, and counts guides and barcodes in reads."


def as_multiqc(path: str | Path, facts: dict[str, Any]) -> bytes:
    """A MultiQC section with a bar for the sample that the file is named after, or per sample counted."""
    if "samples" in facts:
        what, done, colours = f"{facts['samples'][0]['unit']}s", "Counted", dict(samples.FATES.values())
        data, text = samples.fates_of(facts["samples"]), f"What became of {what}."
    else:
        what, fates = fates_of(facts)
        done, colours = "Mapped", dict(FATES[what].values())
        data = {_sample_of(path, MULTIQC): fates}
        text = f"How often {what} occur{' as proper pairs' if what == 'pairs' else ''}."
    title, names = f"{done} {what}", next(iter(data.values()))
    name = f"fmx_{what}" if done == "Mapped" else f"fmx_counted_{what}"
    section = {
        "id": name,
        "parent_id": "fmx",
        "parent_name": "fmx",
        "parent_description": _ABOUT,
        "section_name": title,
        "description": text,
        "plot_type": "bargraph",
        "pconfig": {
            "id": f"{name}_plot",
            "title": f"fmx: {title}",
            "ylab": what.capitalize(),
            "cpswitch_counts_label": f"Number of {what}",
        },
        "categories": {words: {"name": words, "color": colours[words]} for words in names},
        "data": data,
    }
    return f"{json.dumps(section, indent=1)}\n".encode()


def as_general(path: str | Path, facts: dict[str, Any]) -> bytes:
    """Columns of MultiQC's General Statistics: reads or pairs, and percentages, for the same samples."""
    rows: dict[str, tuple]
    if "samples" in facts:
        what, titles = f"{facts['samples'][0]['unit']}s", ["% assigned", "% guides without reads"]
        rows = {
            each["sample"]: (
                each["reads"],
                each["assigned_share"],
                each["zero_guides"] / max(each["guides"], 1),
            )
            for each in facts["samples"]
        }
    else:
        what = "pairs" if "pairs" in facts["counts"] else "reads"
        titles = ["% proper pairs" if what == "pairs" else "% mapped"]
        share = facts["shares"]["proper" if what == "pairs" else "mapped"]
        rows = {_sample_of(path, GENERAL): (facts["counts"][what], share)}
    columns: dict[str, dict] = {what.capitalize(): {"format": "{:,.0f}"}}
    columns |= {title: {"min": 0, "max": 100, "suffix": " %", "format": "{:,.1f}"} for title in titles}
    for title, column in columns.items():
        column |= {"title": title, "namespace": "fmx"}
    data = {
        name: dict(zip(columns, (n, *(round(100 * share, 2) for share in fractions)), strict=True))
        for name, (n, *fractions) in rows.items()
    }
    about = {"id": f"fmx_general_{what}_{len(titles)}", "plot_type": "generalstats", "pconfig": [columns]}
    return f"{json.dumps({**about, 'data': data}, indent=1)}\n".encode()


def _sample_of(path: str | Path, ending: str) -> str:
    return os.path.basename(path)[: -len(ending)] or "fmx"
