"""Tables of measurements: rows (dicts with the same keys) that are printed, written to files, and drawn."""

import json
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ..errors import FmxError, installed


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


def pyplot() -> Any:
    """Return matplotlib.pyplot, which draws into files. Raises FmxError without matplotlib."""
    with installed("matplotlib", "matplotlib", FmxError):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    return pyplot


def lines_of(rows: list[dict], label: str, x: str, y: str = "Gbases/s") -> dict:
    """Return {label: (xs, ys)} of rows, by the names of three of their keys."""
    lines: dict = {}
    for row in rows:
        xs, ys = lines.setdefault(row[label], ([], []))
        xs.append(row[x])
        ys.append(row[y])
    return lines


def plot(
    path: str | Path, lines: dict, labels: tuple[str, str, str], log: str = "x", limits: dict | None = None
) -> None:
    """Draw several lines, {label: (xs, ys)}.

    ``labels``: of x, of y, and the title. ``log``: "", "x" or "xy". ``limits``: dashed lines, {label: (xs,
    ys, whether each y is interpolated)}, with filled and hollow markers.
    """
    figure, axes = pyplot().subplots(figsize=(8.5, 4.2), constrained_layout=True)
    for (label, (xs, ys)), marker in zip(lines.items(), "osv^D*Px+.<>1234" * 4, strict=False):
        axes.plot(xs, ys, marker=marker, markersize=5, label=label)
    for label, (xs, ys, interpolated) in (limits or {}).items():
        axes.plot(xs, ys, "--", color="grey", label=label)
        for hollow in sorted(set(interpolated)):
            some = [(x, y) for x, y, is_one in zip(xs, ys, interpolated, strict=True) if is_one == hollow]
            name, fill = ("interpolated", "white") if hollow else ("measured", "grey")
            axes.plot(*zip(*some, strict=True), "o", color="grey", markerfacecolor=fill, label=f"... {name}")
    ticks = sorted({x for xs, _ in lines.values() for x in xs})
    if "x" in log:
        axes.set_xscale("log", base=2)
    if "y" in log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
    names = [f"{x:,.0f}" if x >= 1000 else f"{x:g}" for x in ticks]
    axes.set_xticks(ticks, names, rotation=30 if len(ticks) > 8 and "x" in log else 0)
    axes.minorticks_off()
    _label(axes, *labels)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    _save(figure, path)


def bars(
    path: str | Path,
    rows: dict,
    columns: Sequence[str],
    x_label: str,
    title: str,
    ends: Iterable[str] | None = None,
) -> None:
    """Draw horizontal bars, {label: a number for each column, side by side}.

    Each bar is labelled with a text of ``ends``, or with its sum.
    """
    figure, axes = pyplot().subplots(figsize=(9, 1 + 0.42 * len(rows)), constrained_layout=True)
    left = np.zeros(len(rows))
    for i, column in enumerate(columns):
        widths = np.array([row[i] for row in rows.values()])
        axes.barh(list(rows), widths, left=left, label=column)
        left += widths
    for y, text in enumerate(ends or [f"{whole:,.4g}" for whole in left]):
        axes.text(left[y], y, f" {text}", va="center", fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * max(left))
    _label(axes, x_label, "", title)
    axes.tick_params(axis="y", labelsize=8)
    if len(columns) > 1:
        axes.legend(fontsize=8, ncols=len(columns), loc="upper center", bbox_to_anchor=(0.5, -0.12))
    _save(figure, path)


def _label(axes: Any, x_label: str, y_label: str, title: str) -> None:
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_title(title, fontsize=9)


def _save(figure: Any, path: str | Path) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot().close(figure)
