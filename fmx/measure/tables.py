"""Tables of measurements: rows (dicts with the same keys) that are printed and written to files."""

import json
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ..errors import FmxError


def markdown(rows: list) -> str:
    """Format rows as a Markdown table."""
    if not rows:
        return "(nothing)\n"
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(keys) + " |", "|" + " --- |" * len(keys)]
    lines += ["| " + " | ".join(_cell(row.get(key)) for key in keys) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    return f"{number:.3g}" if abs(number) < 100 else f"{number:,.0f}"


def tell(row: dict) -> dict:
    """Print a row on standard error as soon as it is measured; return the row."""
    click.echo(markdown([row]).splitlines()[-1], err=True)
    return row


class BenchTable(NamedTuple):
    """Measurements of a command: ``rows`` (dicts of column: value), the machine and the date."""

    table: str
    command: str
    device: str
    date: str
    rows: list


def keep(folder: str | Path, name: str, machine: str, rows: list[dict]) -> BenchTable:
    """Print the rows, and write them to NAME.json and, as a Markdown table, to NAME.md."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    found = BenchTable(name, command_line(sys.argv), machine, time.strftime("%Y-%m-%d"), rows)
    write([found], folder / f"{name}.json")
    (folder / f"{name}.md").write_text(f"{machine}, {found.date}\n\n{markdown(rows)}")
    click.echo(f"\n{name}: {machine}\n\n{markdown(rows)}")
    return found


def command_line(words: Sequence[str]) -> str:
    """Return a command for display: fmx and its arguments, without output options, files by their names."""
    told, rest = ["fmx"], iter(words[1:])
    for word in rest:
        if word in ("-o", "--output", "--work"):
            next(rest, None)
        else:
            told.append(Path(word).name if "/" in word else word)
    return shlex.join(told)


def write(tables: Iterable[BenchTable], path: str | Path) -> None:
    """Write tables as JSON, one row per line."""
    told = []
    for table in tables:
        about = table._asdict()
        rows = ",\n".join(json.dumps(row, default=float) for row in about.pop("rows"))
        told.append(f'{json.dumps(about)[:-1]}, "rows": [\n{rows}\n]}}')
    Path(path).write_text("[\n" + ",\n".join(told) + "\n]\n")


def read(path: str | Path) -> list:
    """Read the tables of a file that ``write`` wrote. Raises FmxError if it is not such a file."""
    try:
        return [BenchTable(**table) for table in json.loads(Path(path).read_text())]
    except (ValueError, TypeError, OSError) as error:
        raise FmxError(f"{path}: not a table written by fmx bench: {error}") from None
