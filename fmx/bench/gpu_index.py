"""Building and searching indexes on GPUs, timed and checked: fmx bench index, verify and gpus."""

import statistics
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from ..index import prefix_table, seed_table
from ..index.building.suffix_array.radix import plan_passes, sort_suffixes
from ..index.layouts import parse_name
from ..input.dna import pack_text
from ..machines import gpu
from ..machines.gpu_jobs import Gpu
from ..machines.gpu_session import GpuSession
from ..machines.jobs import run_all, spans
from ..measure import gpu_timing, roofline, tables, texts
from ..measure.texts import Randomize, Repeat, make_codes
from ..search import engines
from ..search.gpu import gpu_search
from ..search.gpu.gpu_parts import best_engine
from ..search.gpu.gpu_search import VerifyForm, download, upload
from ..search.hits import Intervals
from . import designs
from .options import steps_to
from .patterns import DrawnPatterns

WARM_UP = 10**6


def clocked(work: Callable[[], Any], n_runs: int) -> tuple:
    """Return (result of ``work()``, median of the seconds until the GPU has finished it)."""
    spent = []
    for _ in range(n_runs):
        result = None  # one at a time
        gpu.synchronize()
        start = time.perf_counter()
        result = work()
        gpu.synchronize()
        spent.append(time.perf_counter() - start)
    return result, statistics.median(spent)


def build(backend: Gpu, codes: Any, layout_names: Iterable[str], n_runs: int) -> list:
    """Return a row for each layout: seconds of each stage."""
    n, rows = codes.size, []
    (sa, n_rounds), sorting = clocked(lambda: sort_suffixes(backend, codes, backend.memory), n_runs)
    _, tabling = clocked(lambda: _tables(backend, codes, sa), n_runs)
    for name in layout_names:
        parsed = parse_name(name, n)
        spent = clocked(partial(parsed.kind.build, codes, sa, parsed.k, parsed.d, backend), n_runs)[1]
        row = {"symbols": n, "passes": plan_passes(n, backend.memory), "rounds": n_rounds}
        row |= {"suffix array s": sorting, "tables s": tabling, "layout": name, "layout s": spent}
        rows.append(tables.tell(row | {"suffix array and layout s": sorting + spent}))
    return rows


def _tables(backend: Gpu, codes: Any, sa: Any) -> None:
    """Make the tables of an index."""
    prefix_table.make_prefix_table(backend, codes, sa, prefix_table.default_length(codes.size))
    seed_table.first_rows(backend, codes, sa, seed_table.default_length(codes.size))
    pack_text(codes, backend)


def search(drawn: DrawnPatterns, names: Iterable[str]) -> list:
    """Return a row for each way to search: bases per second, and the number of wrong intervals."""
    rows = []
    for name in names:
        query = drawn.query(name)
        launch = engines.prepare("cuda_task-naive16", query)
        row = {"symbols": drawn.n, "way": name, "patterns": drawn.positions.size, "length": drawn.length}
        measured = drawn.measured(partial(launch, query))
        rows.append(tables.tell(row | measured))
        del query
    return rows


def run_builds(given: dict[str, Any]) -> None:
    """Run fmx bench index; ``given`` {option of the command: value}."""
    gpu_timing.open_gpu(given["device"])
    names, output = given["layout_names"] or ("bvsfm-k2-d96", "cofi"), given["output"]
    with gpu.errors():
        backend = Gpu(GpuSession(given["device"], given["gpu_memory"]))
        warm_up = make_codes(backend, Repeat, WARM_UP)
        _, compiling = clocked(lambda: build(backend, warm_up, names, 1), 1)
        click.echo(f"compiled and ran {WARM_UP} symbols in {compiling:.1f} s", err=True)
        built, searched = [], []
        for n in given["symbols"]:
            codes = make_codes(backend, Repeat, n)
            built += build(backend, codes, names, given["n_runs"])
            drawn = DrawnPatterns(backend, codes, given["queries"], given["length"])
            searched += search(drawn, ("verify", *names))
            del codes, drawn
    tables.keep(output, "build", backend.name, built)
    tables.keep(output, "search", backend.name, searched)
    if any(row["wrong"] for row in searched):
        raise click.ClickException("some searches are wrong")


# Seed and verify on a GPU, timed and checked (fmx bench verify).

TEXTS = {"random": Randomize, "repeats": Repeat}


def forms(n: int, seeds: Iterable[int]) -> list:
    """Return the form of an index's own arrays, then each length of seeds in both forms."""
    own = seed_table.default_length(n)
    lengths = [own, *(s for s in seeds if s > own)]
    return [VerifyForm(wide, s) for s in lengths for wide in (False, True)]


def attempts(
    drawn: DrawnPatterns, kind: str, seeds: Iterable[int], blocks: Iterable[int], ceiling: roofline.Ceiling
) -> list:
    """Return a row for each form and block of threads.

    A row has bases per second, the number of wrong intervals, places that are read by a pattern and by the
    slowest of a warp, and the fraction of the ``ceiling`` (roofline.Ceiling).
    """
    rows = []
    for form in forms(drawn.n, seeds):
        query = drawn.seeded(form)
        launch = engines.prepare("cuda_task-naive16", query)
        read = designs.count(query, drawn.patterns)
        for n_threads in blocks:
            row = {"text": kind, "symbols": drawn.n, "seed": form.s, "wide": form.wide, "block": n_threads}
            row |= {"GB": read.n_bytes / 1e9, "places": read.per_pattern, "slowest": read.slowest}
            row |= drawn.measured(partial(replace(launch, n_threads=n_threads), query))
            fetched = read.per_pattern * drawn.positions.size / row["s"]
            row["% of ceiling"] = 100 * fetched / ceiling(read.entry, read.n_bytes, read.apart)
            rows.append(tables.tell(row))
        del query
    return rows


def run_seeds(given: dict[str, Any]) -> None:
    """Run fmx bench verify; ``given`` {option of the command: value}."""
    gpu_timing.open_gpu(given["device"])
    if max(given["seeds"]) > given["length"]:
        raise click.BadParameter("must not be shorter than a seed", param_hint="--length")
    with gpu.errors():
        backend, rows, ceiling = Gpu(GpuSession(given["device"])), [], roofline.Ceiling()
        for kind in given["kinds"] or TEXTS:
            codes = make_codes(backend, TEXTS[kind], given["symbols"])
            drawn = DrawnPatterns(backend, codes, given["queries"], given["length"])
            rows += attempts(drawn, kind, given["seeds"], given["blocks"], ceiling)
            del codes, drawn
    tables.keep(given["output"], "verify", backend.name, rows)
    if any(row["wrong"] for row in rows):
        raise click.ClickException("some searches are wrong")


# The search stage on several GPUs at a time: each has the whole index, and a part of the patterns.


class Searcher:
    """Searches patterns on the GPU of a session; query and patterns are copied there as in fmx search."""

    def __init__(self, query: Any, drawn: Any, session: GpuSession) -> None:
        form = gpu_search.choose([query], session.memory)
        self.query, self.patterns = gpu_search.bring(query, form), upload(drawn)
        self.launch = engines.prepare(best_engine(self.query), self.query)
        n = drawn.length.size
        self.found = Intervals(*(gpu.zeros(n, np.uint32) for _ in Intervals._fields))
        self.search(0, n, 1, threading.Barrier(1))  # compiles

    def search(
        self, start: int, stop: int, n_times: int, all_ready: threading.Barrier
    ) -> tuple[float, float]:
        """Search patterns start to stop n_times; return (start time, end time)."""
        mine = texts.some(self.patterns, start, stop)
        into = Intervals(*(array[start:stop] for array in self.found))
        all_ready.wait()
        begin = time.perf_counter()
        for _ in range(n_times):
            self.launch(self.query, mine, into)
        gpu.synchronize()
        return begin, time.perf_counter()


class RandomIndex:
    """A random text, patterns drawn from it, and queries as of an index, made on the GPU of a session."""

    def __init__(self, session: GpuSession, given: SimpleNamespace) -> None:
        backend = Gpu(session)
        codes = make_codes(backend, Randomize, given.bases + 1)
        self._drawn = DrawnPatterns(backend, codes, given.queries, given.length)

    def take(self, name: str) -> tuple:
        """Return (query of a layout's name or of "verify", patterns), in the host's memory."""
        query = self._drawn.verify() if name == "verify" else self._drawn.query(name)
        return download(query), download(self._drawn.patterns)

    def n_wrong(self, found: Intervals) -> int:
        """Return how many Intervals of all patterns, in the host's memory, are wrong."""
        return self._drawn.n_wrong(upload(found))


def run_several(
    given: SimpleNamespace, sessions: list[GpuSession], device_name: str, at_least: float = 1
) -> None:
    """Run fmx bench gpus: a row for each layout and number of GPUs; ``given``: options of the command.

    One GPU searches for ``at_least`` seconds.
    """
    made = sessions[0].run(RandomIndex, sessions[0], given)
    rows, counts = [], steps_to(len(sessions))
    for name in given.names:
        arrays = sessions[0].run(made.take, name)
        members = [(session, session.run(Searcher, *arrays, session)) for session in sessions]
        found = [session.run(download, searcher.found) for session, searcher in members]
        wrong = sum(sessions[0].run(made.n_wrong, intervals) for intervals in found)
        n_times = max(1, round(at_least / _seconds(members[:1], given.queries, 1)))
        seconds = [_seconds(members[:n], given.queries, n_times) for n in counts]
        bases = given.queries * given.length * n_times / 1e9
        for n, s in zip(counts, seconds, strict=True):
            row = {"layout": name, "GPUs": n, "wrong": wrong, "Gbases/s": bases / s}
            rows.append(tables.tell(row | {"times one": seconds[0] / s}))
        del members
    tables.keep(given.output, "gpus", device_name, rows)


def _seconds(members: list, n_patterns: int, n_times: int) -> float:
    """Return the seconds in which all members, (session, Searcher), search a part of the patterns n_times."""
    all_ready = threading.Barrier(len(members))
    work = [
        (session, searcher.search, *span, n_times, all_ready)
        for (session, searcher), span in zip(members, spans(n_patterns, len(members)), strict=True)
    ]
    times = run_all(lambda session, search, *how: session.run(search, *how), work, len(members))
    return max(stop for _, stop in times) - min(begin for begin, _ in times)
