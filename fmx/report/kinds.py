"""Kinds of report files, by suffix: JSON, an HTML page, a table, a MultiQC section."""

import json
import os
from pathlib import Path
from typing import Any

from .facts import FATES, LONG, fates_of

MULTIQC = "_mqc.json"
SUFFIXES = {  # the first match wins
    MULTIQC: "MULTIQC", ".json": "JSON", ".html": "HTML", ".htm": "HTML", ".tsv": "TSV",
}  # fmt: skip
KINDS = {  # by command
    "search": ("JSON", "HTML", "MULTIQC"), "mem": ("JSON", "HTML"),
    "count": ("JSON", "HTML", "TSV", "MULTIQC"),
}  # fmt: skip


def kind_of(path: str) -> str | None:
    """Return the kind that the suffix of a name stands for, or None."""
    name = os.path.basename(path).lower()
    end = next((end for end in SUFFIXES if name.endswith(end)), name)
    return None if end == name else SUFFIXES[end]


def rendered(path: str, facts: dict[str, Any]) -> bytes:
    """Return the contents of a report file for its suffix."""
    kind = kind_of(path)
    if kind == "JSON":
        return as_json(facts)
    if kind == "HTML":
        from .page import html  # draws figures

        return html(facts)
    if kind == "TSV":
        from .samples import as_table

        return as_table(facts)
    return as_multiqc(path, facts)


def as_json(facts: dict[str, Any]) -> bytes:
    """JSON with one line per element of long lists."""
    long = {name: facts[name] for name in LONG if name in facts}
    text = json.dumps({name: value for name, value in facts.items() if name not in long}, indent=1)
    for name, rows in long.items():
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = f'{text[:-2]},\n "{name}": [\n{lines}\n ]\n}}' if rows else f'{text[:-2]},\n "{name}": []\n}}'
    return f"{text}\n".encode()


# A section of MultiQC's report: custom content, found by the name of the file.

_ABOUT = "finds every place where a DNA read occurs in a reference, and counts guides and barcodes in reads."


def as_multiqc(path: str | Path, facts: dict[str, Any]) -> bytes:
    """A MultiQC section with a bar for the sample that the file is named after, or per sample counted."""
    if "samples" in facts:
        from . import samples

        what, done, colours = f"{facts['samples'][0]['unit']}s", "Counted", dict(samples.FATES.values())
        data, text = samples.fates_of(facts["samples"]), f"What became of {what}."
    else:
        what, fates = fates_of(facts)
        done, colours = "Mapped", dict(FATES[what].values())
        data = {os.path.basename(path)[: -len(MULTIQC)] or "fmx": fates}
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
