"""Seeding and verifying on a GPU, timed and checked (fmx bench verify)."""

from dataclasses import replace

import click

from ...index import seed_table
from ...machines import gpu
from ...machines.gpu_jobs import Gpu
from ...machines.gpu_session import GpuSession
from ...measure import gpu_timing, roofline, tables
from ...measure.texts import Randomize, Repeat, make_codes
from ...search import engines
from ...search.gpu.gpu_search import Form
from . import accesses
from .drawn import Drawn

TEXTS = {"random": Randomize, "repeats": Repeat}


def forms(n, seeds) -> list:
    """That of an index's own arrays, then each length of seeds in both forms."""
    own = seed_table.default_length(n)
    lengths = [own, *(s for s in seeds if s > own)]
    return [Form(wide, s) for s in lengths for wide in (False, True)]


def attempts(drawn, kind, seeds, blocks, ceiling) -> list:
    """A row for each form and block of threads: bases a second, the number of wrong intervals, places read by
    a pattern and by the slowest of a warp, and the share of the ``ceiling`` (roofline.Ceiling)."""
    rows = []
    for form in forms(drawn.n, seeds):
        query = drawn.seeded(form)
        launch = engines.prepare("cuda_task-naive16", query)
        read = accesses.count(query, drawn.patterns)
        for n_threads in blocks:
            go = replace(launch, n_threads=n_threads)
            row = {"text": kind, "symbols": drawn.n, "seed": form.s, "wide": form.wide, "block": n_threads}
            row |= {"GB": read.n_bytes / 1e9, "places": read.per_pattern, "slowest": read.slowest}
            row |= drawn.measured(lambda some, to, q=query, go=go: go(q, some, to))
            fetched = read.per_pattern * drawn.positions.size / row["s"]
            row["% of ceiling"] = 100 * fetched / ceiling(read.entry, read.n_bytes, read.apart)
            rows.append(tables.tell(row))
        del query
    return rows


def run(given):
    """The whole of it; ``given`` {option of the command: value}."""
    gpu_timing.open_gpu(given["device"])
    if max(given["seeds"]) > given["length"]:
        raise click.BadParameter("not shorter than a seed", param_hint="--length")
    with gpu.errors():
        backend, rows, ceiling = Gpu(GpuSession(given["device"])), [], roofline.Ceiling()
        for kind in given["kinds"] or TEXTS:
            codes = make_codes(backend, TEXTS[kind], given["symbols"])
            drawn = Drawn(backend, codes, given["queries"], given["length"])
            rows += attempts(drawn, kind, given["seeds"], given["blocks"], ceiling)
            del codes, drawn
    tables.keep(given["output"], "verify", backend.name, rows)
    if any(row["wrong"] for row in rows):
        raise click.ClickException("some searches are wrong")
