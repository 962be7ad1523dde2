"""Writes docs/papers.md and the figures that it shows: python docs/site/papers/page.py [NEW.json ...]

The tables in docs/papers.json are those that docs/bench wrote. A new one, in a file of its own, replaces that
of the file's name. facts.tsv has the papers' values, a number a line; figures.toml every figure and table:
the tables that it is made of, and why it differs, or why it is not made.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2]
sys.path.append(str(DOCS / "bench"))
import fm_index  # noqa: E402
import runner  # noqa: E402
from facts import (  # noqa: E402
    STAGES,
    Figure,
    MeasuredTables,
    MissingError,
    Paper,
    Value,
    facts,
    papers,
    value,
)
from runner import Table  # noqa: E402


def _on_gpu(found: MeasuredTables, **wanted: Any) -> list:
    return [row for row in found.rows("mem-stages", **wanted) if row["engine"].startswith("GPU")]


def _ratios(found: MeasuredTables) -> list:
    """Seconds of all stages of MUMmerGPU++ over those of the default, by workload and least length."""
    default, paper = (
        {(row["workload"], row["least"]): sum(row[stage] for stage in STAGES) for row in rows}
        for rows in (_on_gpu(found, algorithm="seeds"), _on_gpu(found, algorithm="mummergpu"))
    )
    return [paper[key] / default[key] for key in default]


@value
def _of_row(found: MeasuredTables, workload: str, column: str, algorithm: str = "mummergpu") -> float:
    """A column of the middle configuration of a workload on the GPU; of stages in milliseconds."""
    row = _on_gpu(found, workload=workload, algorithm=algorithm, configuration=2)[0]
    return 1000 * row[column] if column in STAGES else row[column]


@value
def _share(found: MeasuredTables, workload: str) -> float:
    row = _on_gpu(found, workload=workload, algorithm="mummergpu", configuration=2)[0]
    return 100 * row["match"] / sum(row[stage] for stage in STAGES)


@value
def _times(found: MeasuredTables, algorithm: str) -> float:
    """CPU seconds of mummer without its index, divided by those of a whole fmx command."""
    rows = found.rows("mem-commands", workload="HS2", configuration=2)
    spent = {row["command"]: row["CPU s"] for row in rows}
    if "mummer" not in spent:
        raise MissingError("mummer")
    return spent["mummer less index"] / spent[f"fmx {algorithm} cpu"]


MUMMERGPU = {
    "figure 8": {
        "default over MUMmerGPU++, smallest speed-up": Value(lambda found: min(_ratios(found))),
        "default over MUMmerGPU++, largest speed-up": Value(lambda found: max(_ratios(found))),
    },
    "figure 9": {f"HS1: {stage}": _of_row("HS1", stage) for stage in STAGES},
    "figure 10": {f"{name}: match, share of all stages": _share(name) for name in ("HS1", "HS2", "SUIS")},
    "table 3": {
        "HS2: MUMmer over MUMmerGPU++, time": _times("mummergpu"),
        "HS2: MUMmer over fmx's default, time": _times("seeds"),
        "HS2: energy per query, MUMmerGPU++": _of_row("HS2", "mJ/query"),
        "HS2: energy per query, fmx's default": _of_row("HS2", "mJ/query", "seeds"),
    },
}


# Truong et al. 2014: pairwise alignments on GPUs and clusters of them.


@value
def _speed(found: MeasuredTables, part: str, name: str, column: str = "pairs_per_s", **wanted: Any) -> float:
    return found.most("pairwise", column, part=part, name=name, **wanted)


@value
def _best_k(found: MeasuredTables) -> int:
    return found.row_of_most("pairwise", "pairs_per_s", part="slices", name="lazy")["k"]


@value
def _flat(found: MeasuredTables) -> float:
    """Speed of DScan's slowest batch of 128 pairs or more, divided by that of the fastest."""
    rows = [row for row in found.rows("pairwise", part="batches", name="dscan") if row["pairs"] >= 128]
    speeds = [row["pairs_per_s"] for row in rows]
    return min(speeds) / max(speeds)


@value
def _gpus(found: MeasuredTables, n: int) -> float:
    return found.most("gpus-pairwise", "M pairs/s", GPUs=n)


@value
def _cluster(found: MeasuredTables, name: str) -> float:
    return found.most("nodes", "pairs/s", cluster=name)


PINNED, TWO = _speed("copies", "pinned"), _speed("copies", "double-buffered")
TILED_1, CPU = _speed("batches", "tiled", pairs=1), _speed("table 5", "CPU, every pair traced")

PAIRWISE = {
    "figure 6b": {"time saved by two buffers": Value(lambda found: 100 * (1 - (PINNED / TWO).of(found)))},
    "figure 8": {
        "TiledDScan, 64 pairs at a time over one": _speed("batches", "tiled", pairs=64) / TILED_1,
        "DScan with 64 pairs over TiledDScan with one": _speed("batches", "dscan", pairs=64) / TILED_1,
    },
    "figure 9": {
        "RScan, 512 bases, over TiledDScan with one pair": (
            _speed("kernels", "rscan", "gcells_per_s", length=512)
            / _speed("batches", "tiled", "gcells_per_s", pairs=1)
        )
    },
    "figure 10a": {
        "pinned over pageable memory": PINNED / _speed("copies", "pageable"),
        "two buffers over one": TWO / PINNED,
        "DScan with its matrices copied": TWO,
    },
    "figure 10b": {"DScan, slowest over fastest of 128 to 2,048 pairs": _flat()},
    "table 4": {
        **{
            f"{block} threads, k = {k}": _speed("slices", "lazy", block=block, k=k)
            for block, k in ((128, 18), (256, 8), (32, 75))
        },
        "best k": _best_k(),
    },
    "figure 11": {
        "LazyRScan, best": _speed("slices", "lazy"),
        "the packed kernel, best": _speed("slices", "packed"),
    },
    "table 5": {
        "CPU": CPU,
        "DScan as the filter": _speed("table 5", "DScan"),
        "LazyRScan as the filter": _speed("table 5", "LazyRScan"),
        "the packed kernel as the filter": _speed("table 5", "LazyRScan packed"),
        "LazyRScan over the CPU": _speed("table 5", "LazyRScan") / CPU,
    },
    "figure 14": {"four GPUs over one": _gpus(4) / _gpus(1)},
    "figure 15": {"four different nodes": _cluster("four different nodes")},
    "figure 16": {"six equal nodes": _cluster("six equal nodes")},
}


# The page of the papers' figures, as Markdown.

VALUES: dict = {
    "gharaibeh2010": MUMMERGPU, "chacon2014": fm_index.COOPERATIVE, "chacon2015": fm_index.K_STEP,
    "truong2014": PAIRWISE, "langarita2020": fm_index.COFI,
}  # fmt: skip
NAMES = {
    "gharaibeh2010": "Gharaibeh 2010: MUMmerGPU++", "chacon2014": "Chacón 2014: cooperative search",
    "chacon2015": "Chacón 2015: k-step search", "truong2014": "Truong 2014: pairwise alignment",
    "langarita2020": "Langarita 2020: COFI",
}  # fmt: skip
HEAD = """# The papers' figures

The figures and tables of the five papers that fmx builds on: their values and those of fmx.

[Layouts](layouts.md) has k, d and engines. A paper's value, in the unit of the fmx column, is followed by its
section; *drawn*: only plotted; empty: not in the paper. HS1, HS2 and SUIS are
[queries](measurements.md#maximal-matches-beside-mummer) of fmx mem. The values of fmx come from these runs
(today `bench` is `python docs/bench`, `gpu` is `designs`, and a part of `pairwise --gpu` is `kernels`):

| runs | command | machine | date |
|---|---|---|---|
"""
COLUMNS = ["| figure | value | paper | fmx | remarks |", "|---|---|---|---|---|"]


def papers_page(tables: Iterable[Table], pictures: set[str]) -> str:
    """The page of all papers with the values of measured tables.

    ``pictures``: names of the pictures to show.
    """
    found, all_papers = MeasuredTables(tables), papers()
    lines = [HEAD[:-1]]
    runs: dict[str, list[str]] = {}
    for name in dict.fromkeys(
        name for paper in all_papers for figure in paper.figures for name in figure.made_of
    ):
        table = found.tables.get(name)
        run = f"`{table.command}` | {table.device} | {table.date}" if table else "not run | |"
        runs.setdefault(run, []).append(name)
    lines += [f"| {', '.join(names)} | {run} |" for run, names in runs.items()]
    for paper in all_papers:
        lines += ["", f"## {NAMES[paper.key]}", "", f"{paper.title}.", "", *COLUMNS]
        shown = [figure for figure in paper.figures if figure.name in VALUES[paper.key]]
        lines += [_row(paper, figure, found) for figure in shown]
        rest = [figure for figure in paper.figures if figure not in shown]
        others: dict[str, list[str]] = {}
        for figure in rest:
            others.setdefault(figure.note, []).append(figure.name)
        names = [f"- {', '.join(group).capitalize()}: {note}" for note, group in others.items()]
        lines += ["", "Not measured:", "", *names] if names else []
        for figure in paper.figures:
            if figure.picture in pictures:
                lines += ["", f"![{figure.name}: {figure.about}](figures/{figure.picture}.png)"]
    return "\n".join(lines) + "\n"


def _row(paper: Paper, figure: Figure, found: MeasuredTables) -> str:
    """The row of a figure: its values in the paper and of fmx, and its note."""
    values, cells = VALUES[paper.key][figure.name], []
    for fact in facts():
        if fact[:2] == (paper.key, figure.name):
            said = fact.value or ("drawn" if fact.section else "")
            section = f" ({fact.section})" if fact.section else ""
            cells.append(
                (
                    fact.what,
                    said + section,
                    f"{_said(values[fact.what], found)} {fact.unit.removeprefix('name')}".strip(),
                )
            )
    columns = ["<br>".join(column) for column in zip(*cells, strict=True)]
    source = f" Runs: {', '.join(figure.made_of)}." if figure.made_of else ""
    remarks = f"{figure.note}{source}".strip()
    return "| " + " | ".join([f"{figure.name}: {figure.about}", *columns, remarks]) + " |"


def _said(wanted: Value, found: MeasuredTables) -> str:
    """A measured value as text, numbers with three digits."""
    try:
        measured = wanted.of(found)
    except MissingError:
        return "missing"
    if isinstance(measured, str):
        return measured
    return f"{measured:,.0f}" if abs(measured) >= 100 else f"{measured:.3g}"


if __name__ == "__main__":
    import drawings  # needs matplotlib

    known = {table.table: table for table in runner.read(DOCS / "papers.json")}
    for path in map(Path, sys.argv[1:]):
        (table,) = runner.read(path)
        known[path.stem] = table._replace(table=path.stem)
    runner.write(known.values(), DOCS / "papers.json")
    for table in known.values():
        drawings.draw(table, DOCS / "figures")
    pictures = {path.stem for path in (DOCS / "figures").glob("*.png")}
    (DOCS / "papers.md").write_text(papers_page(known.values(), pictures), encoding="utf-8")
