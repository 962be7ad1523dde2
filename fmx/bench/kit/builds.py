"""Building and searching an index on a GPU, timed and checked (fmx bench index)."""

import statistics
import time

import click

from ...index import prefix_table, seed_table
from ...index.building.suffix_array.radix import plan_passes, sort_suffixes
from ...index.layouts import parse_name
from ...input.dna import pack_text
from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.gpu_session import GpuSession
from ...measure import gpu_timing, tables
from ...measure.texts import Repeat, make_codes
from ...search import engines
from .drawn import Drawn

WARM_UP = 10**6


def _clocked(work, n_runs) -> tuple:
    """(what ``work()`` returns, the median of the seconds until the GPU has done it)."""
    spent = []
    for _ in range(n_runs):
        result = None  # one at a time
        gpu.synchronize()
        start = time.perf_counter()
        result = work()
        gpu.synchronize()
        spent.append(time.perf_counter() - start)
    return result, statistics.median(spent)


def build(backend, codes, layout_names, n_runs) -> list:
    """A row for each layout: seconds of each stage."""
    n, rows = codes.size, []
    (sa, n_rounds), sorting = _clocked(lambda: sort_suffixes(backend, codes, backend.memory), n_runs)
    _, tabling = _clocked(lambda: _tables(backend, codes, sa), n_runs)
    for name in layout_names:
        parsed = parse_name(name, n)
        spent = _clocked(lambda x=parsed: x.kind.build(codes, sa, x.k, x.d, backend), n_runs)[1]
        row = {"symbols": n, "passes": plan_passes(n, backend.memory), "rounds": n_rounds}
        row |= {"suffix array s": sorting, "tables s": tabling, "layout": name, "layout s": spent}
        rows.append(tables.tell(row | {"suffix array and layout s": sorting + spent}))
    return rows


def _tables(backend, codes, sa):
    """The tables of an index."""
    prefix_table.make_prefix_table(backend, codes, sa, prefix_table.default_length(codes.size))
    seed_table.first_rows(backend, codes, sa, seed_table.default_length(codes.size))
    pack_text(codes, backend)


def search(drawn, names) -> list:
    """A row for each way to search: bases a second, and the number of wrong intervals."""
    rows = []
    for name in names:
        query = drawn.query(name)
        launch = engines.prepare("cuda_task-naive16", query)
        row = {"symbols": drawn.n, "way": name, "patterns": drawn.positions.size, "length": drawn.length}
        measured = drawn.measured(lambda some, to, q=query, go=launch: go(q, some, to))
        rows.append(tables.tell(row | measured))
        del query
    return rows


def run(given):
    """The whole of it; ``given`` {option of the command: value}."""
    gpu_timing.open_gpu(given["device"])
    names, output = given["layout_names"] or ("bvsfm-k2-d96", "cofi"), given["output"]
    with gpu.errors():
        backend = Gpu(GpuSession(given["device"], given["gpu_memory"]))
        warm_up = make_codes(backend, Repeat, WARM_UP)
        _, compiling = _clocked(lambda: build(backend, warm_up, names, 1), 1)
        click.echo(f"compiled and ran {WARM_UP} symbols in {compiling:.1f} s", err=True)
        built, searched = [], []
        for n in given["symbols"]:
            codes = make_codes(backend, Repeat, n)
            built += build(backend, codes, names, given["n_runs"])
            drawn = Drawn(backend, codes, given["queries"], given["length"])
            searched += search(drawn, ("verify", *names))
            del codes, drawn
    tables.keep(output, "build", backend.name, built)
    tables.keep(output, "search", backend.name, searched)
    if any(row["wrong"] for row in searched):
        raise click.ClickException("some searches are wrong")
