"""The kinds of a report, which the names of its files tell: JSON, a page, or lines for MultiQC."""

import json
import os
from importlib import import_module

from .facts import LONG

SUFFIXES = {".json": "JSON", ".html": "HTML", ".htm": "HTML", ".log": "LOG"}


def kind_of(path) -> str | None:
    """The kind that a name tells, or None."""
    return SUFFIXES.get(os.path.splitext(path)[1].lower())


def rendered(path, facts) -> bytes:
    """Facts as what a file of this name holds."""
    kind = kind_of(path)
    if kind == "JSON":
        return as_json(facts)
    if kind == "HTML":
        return import_module(".run_page", __package__).html(facts)
    return import_module(".log", __package__).as_log(facts)


def as_json(facts) -> bytes:
    """An object a line where lists are long."""
    long = {name: facts[name] for name in LONG if name in facts}
    text = json.dumps({name: value for name, value in facts.items() if name not in long}, indent=1)
    for name, rows in long.items():
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = f'{text[:-2]},\n "{name}": [\n{lines}\n ]\n}}' if rows else f'{text[:-2]},\n "{name}": []\n}}'
    return f"{text}\n".encode()
