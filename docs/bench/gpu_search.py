"""The papers' GPU experiments with a random text: every layout and engine, by threads, and by length.

For backward search, the entries that a query reads from memory are counted.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import click
import numpy as np
import runner
from peers import COUNT
from synthetic import DrawnPatterns, Randomize, Repeat, make_codes, some

from fmx.compiler.warp import kernel, thread_index
from fmx.dna import symbols
from fmx.errors import UnsupportedError
from fmx.index.contracts import address, occ, start, units
from fmx.limits import GPU_ENGINES
from fmx.machines import gpu
from fmx.machines.gpu import GpuSession
from fmx.machines.gpu_jobs import Gpu
from fmx.search.gpu import engines
from fmx.search.hits import Intervals
from fmx.search.queries.backward import Backward

_LOOKED_UP = 8  # symbols that the prefix table looks up


@kernel
def count_entries_kernel(query, patterns, counts):
    """Count the entries that each pattern reads, one thread per pattern, to ``counts`` int64[n]."""
    i = thread_index()
    if i < patterns.length.size:
        lo, hi, left = start(query, patterns, i)
        k, n = np.int64(query.layout.k), np.int64(0)
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, patterns.first[i], left, k))
            lo_word, hi_word = address(query.layout, c, lo)[0], address(query.layout, c, hi)[0]
            n += 1 if lo_word == hi_word else 2
            lo, hi = occ(query.layout, c, lo), occ(query.layout, c, hi)
        counts[i] = n


def count(query: Any, patterns: Any, n_sampled: int = 200_000) -> float | None:
    """Return the mean number of entries that a pattern of backward search reads; None for other queries."""
    if not isinstance(query, Backward) or units(query.layout) == 0:
        return None
    n = min(n_sampled, patterns.length.size)
    counts = gpu.zeros(n, np.int64)
    count_entries_kernel[-(-n // 256), 256](query, some(patterns, 0, n), counts)
    return float(gpu.to_host(counts).mean())


ONE_STEP = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", "sampled-k1-d960")
TWO_STEP = ("kstep-k2-d64", "kstep-k2-d192", "kstep-k2-d448")
ALTERNATE = ("alternate-k2-d64", "alternate-k2-d192", "alternate-k2-d448")
BVSFM = ("bvsfm-k1-d224", "bvsfm-k2-d96", "bvsfm-k2-d224", "bvsfm-k3-d224")
ALL = (*ONE_STEP, *TWO_STEP, *ALTERNATE, *BVSFM, "cofi-k15", "verify")
BY_SIZE = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", *TWO_STEP[:2], *ALTERNATE)


def _launches(query: Any, names: Iterable[str]) -> dict:
    """Return the engines among ``names`` that can search by a query, {name: Launch}."""
    launches = {}
    for name in names:
        try:
            launches[name] = engines.launch_of(name, query)
        except UnsupportedError:
            continue
    one_kernel = not isinstance(query, Backward) or units(query.layout) == 0
    return {name: each for name, each in launches.items() if not one_kernel or name == "cuda_task-naive16"}


class Experiment:
    """A text of ``n_bases`` on a GPU, patterns of it, and rows of their searches, all checked."""

    def __init__(self, given: dict[str, Any], n_bases: int) -> None:
        backend = Gpu(GpuSession(given["device"]))
        codes = make_codes(backend, Repeat if given["repeats"] else Randomize, n_bases + 1)
        self.drawn = DrawnPatterns(backend, codes, given["queries"], given["length"], _LOOKED_UP)

    def row(self, query: Any, launch: Any, n_entries: float | None, n: int) -> dict:
        """Return the cells of the search for the first n patterns: speed, entries read, wrong intervals."""
        drawn = self.drawn
        intervals = Intervals(*(gpu.zeros(drawn.positions.size, np.uint32) for _ in Intervals._fields))
        seconds = runner.gpu_seconds(partial(launch, query, some(drawn.patterns, 0, n), intervals)) / n
        wrong = drawn.n_wrong(intervals) if n == drawn.positions.size else None
        row = {"wrong": wrong, "Gbases/s": drawn.length / seconds / 1e9}
        if n_entries:
            steps = (drawn.length - query.prefix.q) // query.layout.k
            row |= {"G LF/s": 2 * steps / seconds / 1e9, "entry B": 16 * units(query.layout)}
            row["G entries/s"] = n_entries / seconds / 1e9
        return row

    def rows(self, names: Iterable[str], engine_names: Iterable[str], by_threads: bool = False) -> list:
        """Return a row for each possible combination of layout and engine, or several, by active threads."""
        rows, n_all = [], self.drawn.positions.size
        for name in names:
            query = self.drawn.query(name)
            n_entries = count(query, self.drawn.patterns)
            for engine, launch in _launches(query, engine_names).items():
                row = {"layout": name, "engine": engine}
                if not by_threads:
                    rows.append(row | self.row(query, launch, n_entries, n_all))
                    continue
                for n_threads in (1 << e for e in range(9, 22)):
                    if (n := n_threads // launch.threads_per_pattern) <= n_all:
                        rows.append(row | {"threads": n_threads} | self.row(query, launch, n_entries, n))
            del query
        return rows


EXPERIMENTS = ("designs", "threads", "sizes")


@click.command("designs")
@click.option("--bases", type=COUNT, default="1G", show_default=True, help="Length of the reference.")
@click.option("--queries", type=COUNT, default="10M", show_default=True, help="Number of patterns.")
@click.option("--length", type=int, default=100, show_default=True, help="Bases of a pattern.")
@click.option("--repeats", is_flag=True, help="A text with the repeats of a genome instead of a random one.")
@click.option("--only", "experiments", type=click.Choice(EXPERIMENTS), multiple=True, help="Only these.")
@click.option("--layout", "names", multiple=True, metavar="NAME", help="Only these layouts. May be repeated.")
@click.option("--engine", "engine_names", multiple=True, metavar="NAME", help="Only these engines.")
@click.option("--device", type=int, default=0, help="Number of the GPU.")
@runner.common
def designs_command(**given: Any) -> None:
    """Time every layout and engine on a GPU: designs, by active threads, and by length of the reference."""
    device, bases = runner.open_gpu(given["device"]), given["bases"]
    asked, engine_names = given["experiments"] or EXPERIMENTS, given["engine_names"] or GPU_ENGINES
    with gpu.errors():
        if "designs" in asked or "threads" in asked:
            experiment = Experiment(given, bases)
            if "designs" in asked:
                rows = experiment.rows(given["names"] or ALL, engine_names)
                runner.keep(given["output"], "designs", device, rows)
            if "threads" in asked:
                rows = experiment.rows(given["names"] or ONE_STEP[:1], engine_names, by_threads=True)
                runner.keep(given["output"], "threads", device, rows)
            del experiment
        if "sizes" in asked:
            rows = []
            for n_bases in (bases // 16, bases // 8, bases // 4, bases // 2, bases, 2 * bases):
                found = Experiment(given, n_bases).rows(given["names"] or BY_SIZE, ["cuda_full"])
                rows += [{"reference Mb": n_bases / 1e6} | row for row in found]
            runner.keep(given["output"], "sizes", device, rows)
