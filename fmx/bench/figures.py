"""Figures of fmx bench, drawn from the rows of a table at any time after the measurement."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..errors import FmxError
from ..measure import tables
from ..measure.tables import BenchTable, lines_of
from .papers.facts import fact

FAMILIES = ("sampled", "kstep", "alternate")
STAGES = ("copy in", "match", "copy out", "post-process")
KERNELS = {"tiled": "TiledDScan", "dscan": "DScan", "rscan": "RScan", "lazy": "LazyRScan", "packed": "packed"}
MEASURED = (16, 32, 64, 128, 256)  # bytes of entries whose ceiling is measured; others are interpolated


def keep(folder: str | Path, name: str, machine: str, rows: list[dict]) -> None:
    """Print a table, write it (``tables.keep``), and draw its figures into the same folder."""
    draw(tables.keep(folder, name, machine, rows), folder)


def draw(table: BenchTable, folder: str | Path) -> list:
    """Draw the figures of a table, if it has any, and return their paths.

    Without matplotlib, print a note.
    """
    if table.table not in _FIGURES or not table.rows:
        return []
    try:
        tables.pyplot()
    except FmxError as error:
        click.echo(f"figures of {table.table} are not drawn: {error}", err=True)
        return []
    paths = []
    for name, how, *what in _FIGURES[table.table](table):
        path = Path(folder) / f"{name}.png"
        how(path, *what)
        paths.append(path)
    return paths


def _title(what: str, table: BenchTable) -> str:
    return f"{what}\n{textwrap.fill(f'{table.device}, {table.date}', 110)}"


def _roofline(table: BenchTable) -> Iterator[tuple]:
    rows = [
        row | {"what": f"{row['entry B']} B, {row['threads']} thread{'s' * (row['threads'] > 1)}"}
        for row in table.rows
    ]
    lines = lines_of(rows, "what", "footprint GB", "G entries/s")
    labels = "footprint (GB)", "G entries / s", _title("Random entries fetched", table)
    yield "roofline", tables.plot, lines, labels


def _designs(table: BenchTable) -> Iterator[tuple]:
    for family in FAMILIES:
        rows = [row | {"d": _d(row)} for row in table.rows if row["layout"].startswith(f"{family}-")]
        if not rows:
            continue
        ceilings = {
            row["d"]: (100 * row["Gbases/s"] / row["% of ceiling"], row["entry B"] not in MEASURED)
            for row in rows
        }
        ds = sorted(ceilings)
        limits = {"memory's ceiling": (ds, [ceilings[d][0] for d in ds], [ceilings[d][1] for d in ds])}
        labels = "d (symbols)", "Gbases / s", _title(f"{family}: throughput against d", table)
        yield f"designs-{family}", tables.plot, lines_of(rows, "engine", "d"), labels, "x", limits


def _threads(table: BenchTable) -> Iterator[tuple]:
    for layout in dict.fromkeys(row["layout"] for row in table.rows):
        rows = [row for row in table.rows if row["layout"] == layout]
        labels = "threads", "Gbases / s", _title(f"Throughput by active threads, {layout}", table)
        yield f"threads-d{_d(rows[0])}", tables.plot, lines_of(rows, "engine", "threads"), labels


def _sizes(table: BenchTable) -> Iterator[tuple]:
    labels = "reference (Mb)", "Gbases / s", _title("Throughput by reference size", table)
    yield "sizes", tables.plot, lines_of(table.rows, "layout", "reference Mb"), labels


def _search_sizes(table: BenchTable) -> Iterator[tuple]:
    labels = "reference (Mb)", "Gbases / s", _title("Search by reference size", table)
    yield "search-sizes", tables.plot, _columns(table.rows, "Mb"), labels


def _search_layouts(table: BenchTable) -> Iterator[tuple]:
    bars = {row["layout"]: [row["Gbases/s"]] for row in table.rows}
    yield "search-layouts", tables.bars, bars, ["Gbases/s"], "Gbases / s", _title("Search by layout", table)


def _interleaving(table: BenchTable) -> Iterator[tuple]:
    labels = "patterns in flight per thread", "Gbases / s", _title("Interleaving", table)
    yield "search-interleaving", tables.plot, _columns(table.rows, "patterns"), labels


def _cofi(table: BenchTable) -> Iterator[tuple]:
    paper = fact("langarita2020", "figure 16", "COFI over bvSFM (k = 2, d = 64), CPU").value
    ks = [row["k"] for row in table.rows]
    lines = {"COFI here": (ks, [row["times"] for row in table.rows])}
    limits: dict = {f"the paper, Skylake: {paper}": (ks, [float(paper)] * len(ks), [])}
    labels = "k", "times bvsfm-k2-d64", _title("COFI by k", table)
    yield "search-cofi", tables.plot, lines, labels, "", limits


def _columns_of_cofi(table: BenchTable) -> Iterator[tuple]:
    bars = {row["elements"]: [row["LF per byte"]] for row in table.rows}
    title = _title("Search intensity of COFI by elements of a column", table)
    yield "genome-columns", tables.bars, bars, ["LF"], "LF operations per byte", title
    shares = {row["elements"]: [100 * row["share of all elements"]] for row in table.rows if "columns" in row}
    title = _title("Elements of COFI by the column that they are in", table)
    yield "genome-elements", tables.bars, shares, ["%"], "% of all elements", title


def _mem_stages(table: BenchTable) -> Iterator[tuple]:
    times = {
        f"{row['workload']} {row['algorithm']}\n{row['engine']}": [1000 * row[stage] for stage in STAGES]
        for row in table.rows
        if row["configuration"] == 2
    }
    shares = {name: [100 * x / sum(row) for x in row] for name, row in times.items()}
    sums = [f"{sum(row):.3g} ms" for row in times.values()]
    title = _title("Stages of finding matches", table)
    yield "mem-stages", tables.bars, times, STAGES, "ms", title
    yield "mem-shares", tables.bars, shares, STAGES, "% of the time", title, sums


def _pairwise(table: BenchTable) -> Iterator[tuple]:
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
        yield "pairwise-lengths", tables.plot, lengths, labels, "xy"
    if rows := [row | {"name": KERNELS[row["name"]]} for row in some("batches")]:
        labels = "pairs of a batch", "pairs / s", _title("Kernels that write matrices, by batch", table)
        yield "pairwise-batches", tables.plot, lines_of(rows, "name", "pairs", "pairs_per_s"), labels, "xy"
    if rows := [row | {"name": f"{row['block']} threads per block"} for row in some("slices", name="lazy")]:
        labels = "columns of a slice (k)", "pairs / s", _title("LazyRScan by slice", table)
        yield "pairwise-slices", tables.plot, lines_of(rows, "name", "k", "pairs_per_s"), labels


def _scaling(table: BenchTable) -> Iterator[tuple]:
    found = lines_of(table.rows, "reads", "nodes", "speed-up")
    lines = {f"10^{len(str(n)) - 1} reads": line for n, line in found.items()}
    yield "scaling", tables.plot, lines, ("nodes", "speed-up", table.device)


def _stages(table: BenchTable) -> Iterator[tuple]:
    title = _title("fmx search by threads", table)
    yield "stages-threads", tables.plot, lines_of(table.rows, "run", "threads", "M reads/s"), (
        "threads", "million reads / s", title,
    )  # fmt: skip
    shares = [row for row in table.rows if "search" in row]
    columns = [name for name in shares[0] if name not in ("run", "threads", "M reads/s")]
    rows = {f"{row['threads']}, {row['run']}": [row[name] for name in columns] for row in shares}
    yield "stages-shares", tables.bars, rows, columns, "% of the threads' time", title


def _columns(rows: list[dict], x: str) -> dict:
    """Return a line for each column but x."""
    xs = [row[x] for row in rows]
    return {name: (xs, [row[name] for row in rows]) for name in rows[0] if name != x}


def _d(row: dict) -> int:
    return int(row["layout"].split("-d")[1])


_FIGURES = {  # of each table: yields (name of a figure, function of measure/tables.py, its arguments), ...
    "roofline": _roofline, "designs": _designs, "threads": _threads, "sizes": _sizes,
    "search-sizes": _search_sizes, "search-layouts": _search_layouts, "search-interleaving": _interleaving,
    "search-cofi": _cofi, "genome-columns": _columns_of_cofi, "mem-stages": _mem_stages,
    "pairwise": _pairwise, "scaling": _scaling, "stages": _stages,
}  # fmt: skip
