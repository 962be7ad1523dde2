"""The kinds of a report, which the names of its files tell: JSON, a page, or a section of MultiQC's."""

import json
import os
from importlib import import_module

from .facts import LONG

SUFFIXES = {"_mqc.json": "MULTIQC", ".json": "JSON", ".html": "HTML", ".htm": "HTML"}  # the first one holds


def kind_of(path) -> str | None:
    """The kind that a name tells, or None."""
    name = os.path.basename(path).lower()
    end = next((end for end in SUFFIXES if name.endswith(end)), name)
    return None if end == name else SUFFIXES[end]


def rendered(path, facts) -> bytes:
    """Facts as what a file of this name holds."""
    kind = kind_of(path)
    if kind == "JSON":
        return as_json(facts)
    if kind == "HTML":
        return import_module(".run_page", __package__).html(facts)
    return import_module(".multiqc", __package__).as_multiqc(path, facts)


def as_json(facts) -> bytes:
    """An object a line where lists are long."""
    long = {name: facts[name] for name in LONG if name in facts}
    text = json.dumps({name: value for name, value in facts.items() if name not in long}, indent=1)
    for name, rows in long.items():
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = f'{text[:-2]},\n "{name}": [\n{lines}\n ]\n}}' if rows else f'{text[:-2]},\n "{name}": []\n}}'
    return f"{text}\n".encode()
