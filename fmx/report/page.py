"""Report files of the facts of a run: an HTML page with figures, JSON, a table, a MultiQC section."""

import json
import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..errors import n_of
from . import FATES, GENERAL, MULTIQC, SPENT, as_json, fates_of, kind_of

_MOST = 30  # contigs to show, those with the most reads
_BARS = 30  # of a histogram, at most
_SHOWN = 0.995  # fraction of items in a histogram; a few very long ones would compress the rest
_WORDS = {
    "reads": "reads", "pairs": "pairs", "queries": "queries", "bases": "bases",
    "mapped": "mapped", "unique": "mapped uniquely", "suppressed": "suppressed by -m",
    "unmapped": "unmapped", "cannot_occur": "unmapped, not searched", "occurrences": "occurrences",
    "proper": "mapped as proper pairs", "proper_pairs": "occurrences as proper pairs",
    "alone": "mates mapped separately",
    "unsearchable": "mates not searched",
    "matches": "matches", "assigned": "assigned to guides", "one_letter_off": "assigned with one mismatch",
    "low_quality": "low quality",
}  # fmt: skip


def rendered(path: str, facts: dict[str, Any]) -> bytes:
    """Return the contents of a report file for its suffix."""
    makers = {"JSON": as_json, "HTML": html, "TSV": _as_table}
    kind = kind_of(path)
    if kind in makers:
        return makers[kind](facts)
    return (_as_general if kind == "GENERAL" else _as_multiqc)(path, facts)


def html(facts: dict[str, Any]) -> bytes:
    """Return the HTML page of the facts of a run."""
    counts = facts["counts"]
    names = [each["path"].rsplit("/", 1)[-1] for each in facts["inputs"]]
    title = f"fmx {facts['command']}: {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
    started = facts["started"].replace("T", " ").replace("Z", " UTC")
    about = f"fmx {facts['fmx']}; {started}; {facts['seconds']['wall']:,.1f} s"
    if "shards" in facts:
        about += f"; {n_of(facts['shards'], 'shard')}, with their seconds added up"
    parts = [f"<h1>{_breakable(title)}</h1>", f'<p class="about">{escape(about)}</p>']
    parts += ["<h2>Counts</h2>", _counts(facts)]
    if "unique" in counts:
        what, fates = fates_of(facts)
        colours = [colour for words, colour in FATES[what].values() if words in fates]
        fractions, kinds = [each / max(counts[what], 1) for each in fates.values()], list(fates)
        row = {what: (fractions, f"{100 * fractions[0]:.1f} % {kinds[0]}")}
        parts += [f"<h2>Where {what} occur</h2>", _bars(row, colours, kinds)]
    if "samples" in facts:
        parts += _sample_sections(facts)
    if any((strands := facts.get("strands", {})).values()):
        parts.append(f"<h2>Strands of {'matches' if 'matches' in counts else 'occurrences'}</h2>")
        parts.append(_shares({"as given (+)": strands["forward"], "reverse (-)": strands["reverse"]}))
    of_pairs = "pairs" if "pairs" in counts else "reads"
    if facts.get("mismatches"):
        where = f"Mismatches in the best {'proper pair' if of_pairs == 'pairs' else 'hit'}"
        if "sites" in counts:
            where = "Mismatches in sites"
        numbers = {n_of(n, "mismatch", "mismatches"): reads for n, _, reads in facts["mismatches"]}
        parts += [f"<h2>{where}</h2>", _shares(numbers)]
    things = "sequences" if facts["command"] == "pairwise" else "queries" if "queries" in counts else "reads"
    for name, words, (them, unit) in (
        ("multiplicity", f"Occurrences per mapped {of_pairs[:-1]}", (f"mapped {of_pairs}", "occurrence")),
        ("lengths", f"Lengths of {things}", (things, "base")),
        ("match_lengths", "Lengths of matches", ("matches", "base")),
        ("inserts", "Insert sizes of proper pairs", ("pairs", "base")),
    ):
        if facts.get(name):
            parts += [f"<h2>{words}</h2>", _histogram(facts[name], them, unit)]
    groups = "indexes" if len(facts.get("references", ())) > 1 else "groups"
    for name, called in (("contigs", "contigs"), ("groups", groups)):
        if facts.get(name):
            shown, note = _with_most_reads(facts[name], called)
            most = max(shown[0]["reads"], 1)
            bar = '<td class="bar"><i style="width: {:.1f}%"></i></td>'
            lines = [[*_cells(*row.values()), bar.format(100 * row["reads"] / most)] for row in shown]
            heads = ["name", "bases", *(each for each in shown[0] if each not in ("name", "length")), ""]
            parts += [f"<h2>{called.capitalize()}</h2>", *note, _table(heads, lines)]
    if facts.get("screen"):
        shown, note = _with_most_reads(facts["screen"], "combinations")
        lines = [_cells(", ".join(row["groups"]), row["reads"]) for row in shown]
        parts += [f"<h2>Reads by combination of {groups}</h2>", *note, _table((groups, "reads"), lines)]
    parts += ["<h2>Time</h2>", *_times(facts)]
    parts += ["<h2>Run</h2>", _run(facts)]
    page = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
        *(part if part.startswith(("<h", "<p")) else f"<div>{part}</div>" for part in parts),
        "</body>\n</html>\n",
    ]
    return "\n".join(page).encode()


def _counts(facts: dict[str, Any]) -> str:
    rows, columns = [], 3 if facts["shares"] else 2
    for name, n in facts["counts"].items():
        if name == "suppressed" and not n and facts["options"].get("m") is None:
            continue
        share = facts["shares"].get(name)
        share = "" if share is None else f"{100 * share:.2f} %"
        what = "unsearchable" if name == "cannot_occur" and "pairs" in facts["counts"] else name
        rows.append(_cells(_WORDS.get(what, what), f"{n:,}", share))
    for name, rate in facts["rates"].items():
        number = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
        rows.append(_cells(name.replace("_per_second", " per second"), number, ""))
    return _table(("", "number", "share")[:columns], [row[:columns] for row in rows])


def _histogram(rows: Sequence[Sequence[int]], things: str, unit: str) -> str:
    """Return bars of the fraction _SHOWN, or a sentence if all values are equal."""
    total, seen, most = sum(n for *_, n in rows), 0, rows[0][1]
    for _, longest, n in rows:
        if seen >= _SHOWN * total:
            break
        seen, most = seen + n, longest
    least = rows[0][0]
    if least == most:
        if total == seen:
            return f"<p>All {things} have {n_of(least, unit)}.</p>"
        rest = f"{total - seen:,} have more, up to {rows[-1][1]:,}"
        return f"<p>{seen:,} of {total:,} {things} have {n_of(least, unit)}; {rest}.</p>"
    width = -(-(most - least + 1) // _BARS)
    numbers = dict.fromkeys(range(least, most + 1, width), 0)
    for shortest, _, n in rows:
        if shortest <= most:
            numbers[shortest - (shortest - least) % width] += n
    named = {
        n_of(i, unit) if width == 1 else f"{i:,} to {n_of(i + width - 1, unit)}": (n, f"{n:,}")
        for i, n in numbers.items()
    }
    return _amounts(named, f"{total - seen:,} {things} with more are not shown" if total > seen else "")


def _with_most_reads(rows: Sequence[dict[str, Any]], what: str) -> tuple[list, list]:
    """Return (the rows with the most reads, a note if there are others)."""
    shown = sorted(rows, key=lambda row: -row["reads"])[:_MOST]
    note = f"<p>The {len(shown)} of {len(rows):,} {what} with the most reads; the JSON report has all.</p>"
    return shown, [note] if len(rows) > len(shown) else []


def _times(facts: dict[str, Any]) -> list:
    wall, *spent = facts["seconds"].items()
    parts = ", ".join(f"{seconds:.2f} s {SPENT.get(what, what)}" for what, seconds in spent)
    whole = f"{wall[1]:.2f} s from the start of the command to its end"
    between = "; added up over all shards" if "shards" in facts else ""
    sections = [f"<p>{whole}{between}: {parts}.</p>"]
    if any(facts["stages"].values()):
        sections.append("<p>Time by stage, added up over all threads:</p>")
    for place, stages in facts["stages"].items():
        if stages:
            order = sorted(stages.items(), key=lambda item: -item[1])
            words = "{:.2f} s" if order[0][1] >= 1 else "{:.3f} s"
            rows = {stage: (spent, words.format(spent)) for stage, spent in order}
            rows = {stage: row for stage, row in rows.items() if row[1] != words.format(0)}
            sections.append(_amounts(rows, f"Seconds by stage, {place}"))
    return sections


def _run(facts: dict[str, Any]) -> str:
    rows = [("command", facts["command_line"]), ("run on", "; ".join(facts["places"]))]
    for each in facts["inputs"]:
        size = "" if each["bytes"] is None else f" ({each['bytes']:,} bytes)"
        rows.append(("input", f"{each['path']}{size}"))
    parts = [("reference", each) for each in facts.get("references", ())]
    parts += [(name, facts[name]) for name in ("library", "machine", "versions") if name in facts]
    for what, known in parts:
        rows += [(f"{what}: {name}", value) for name, value in known.items()]
    options = {name: value for name, value in facts["options"].items() if value not in (None, False, [], "")}
    for name, value in options.items():
        words = ", ".join(map(str, value)) if isinstance(value, list) else "yes" if value is True else value
        rows.append(("-" * min(len(name), 2) + name, words))
    return _table(("", ""), [_cells(*row, kind=' class="words"') for row in rows])


# A section of MultiQC's report: custom content, found by the name of the file.

_ABOUT = "finds every place where a DNA read occurs in a reference, and counts guides and barcodes in reads."


def _as_multiqc(path: str | Path, facts: dict[str, Any]) -> bytes:
    """Return a MultiQC section: a bar for the sample that the file is named after, or per sample counted."""
    if "samples" in facts:
        what, done, colours = f"{facts['samples'][0]['unit']}s", "Counted", dict(SAMPLE_FATES.values())
        data, text = _sample_fates(facts["samples"]), f"What became of {what}."
    else:
        what, fates = fates_of(facts)
        done, colours = "Mapped", dict(FATES[what].values())
        data = {_sample_of(path, MULTIQC): fates}
        text = f"How often {what} occur{' as proper pairs' if what == 'pairs' else ''}."
    title, names = f"{done} {what}", next(iter(data.values()))
    name = f"fmx_{what}" if done == "Mapped" else f"fmx_counted_{what}"
    section = {
        "id": name, "parent_id": "fmx", "parent_name": "fmx", "parent_description": _ABOUT,
        "section_name": title, "description": text, "plot_type": "bargraph",
        "pconfig": {
            "id": f"{name}_plot", "title": f"fmx: {title}", "ylab": what.capitalize(),
            "cpswitch_counts_label": f"Number of {what}",
        },
        "categories": {words: {"name": words, "color": colours[words]} for words in names},
        "data": data,
    }  # fmt: skip
    return f"{json.dumps(section, indent=1)}\n".encode()


def _as_general(path: str | Path, facts: dict[str, Any]) -> bytes:
    """Return columns of MultiQC's General Statistics for these samples: reads or pairs, and percentages."""
    rows: dict[str, tuple] = {}
    if "samples" in facts:
        what, titles = f"{facts['samples'][0]['unit']}s", ["% assigned", "% guides without reads"]
        for each in facts["samples"]:
            zero = each["zero_guides"] / max(each["guides"], 1)
            rows[each["sample"]] = each["reads"], each["assigned_share"], zero
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


# The samples of ``fmx count`` (docs/formats.md: samples and correlation).

LOW = 30  # reads; guides with fewer are counted as low
_ENOUGH = 0.95  # fraction assigned: above it, unassigned sequences are noise
_LISTED = 10  # unassigned sequences of a sample
_ERRORS = 20  # a sequence is at least this many times as frequent as another with one error in it
SAMPLE_FATES = {  # outcomes of reads: label and colour
    "assigned": ("assigned", "#4477aa"), "ambiguous": ("ambiguous", "#ccbb44"),
    "low_quality": ("low quality", "#ee8866"), "recombined": ("recombined", "#aa3377"),
    "unassigned": ("unassigned", "#bbbbbb"),
}  # fmt: skip
_TABLE_COLUMNS = (
    "sample", "reads", "assigned", "assigned_share", "one_letter_off", "ambiguous", "low_quality",
    "recombined", "unassigned", "guides", "zero_guides", "gini", "offsets", "offsets_of_mates2",
    "low_guides", "mean_reads", "median_reads", "skew", "lost_guides",
)  # fmt: skip
_DECIMALS = {"assigned_share": 4, "gini": 4, "mean_reads": 2, "median_reads": 2, "skew": 2}

Sample = Mapping[str, Any]


def _as_table(facts: Mapping[str, Any]) -> bytes:
    """Return a table with a line for each sample."""
    lines = ["\t".join(_TABLE_COLUMNS)]
    for each in facts["samples"]:
        row = {name: each.get(name) for name in _TABLE_COLUMNS}
        for name, n in _DECIMALS.items():
            row[name] = "" if row[name] is None else f"{row[name]:.{n}f}"
        row["lost_guides"] = ",".join(each["lost_guides"])
        for mate, name in enumerate(("offsets", "offsets_of_mates2"), 1):
            places = (place for place in each["offsets"] if place["mate"] == mate)
            row[name] = ",".join(f"{place['strand']}{place['offset']}:{place['reads']}" for place in places)
        lines.append("\t".join(map(str, row.values())))
    return ("\n".join(lines) + "\n").encode()


def _sample_fates(samples: Sequence[Sample]) -> dict[str, dict[str, int]]:
    """Return {sample: {outcome in words: reads}}; outcomes without reads are left out."""
    seen = [name for name in SAMPLE_FATES if name == "assigned" or any(each[name] for each in samples)]
    return {each["sample"]: {SAMPLE_FATES[name][0]: each[name] for name in seen} for each in samples}


def starts_in_words(sample: Sample) -> str:
    """Return the most frequent offsets as a part of a sentence; "" if there are none."""
    first, second = (_of_mate(sample, mate, _start) for mate in (1, 2))
    return "; ".join(filter(None, [first, second and f"in second mates {second}"]))


def _offset(place: Mapping[str, Any]) -> str:
    return f"{place['offset']}{' reverse' if place['strand'] == '-' else ''}"


def _start(place: Mapping[str, Any]) -> str:
    strand = " on the reverse strand" if place["strand"] == "-" else ""
    return f"after {n_of(place['offset'], 'base')}{strand}"


def _of_mate(sample: Sample, mate: int, words: Callable[[Mapping[str, Any]], str] = _offset) -> str:
    """Return the most frequent offsets: at most 8 per mate, with 1 % of the assigned reads or more."""
    places = [place for place in sample["offsets"] if place["mate"] == mate]
    shares = [(place, 100 * place["reads"] / max(sample["assigned"], 1)) for place in places[:8]]
    return ", ".join(f"{words(place)} ({share:.0f} %)" for place, share in shares if share >= 1)


def _sample_sections(facts: Mapping[str, Any]) -> list[str]:
    """Return the sections of the page, as HTML."""
    samples, unit = facts["samples"], facts["samples"][0]["unit"]
    library, units = facts["library"], f"{unit}s"
    parts = [
        f"<h2>{units.capitalize()} per sample</h2>",
        f"<p>{escape(library['path'])}; {n_of(library['guides'], 'guide')}, "
        f"{n_of(len(samples), 'sample')}</p>",
        _samples(samples, units), _fates_of_samples(samples),
        f"<h2>{units.capitalize()} per guide</h2>", _guides(samples, units),
        f"<p>90/10 skew: {units} of the guide at the 90th percentile divided by those of the guide at the "
        "10th; none if that is 0. Gini: the Gini index of log(count + 1), as in MAGeCK.</p>",
    ]  # fmt: skip
    if len(samples) > 1:
        parts.append("<h2>Correlation of samples (Pearson, of log2(count + 1))</h2>")
        names = [each["sample"] for each in samples]
        parts.append(_matrix(names, facts["correlation"]))
    few = [each for each in samples if each["assigned_share"] < _ENOUGH]
    rows = [
        [_name_cell(each["sample"]), f'<td class="letters">{bases}</td>', f"<td>{n:,}</td>"]
        for each in few
        for bases, n in above_chance(each)[:_LISTED]
    ]
    if rows:
        parts += [
            "<h2>Most frequent unassigned sequences at the start of each file</h2>",
            "<p>Without those that random bases, or errors in a more frequent sequence, explain.</p>",
            _table(("sample", "sequence", units), rows),
        ]
    return parts


def above_chance(sample: Sample) -> list[tuple[str, int]]:
    """Return (sequence, reads) of the top unassigned sequences of a sample that chance does not explain.

    Among as many random sequences, one would be as frequent with a probability below 1 % (Poisson); and no
    other differs in one base and has _ERRORS times as many reads.
    """
    sequences: list[tuple[str, int]] = []
    for bases, n in (row.values() for row in sample["top_unassigned"]):
        kinds = 4.0 ** len(bases)
        mean = sample["unassigned"] / kinds
        if n <= max(1, mean):
            continue
        tail = kinds * math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) / (1 - mean / (n + 1))
        errors = (
            sum(map(operator.ne, bases, other)) == 1 for other, more in sequences if more >= _ERRORS * n
        )
        if tail < 0.01 and not any(errors):
            sequences.append((bases, n))
    return sequences


def _samples(samples: Sequence[Sample], units: str) -> str:
    fates = _sample_fates(samples)
    _, *others = fates[samples[0]["sample"]]
    rows = []
    for each in samples:
        _, *numbers = fates[each["sample"]].values()
        row = [each["reads"], each["assigned"], f"{100 * each['assigned_share']:.2f}", *numbers]
        first, second = (_of_mate(each, mate) for mate in (1, 2))
        offsets = escape("; second mates: ".join(filter(None, [first or "none", second])))
        rows.append([_name_cell(each["sample"]), *_cells("", *row)[1:], f'<td class="words">{offsets}</td>'])
    return _table(("sample", units, "assigned", "% assigned", *others, "offsets of guides"), rows)


def _fates_of_samples(samples: Sequence[Sample]) -> str:
    fates, colours = _sample_fates(samples), dict(SAMPLE_FATES.values())
    rows = {
        each["sample"]: (
            [n / max(each["reads"], 1) for n in fates[each["sample"]].values()],
            f"{100 * each['assigned_share']:.1f} % assigned",
        )
        for each in samples
    }
    seen = list(fates[samples[0]["sample"]])
    return _bars(rows, [colours[what] for what in seen], seen)


def _guides(samples: Sequence[Sample], units: str) -> str:
    low = f"under {LOW} {units}"
    head = ("sample", "guides", f"without {units}", low, "mean", "median", "90/10 skew", "Gini")
    rows = []
    for each in samples:
        numbers = [each[name] for name in ("guides", "zero_guides", "low_guides")]
        numbers += [f"{each[name]:,.1f}" for name in ("mean_reads", "median_reads")]
        numbers += ["none" if each["skew"] is None else f"{each['skew']:.2f}", f"{each['gini']:.3f}"]
        rows.append([_name_cell(each["sample"]), *_cells("", *numbers)[1:]])
    return _table(head, rows)


# The frame, the tables and the bars of self-contained HTML pages.

_STYLE = """
body { font: 15px/1.5 sans-serif; color: #222; background: #fff; margin: 2em auto;
  max-width: 62em; padding: 0 1em; overflow-wrap: break-word }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em } p.about { color: #555 }
table { border-collapse: collapse; font-size: 13px; margin-bottom: 1em } div { overflow-x: auto }
caption { text-align: left; padding: 3px 10px; color: #555 }
th, td { padding: 3px 10px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left } td.letters { font-family: monospace; text-align: left }
td.name { white-space: normal; min-width: 6.5em; position: sticky; left: 0; background: #fff }
td.bar { width: 220px; min-width: 7em; text-align: left; font-size: 0 } td.bar i { height: 14px }
.bars { width: 100%; max-width: 56em } .bars td.bar { width: 60% }
.bars td.name { min-width: min(16em, 30vw) } .bars td:last-child { text-align: left }
i { display: inline-block; background: #4477aa }
.key { margin-right: 1.5em; white-space: nowrap; font-size: 13px }
.key i { width: 12px; height: 12px }
th.words, td.words { text-align: left } td.words { white-space: normal; overflow-wrap: anywhere }
"""
_MATRIX_ROWS = 16  # rows of a matrix with numbers
_ALIGNED = '<td class="(words|letters|name)">'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; rows of cells in HTML; heads of words are aligned with them."""
    rows = list(rows)
    classes = [' class="words"' if re.match(_ALIGNED, cell) else "" for cell in rows[0]] if rows else []
    heads = [f"<th{kind}>{cell}</th>" for cell, kind in zip_longest(head, classes, fillvalue="")]
    lines = ["<table>", f"<tr>{''.join(heads)}</tr>"]
    lines += ["<tr>" + "".join(row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


def _cells(*words: object, kind: str = "") -> list[str]:
    """Return the cells of a table row; ``kind``: attributes of all cells but the first."""
    first, *rest = map(_shown, words)
    return [f"<td>{first}</td>", *(f"<td{kind}>{word}</td>" for word in rest)]


def _breakable(name: str) -> str:
    """Return a name as HTML that a narrow window breaks only after punctuation."""
    return "<wbr>".join(map(escape, filter(None, re.findall(r"[^\W_]*[\W_]*", name))))


def _name_cell(name: str) -> str:
    """Return a cell with a name, which stays in view if its table is wider than the window."""
    return f'<td class="name">{_breakable(name)}</td>'


def _bars(
    rows: Mapping[str, tuple[Sequence[float], str]], colours: Sequence[str] = ("",),
    kinds: Sequence[str] = (), caption: str = "",
) -> str:  # fmt: skip
    """Return bars {name: (parts of the full width, from 0 to 1, words)}, with a legend of ``kinds``."""
    fills = [f"background: {colour}" if colour else "" for colour in colours]
    keys = [
        f'<span class="key"><i style="{fill}"></i> {escape(kind)}</span>'
        for kind, fill in zip(kinds, fills, strict=False)
    ]
    lines = [*keys, '<table class="bars">', f"<caption>{escape(caption)}</caption>" if caption else ""]
    for name, (parts, words) in rows.items():
        bar = "".join(
            f'<i style="width: {100 * x:.2f}%; {fill}"></i>' for x, fill in zip(parts, fills, strict=True)
        )
        lines.append(f'<tr>{_name_cell(name)}<td class="bar">{bar}</td><td>{escape(words)}</td></tr>')
    return "\n".join([*filter(None, lines), "</table>"])


def _amounts(rows: Mapping[str, tuple[float, str]], caption: str = "") -> str:
    """Return bars {name: (number, words)}, scaled to the largest."""
    most = max((number for number, _ in rows.values()), default=0) or 1
    return _bars({name: ([number / most], words) for name, (number, words) in rows.items()}, caption=caption)


def _shares(rows: Mapping[str, int]) -> str:
    """Return bars {name: number}, each with its number and percentage of the sum."""
    n = sum(rows.values()) or 1
    return _amounts({name: (row, f"{row:,} ({100 * row / n:.1f} %)") for name, row in rows.items()})


def _matrix(names: Sequence[str], numbers: Sequence[Sequence[float]]) -> str:
    """Return a square matrix of numbers from -1 to 1; cells near 1 are darker, and few have numbers."""
    rows = []
    for i, name in enumerate(names):
        row = [_name_cell(f"{i + 1}: {name}")]
        for number in map(float, numbers[i]):
            share = max(0.0, number)
            red, green, blue = (round(255 - share**3 * (255 - low)) for low in (0x33, 0x66, 0xAA))
            style = f"background: rgb({red},{green},{blue}); color: {'#fff' if share > 0.88 else '#222'}"
            row.append(f'<td style="{style}">{f"{number:.2f}" if len(names) <= _MATRIX_ROWS else ""}</td>')
        rows.append(row)
    return _table(["", *map(str, range(1, len(names) + 1))], rows)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(str(value))
