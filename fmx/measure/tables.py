"""Tables of what was measured: rows (dicts of the same keys) told, kept in files, and drawn."""

import json
import time
from pathlib import Path

import click
import numpy as np

from ..errors import FmxError, installed


def markdown(rows: list) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "(nothing)\n"
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(keys) + " |", "|" + " --- |" * len(keys)]
    lines += ["| " + " | ".join(_cell(row.get(key)) for key in keys) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value) -> str:
    if value is None:
        return ""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    return f"{number:.3g}" if abs(number) < 100 else f"{number:,.0f}"


def tell(row: dict) -> dict:
    """Show a row on standard error as soon as it is there; the row."""
    click.echo(markdown([row]).splitlines()[-1], err=True)
    return row


def keep(folder, name, machine, rows) -> None:
    """Show the rows, and write them as NAME.json and as a Markdown table NAME.md."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y-%m-%d")
    found = {"device": machine, "date": stamp, "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1, default=float))
    (folder / f"{name}.md").write_text(f"{machine}, {stamp}\n\n{markdown(rows)}")
    click.echo(f"\n{name}: {machine}\n\n{markdown(rows)}")


def pyplot():
    """matplotlib.pyplot, drawing into files.  Raises FmxError without matplotlib."""
    with installed("matplotlib", "matplotlib", FmxError):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    return pyplot


def lines_of(rows, label, x, y="Gbases/s") -> dict:
    """{label: (xs, ys)} of rows, by the names of three of their keys."""
    lines: dict = {}
    for row in rows:
        xs, ys = lines.setdefault(row[label], ([], []))
        xs.append(row[x])
        ys.append(row[y])
    return lines


def plot(path, lines: dict, x_label, y_label, title, log_x=True) -> None:
    """A figure of several lines, {label: (xs, ys)}; without matplotlib it is said that there is none."""
    try:
        plots = pyplot()
    except FmxError as error:
        click.echo(f"{path} is not drawn: {error}", err=True)
        return
    figure, axes = plots.subplots(figsize=(8.5, 4.2), constrained_layout=True)
    for (label, (xs, ys)), marker in zip(lines.items(), "osv^D*Px+.<>1234" * 4, strict=False):
        axes.plot(xs, ys, marker=marker, markersize=5, label=label)
    if log_x:
        axes.set_xscale("log", base=2)
        ticks = sorted({x for xs, _ in lines.values() for x in xs})
        names = [f"{x:,.0f}" if x >= 1000 else f"{x:g}" for x in ticks]
        axes.set_xticks(ticks, names, rotation=30 if len(ticks) > 8 else 0)
        axes.minorticks_off()
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    _save(figure, path)


def bars(path, rows: dict, columns, x_label, title) -> None:
    """A figure of horizontal bars, {label: a number for each column, side by side}, each with its sum."""
    figure, axes = pyplot().subplots(figsize=(9, 1 + 0.42 * len(rows)), constrained_layout=True)
    left = np.zeros(len(rows))
    for i, column in enumerate(columns):
        widths = np.array([row[i] for row in rows.values()])
        axes.barh(list(rows), widths, left=left, label=column)
        left += widths
    for y, whole in enumerate(left):
        axes.text(whole, y, f" {whole:,.4g}", va="center", fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel=x_label, xlim=(0, 1.15 * max(left)))
    axes.set_title(title, fontsize=10)
    axes.tick_params(axis="y", labelsize=8)
    if len(columns) > 1:
        axes.legend(fontsize=8, ncols=len(columns), loc="upper center", bbox_to_anchor=(0.5, -0.12))
    _save(figure, path)


def _save(figure, path) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot().close(figure)
