"""Building and searching an index on a GPU, timed and checked (fmx bench index)."""

import statistics
import time

import click

from ...index.building.suffix_array.radix import plan_passes, sort_suffixes
from ...index.prefix_table import default_length, make_prefix_table
from ...index.seed_table import default_length as default_seed_length
from ...index.seed_table import first_rows
from ...input.dna import pack_text
from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.gpu_session import GpuSession
from ...measure import gpu_timing as runs
from ...measure.texts import Repeat, make_codes
from ...search import engines, gpu_search
from . import device_index as indexes
from . import device_text

WARM_UP = 10**6


def clocked(work) -> tuple:
    """(what ``work()`` returns, seconds until the device has done it)."""
    gpu.synchronize()
    start = time.perf_counter()
    result = work()
    gpu.synchronize()
    return result, time.perf_counter() - start


def build(machine, codes, layout_names, n_runs) -> list:
    """A row for each layout: seconds of each stage, the median of n_runs."""
    n = codes.size
    spent = []
    for _ in range(n_runs):
        sa = None  # one at a time
        (sa, n_rounds), seconds = clocked(lambda: sort_suffixes(machine, codes, machine.memory))
        spent.append(seconds)
    sorting = statistics.median(spent)
    tables = statistics.median(clocked(lambda: _tables(machine, codes, sa))[1] for _ in range(n_runs))
    text = device_text.DeviceText(codes, None, sa, n)
    rows = []
    for name in layout_names:
        spent = [
            clocked(lambda name=name: indexes.make_layout(machine, text, name))[1] for _ in range(n_runs)
        ]
        rows.append(
            {
                "symbols": n,
                "passes": plan_passes(n, machine.memory),
                "rounds": n_rounds,
                "suffix array s": sorting,
                "tables s": tables,
                "layout": name,
                "layout s": statistics.median(spent),
                "suffix array and layout s": sorting + statistics.median(spent),
            }
        )
    return rows


def _tables(machine, codes, sa):
    """The tables of an index."""
    make_prefix_table(machine, codes, sa, default_length(codes.size))
    first_rows(machine, codes, sa, default_seed_length(codes.size))
    pack_text(codes, machine)


def search(machine, n, layout_names, n_patterns, length) -> list:
    """A row for each way to search: bases a second, and the number of wrong intervals."""
    text = device_text.make_text(machine, Repeat, n)
    row_of = device_text.rows_of(machine, text)
    patterns, positions = device_text.make_patterns(machine, text, n_patterns, length)
    prefix = make_prefix_table(machine, text.codes, text.sa, default_length(n))
    rows = []
    for name in ("verify", *layout_names):
        query = _query(machine, text, prefix, name)
        launch = engines.prepare("cuda_task-naive16", query)
        intervals = gpu_search.Intervals(*(machine.zeros(n_patterns, "uint32") for _ in range(2)))
        spent = runs.seconds(lambda q=query, i=intervals, go=launch: go(q, patterns, i))
        wrong = device_text.count_wrong(machine, text, row_of, patterns, positions, intervals)
        row = {"symbols": n, "way": name, "patterns": n_patterns, "length": length, "wrong": wrong}
        rows.append(row | {"s": spent, "Gbases/s": n_patterns * length / spent / 1e9})
        del query
    return rows


def _query(machine, text, prefix, name):
    if name == "verify":
        return indexes.verify(machine, text)
    return indexes.exact(prefix, indexes.make_layout(machine, text, name))


def run(output, symbols, layout_names, queries, length, gpu_memory, n_runs):
    """The whole of it; the arguments are the command's."""
    device_name = runs.require_device()
    layout_names = layout_names or ("bvsfm-k2-d96", "cofi")
    with gpu.errors():
        machine = Gpu(GpuSession(memory=gpu_memory))
        warm_up = make_codes(machine, Repeat, WARM_UP)
        _, compiling = clocked(lambda: build(machine, warm_up, layout_names, 1))
        click.echo(f"compiled and ran {WARM_UP} symbols in {compiling:.1f} s", err=True)
        built, searched = [], []
        for n in symbols or (10**8, 3 * 10**9):
            built += build(machine, make_codes(machine, Repeat, n), layout_names, n_runs)
            click.echo(runs.markdown(built), err=True)
            searched += search(machine, n, layout_names, queries, length)
            click.echo(runs.markdown(searched), err=True)
    runs.save(output, "build", device_name, built)
    runs.save(output, "search", device_name, searched)
    if any(row["wrong"] for row in searched):
        raise click.ClickException("some searches are wrong")
