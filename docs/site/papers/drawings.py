"""Drawings of the tables of docs/bench, for docs/figures."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from facts import STAGES, fact
from runner import Table

matplotlib.use("Agg")
from matplotlib import pyplot

KERNELS = {"tiled": "TiledDScan", "dscan": "DScan", "rscan": "RScan", "lazy": "LazyRScan", "packed": "packed"}


def draw(table: Table, folder: Path) -> list:
    """Draw the figures of a table, if it has any, and return their paths."""
    if table.table not in _FIGURES or not table.rows:
        return []
    paths = []
    for name, how, *what in _FIGURES[table.table](table):
        paths.append(folder / f"{name}.png")
        how(paths[-1], *what)
    return paths


def _title(what: str, table: Table) -> str:
    return f"{what}\n{textwrap.fill(f'{table.device}, {table.date}', 110)}"


def _roofline(table: Table) -> Iterator[tuple]:
    rows = [
        row | {"what": f"{row['entry B']} B, {row['threads']} thread{'s' * (row['threads'] > 1)}"}
        for row in table.rows
    ]
    lines = lines_of(rows, "what", "footprint GB", "G entries/s")
    labels = "footprint (GB)", "G entries / s", _title("Random entries fetched", table)
    yield "roofline", plot, lines, labels


def _designs(table: Table) -> Iterator[tuple]:
    rows = [row | {"d": _d(row)} for row in table.rows if row["layout"].startswith("sampled-")]
    ceilings = {row["d"]: 100 * row["Gbases/s"] / row["% of ceiling"] for row in rows}
    ds = sorted(ceilings)
    limits = {"memory's ceiling": (ds, [ceilings[d] for d in ds])}
    labels = "d (symbols)", "Gbases / s", _title("sampled: throughput against d", table)
    yield "designs-sampled", plot, lines_of(rows, "engine", "d"), labels, "x", limits


def _threads(table: Table) -> Iterator[tuple]:
    for layout in dict.fromkeys(row["layout"] for row in table.rows):
        rows = [row for row in table.rows if row["layout"] == layout]
        labels = "threads", "Gbases / s", _title(f"Throughput by active threads, {layout}", table)
        yield f"threads-d{_d(rows[0])}", plot, lines_of(rows, "engine", "threads"), labels


def _sizes(table: Table) -> Iterator[tuple]:
    labels = "reference (Mb)", "Gbases / s", _title("Throughput by reference size", table)
    yield "sizes", plot, lines_of(table.rows, "layout", "reference Mb"), labels


def _interleaving(table: Table) -> Iterator[tuple]:
    labels = "patterns in flight per thread", "Gbases / s", _title("Interleaving", table)
    yield "search-interleaving", plot, _columns(table.rows, "patterns"), labels


def _cofi(table: Table) -> Iterator[tuple]:
    paper = fact("langarita2020", "figure 16", "COFI over bvSFM (k = 2, d = 64), CPU").value
    ks = [row["k"] for row in table.rows]
    lines = {"COFI here": (ks, [row["times"] for row in table.rows])}
    limits: dict = {f"the paper, Skylake: {paper}": (ks, [float(paper)] * len(ks))}
    labels = "k", "times bvsfm-k2-d64", _title("COFI by k", table)
    yield "search-cofi", plot, lines, labels, "", limits


def _columns_of_cofi(table: Table) -> Iterator[tuple]:
    intensity = {row["elements"]: [row["LF per byte"]] for row in table.rows}
    title = _title("Search intensity of COFI by elements of a column", table)
    yield "genome-columns", bars, intensity, ["LF"], "LF operations per byte", title
    shares = {row["elements"]: [100 * row["share of all elements"]] for row in table.rows if "columns" in row}
    title = _title("Elements of COFI by the column that they are in", table)
    yield "genome-elements", bars, shares, ["%"], "% of all elements", title


def _mem_stages(table: Table) -> Iterator[tuple]:
    times = {
        f"{row['workload']} {row['algorithm']}\n{row['engine']}": [1000 * row[stage] for stage in STAGES]
        for row in table.rows
        if row["configuration"] == 2
    }
    shares = {name: [100 * x / sum(row) for x in row] for name, row in times.items()}
    sums = [f"{sum(row):.3g} ms" for row in times.values()]
    title = _title("Stages of finding matches", table)
    yield "mem-stages", bars, times, STAGES, "ms", title
    yield "mem-shares", bars, shares, STAGES, "% of the time", title, sums


def _pairwise(table: Table) -> Iterator[tuple]:
    def some(part: str, **wanted: Any) -> list[dict]:
        wanted["part"] = part
        return [row for row in table.rows if all(row.get(key) == value for key, value in wanted.items())]

    lengths = {}
    for kernel, name in KERNELS.items():
        best: dict = {}
        for row in some("kernels", name=kernel):
            best[row["length"]] = max(best.get(row["length"], 0), row["gcells_per_s"])
        if best:
            lengths[name] = tuple(zip(*sorted(best.items()), strict=True))
    if lengths:
        labels = "bases of a sequence", "Gcells / s", _title("Kernels by length", table)
        yield "pairwise-lengths", plot, lengths, labels, "xy"
    if rows := [row | {"name": KERNELS[row["name"]]} for row in some("batches")]:
        labels = "pairs of a batch", "pairs / s", _title("Kernels that write matrices, by batch", table)
        yield "pairwise-batches", plot, lines_of(rows, "name", "pairs", "pairs_per_s"), labels, "xy"
    if rows := [row | {"name": f"{row['block']} threads per block"} for row in some("slices", name="lazy")]:
        labels = "columns of a slice (k)", "pairs / s", _title("LazyRScan by slice", table)
        yield "pairwise-slices", plot, lines_of(rows, "name", "k", "pairs_per_s"), labels


def _scaling(table: Table) -> Iterator[tuple]:
    found = lines_of(table.rows, "reads", "nodes", "speed-up")
    lines = {f"10^{len(str(n)) - 1} reads": line for n, line in found.items()}
    yield "scaling", plot, lines, ("nodes", "speed-up", table.device)


def _columns(rows: list[dict], x: str) -> dict:
    """Return a line for each column but x."""
    xs = [row[x] for row in rows]
    return {name: (xs, [row[name] for row in rows]) for name in rows[0] if name != x}


def _d(row: dict) -> int:
    return int(row["layout"].split("-d")[1])


# Lines and bars.


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

    ``labels``: of x, of y, and the title. ``log``: "", "x" or "xy". ``limits``: dashed lines.
    """
    figure, axes = pyplot.subplots(figsize=(8.5, 4.2), constrained_layout=True)
    for (label, (xs, ys)), marker in zip(lines.items(), "osv^D*Px+.<>1234" * 4, strict=False):
        axes.plot(xs, ys, marker=marker, markersize=5, label=label)
    for label, (xs, ys) in (limits or {}).items():
        axes.plot(xs, ys, "--", color="grey", label=label)
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
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.42 * len(rows)), constrained_layout=True)
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
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


_FIGURES = {  # of each table: yields (name of a figure, plot or bars, its arguments), ...
    "roofline": _roofline, "designs": _designs, "threads": _threads, "sizes": _sizes,
    "search-interleaving": _interleaving,
    "search-cofi": _cofi, "genome-columns": _columns_of_cofi, "mem-stages": _mem_stages,
    "pairwise": _pairwise, "scaling": _scaling,
}  # fmt: skip
