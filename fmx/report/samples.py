"""Reports on the samples of ``fmx count``: sections of the page, a table, bars for MultiQC.

docs/reports.md describes the facts ``samples``, ``ranks`` and ``correlation``.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from ..errors import n_of
from . import svg
from .html import bars, cells, matrix, name_cell, table

LOW = 30  # reads; guides with fewer are counted as low
_ENOUGH = 0.95  # fraction assigned: above it, unassigned sequences are noise
_LISTED = 10  # unassigned sequences of a sample
_ERRORS = 20  # a sequence is at least this many times as frequent as another with one error in it
FATES = {  # outcomes of reads: label and colour
    "assigned": ("assigned", "#4477aa"), "ambiguous": ("ambiguous", "#ccbb44"),
    "low_quality": ("low quality", "#ee8866"), "recombined": ("recombined", "#aa3377"),
    "unassigned": ("unassigned", "#bbbbbb"),
}  # fmt: skip
_COLUMNS = (
    "sample", "reads", "assigned", "assigned_share", "one_letter_off", "ambiguous", "low_quality",
    "recombined", "unassigned", "guides", "zero_guides", "gini", "offsets", "offsets_of_mates2",
    "low_guides", "mean_reads", "median_reads", "skew", "lost_guides",
)  # fmt: skip
_DECIMALS = {"assigned_share": 4, "gini": 4, "mean_reads": 2, "median_reads": 2, "skew": 2}

Sample = Mapping[str, Any]


def as_table(facts: Mapping[str, Any]) -> bytes:
    """Return a table with a line for each sample."""
    lines = ["\t".join(_COLUMNS)]
    for each in facts["samples"]:
        row = {name: each.get(name) for name in _COLUMNS}
        for name, n in _DECIMALS.items():
            row[name] = "" if row[name] is None else f"{row[name]:.{n}f}"
        row["lost_guides"] = ",".join(each["lost_guides"])
        for mate, name in enumerate(("offsets", "offsets_of_mates2"), 1):
            own = (place for place in each["offsets"] if place["mate"] == mate)
            row[name] = ",".join(f"{place['strand']}{place['offset']}:{place['reads']}" for place in own)
        lines.append("\t".join(map(str, row.values())))
    return ("\n".join(lines) + "\n").encode()


def fates_of(samples: Sequence[Sample]) -> dict[str, dict[str, int]]:
    """Return {sample: {outcome in words: reads}}; outcomes without reads are left out."""
    seen = [name for name in FATES if name == "assigned" or any(each[name] for each in samples)]
    return {each["sample"]: {FATES[name][0]: each[name] for name in seen} for each in samples}


def offsets_in_words(sample: Sample) -> str:
    """The most frequent offsets in words: at most 8 per mate, with 1 % of the assigned reads or more."""
    said = [_of_mate(sample, 1) or "none"]
    if of_mates2 := _of_mate(sample, 2):
        said.append(of_mates2)
    return "; second mates: ".join(said)


def starts_in_words(sample: Sample) -> str:
    """The same offsets as a part of a sentence; "" if there are none."""
    of_mates1, of_mates2 = (_of_mate(sample, mate, _start) for mate in (1, 2))
    said = [of_mates1, of_mates2 and f"in second mates {of_mates2}"]
    return "; ".join(filter(None, said))


def _offset(place: Mapping[str, Any]) -> str:
    return f"{place['offset']}{' reverse' if place['strand'] == '-' else ''}"


def _start(place: Mapping[str, Any]) -> str:
    strand = " on the reverse strand" if place["strand"] == "-" else ""
    return f"after {n_of(place['offset'], 'base')}{strand}"


def _of_mate(sample: Sample, mate: int, words: Callable[[Mapping[str, Any]], str] = _offset) -> str:
    places = [place for place in sample["offsets"] if place["mate"] == mate]
    shares = [(place, 100 * place["reads"] / max(sample["assigned"], 1)) for place in places[:8]]
    return ", ".join(f"{words(place)} ({share:.0f} %)" for place, share in shares if share >= 1)


def sections(facts: Mapping[str, Any]) -> list[str]:
    """Return the sections of the page, as HTML."""
    samples, unit = facts["samples"], facts["samples"][0]["unit"]
    library, units = facts["library"], f"{unit}s"
    parts = [
        f"<h2>{units.capitalize()} per sample</h2>",
        f"<p>{escape(library['path'])}; {n_of(library['guides'], 'guide')}, "
        f"{n_of(len(samples), 'sample')}</p>",
        _samples(samples, units), _fates(samples),
        f"<h2>{units.capitalize()} per guide</h2>", _guides(samples, units),
        f"<p>90/10 skew: {units} of the guide at the 90th percentile divided by those of the guide at the "
        "10th; none if that is 0. Gini: the Gini index of log(count + 1), as in MAGeCK.</p>",
        f"<h2>{units.capitalize()} by rank of guide</h2>", _ranks(facts, units),
    ]  # fmt: skip
    if len(samples) > 1:
        parts.append("<h2>Correlation of samples (Pearson, of log2(count + 1))</h2>")
        names = [each["sample"] for each in samples]
        parts.append(matrix(names, facts["correlation"]))
    few = [each for each in samples if each["assigned_share"] < _ENOUGH]
    rows = [
        [name_cell(each["sample"]), f'<td class="letters">{bases}</td>', f"<td>{n:,}</td>"]
        for each in few
        for bases, n in above_chance(each)[:_LISTED]
    ]
    if rows:
        parts += [
            "<h2>Most frequent unassigned sequences at the start of each file</h2>",
            "<p>Without those that random bases, or errors in a more frequent sequence, explain.</p>",
            table(("sample", "sequence", units), rows),
        ]
    return parts


def above_chance(sample: Sample) -> list[tuple[str, int]]:
    """(sequence, reads) of the top unassigned sequences of a sample that are not there by chance.

    Among as many random sequences, one would be as frequent with a probability below 1 % (Poisson); and no
    other differs in one base and has _ERRORS times as many reads.
    """
    found: list[tuple[str, int]] = []
    for bases, n in (row.values() for row in sample["top_unassigned"]):
        kinds = 4.0 ** len(bases)
        mean = sample["unassigned"] / kinds
        if n <= max(1, mean):
            continue
        tail = kinds * math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) / (1 - mean / (n + 1))
        errors = (sum(map(operator.ne, bases, other)) == 1 for other, more in found if more >= _ERRORS * n)
        if tail < 0.01 and not any(errors):
            found.append((bases, n))
    return found


def _samples(samples: Sequence[Sample], units: str) -> str:
    """Return a table of outcomes of reads by sample; columns of zeros are left out."""
    fates = fates_of(samples)
    _, *others = fates[samples[0]["sample"]]
    rows = []
    for each in samples:
        _, *numbers = fates[each["sample"]].values()
        row = [each["reads"], each["assigned"], f"{100 * each['assigned_share']:.2f}", *numbers]
        rows.append([name_cell(each["sample"]), *cells("", *row)[1:], _words(offsets_in_words(each))])
    return table(("sample", units, "assigned", "% assigned", *others, "offsets of guides"), rows)


def _fates(samples: Sequence[Sample]) -> str:
    fates, colours = fates_of(samples), dict(FATES.values())
    rows = {
        each["sample"]: (
            [n / max(each["reads"], 1) for n in fates[each["sample"]].values()],
            f"{100 * each['assigned_share']:.1f} % assigned",
        )
        for each in samples
    }
    seen = list(fates[samples[0]["sample"]])
    return bars(rows, [colours[what] for what in seen], seen)


def _guides(samples: Sequence[Sample], units: str) -> str:
    """Return a table of the reads per guide by sample."""
    low = f"under {LOW} {units}"
    head = ("sample", "guides", f"without {units}", low, "mean", "median", "90/10 skew", "Gini")
    rows = []
    for each in samples:
        numbers = [each[name] for name in ("guides", "zero_guides", "low_guides")]
        numbers += [f"{each[name]:,.1f}" for name in ("mean_reads", "median_reads")]
        numbers += ["none" if each["skew"] is None else f"{each['skew']:.2f}", f"{each['gini']:.3f}"]
        rows.append([name_cell(each["sample"]), *cells("", *numbers)[1:]])
    return table(head, rows)


def _ranks(facts: Mapping[str, Any], units: str) -> str:
    """Curves of reads by rank of guide, from the most frequent on, with a logarithmic axis."""
    n = facts["library"]["guides"]
    most = 1.03 * math.log10(max([9, *(reads for rows in facts["ranks"] for _, reads in rows)]) + 1)
    curves = {
        each["sample"]: [((rank - 1) / max(n - 1, 1), math.log10(reads + 1) / most) for rank, reads in rows]
        for each, rows in zip(facts["samples"], facts["ranks"], strict=True)
    }
    x_ticks = [(i / 4, f"{max(1, round(i * n / 4)):,}") for i in range(5)]
    y_ticks = [(math.log10(10**i + 1) / most, f"{10**i:,}") for i in range(int(most) + 1)]
    y_ticks = [(0.0, "0"), *((y, words) for y, words in y_ticks if y <= 1)]
    labels = "rank of guide", f"{units} (log scale)"
    return svg.lines(curves, (x_ticks, y_ticks), labels, f"{units} by rank of guide")


def _words(text: str) -> str:
    return f'<td class="words">{escape(text)}</td>'
