"""Seeding and verifying on a GPU, timed and checked (fmx bench verify)."""

import click

from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.gpu_session import GpuSession
from ...measure import gpu_timing, tables
from ...measure.texts import Randomize, Repeat, make_codes
from ...search import engines
from . import wide_rows
from .drawn import Drawn

TEXTS = {"random": Randomize, "repeats": Repeat}


def attempts(drawn, kind, seeds) -> list:
    """A row for each way: bases a second and the number of wrong intervals."""
    rows, found = [], []

    def measure(way, s, search):
        intervals = drawn.no_intervals()
        seconds = gpu_timing.seconds(lambda: search(intervals))
        row = {"text": kind, "symbols": drawn.n, "way": way, "seed": s, "length": drawn.length}
        row |= {"patterns": drawn.positions.size, "ms": 1e3 * seconds}
        rows.append(tables.tell(row | {"Gbases/s": drawn.positions.size * drawn.length / seconds / 1e9}))
        found.append(intervals)

    for s in seeds:
        query = drawn.query("verify", s)
        launch = engines.prepare("cuda_task-naive16", query)
        measure("verify", s, lambda to, q=query, go=launch: go(q, drawn.patterns, to))
        del query, launch
    wide = wide_rows.widen(drawn, max(seeds))
    for n_each in (1, 2):
        way = f"wide rows, {n_each} a thread"
        measure(way, wide.s, lambda to, q=wide, m=n_each: wide_rows.search(q, drawn.patterns, to, m))
    del wide  # before there is room to check
    return [row | {"wrong": drawn.n_wrong(to)} for row, to in zip(rows, found, strict=True)]


def run(given):
    """The whole of it; ``given`` {option of the command: value}."""
    gpu_timing.open_gpu(given["device"])
    seeds, length = given["seeds"], given["length"]
    if not max(seeds) <= length <= max(seeds) + wide_rows.SYMBOLS:
        most = f"from the seed's symbols to {wide_rows.SYMBOLS} more"
        raise click.BadParameter(most, param_hint="--length")
    with gpu.errors():
        backend, rows = Gpu(GpuSession(given["device"])), []
        for kind in given["kinds"] or TEXTS:
            codes = make_codes(backend, TEXTS[kind], given["symbols"])
            rows += attempts(Drawn(backend, codes, given["queries"], length), kind, seeds)
    tables.keep(given["output"], "verify", backend.name, rows)
    if any(row["wrong"] for row in rows):
        raise click.ClickException("some searches are wrong")
