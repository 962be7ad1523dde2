"""Seeding and verifying on a GPU, timed and checked (fmx bench verify)."""

import click

from ...index.seed_table import first_rows
from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.gpu_session import GpuSession
from ...measure import gpu_timing as runs
from ...measure.texts import Randomize, Repeat
from ...search import engines, gpu_search
from . import device_index as indexes
from . import device_text, wide_rows

TEXTS = {"random": Randomize, "repeats": Repeat}


def attempts(machine, kind, n, n_patterns, length, seeds, say) -> list:
    """A row for each way: bases a second and the number of wrong intervals."""
    text = device_text.make_text(machine, TEXTS[kind], n)
    patterns, positions = device_text.make_patterns(machine, text, n_patterns, length)
    rows, found = [], []

    def measure(way, s, search):
        intervals = gpu_search.Intervals(*(machine.zeros(n_patterns, "uint32") for _ in range(2)))
        spent = runs.seconds(lambda: search(intervals))
        row = {"text": kind, "symbols": n, "way": way, "seed": s, "length": length, "patterns": n_patterns}
        rows.append(row | {"ms": 1e3 * spent, "Gbases/s": n_patterns * length / spent / 1e9})
        found.append(intervals)
        say(runs.markdown(rows[-1:]).splitlines()[-1])

    for s in seeds:
        query = indexes.verify(machine, text, s)
        launch = engines.prepare("cuda_task-naive16", query)
        measure("verify", s, lambda i, q=query, go=launch: go(q, patterns, i))
        del query, launch
    s = max(seeds)
    wide = wide_rows.widen(machine, text, first_rows(machine, text.codes, text.sa, s), s)
    for n_each in (1, 2):
        way = f"wide rows, {n_each} a thread"
        measure(way, s, lambda i, q=wide, m=n_each: wide_rows.search(q, patterns, i, m))
    del wide
    row_of = device_text.rows_of(machine, text)
    for row, intervals in zip(rows, found, strict=True):
        row["wrong"] = device_text.count_wrong(machine, text, row_of, patterns, positions, intervals)
    return rows


def run(output, symbols, kinds, queries, length, seeds):
    """The whole of it; the arguments are the command's."""
    device_name = runs.require_device()
    if not max(seeds) <= length <= max(seeds) + wide_rows.SYMBOLS:
        raise click.BadParameter(
            f"from the seed's symbols to {wide_rows.SYMBOLS} more", param_hint="--length"
        )
    with gpu.errors():
        machine, rows = Gpu(GpuSession()), []
        for kind in kinds or TEXTS:
            rows += attempts(
                machine, kind, symbols, queries, length, seeds, lambda line: click.echo(line, err=True)
            )
    click.echo(runs.markdown(rows), err=True)
    runs.save(output, "verify", device_name, rows)
    if any(row["wrong"] for row in rows):
        raise click.ClickException("some searches are wrong")
