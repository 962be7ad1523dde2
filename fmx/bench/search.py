"""fmx bench search: the papers' CPU experiments: search alone.

Langarita et al. 2020 (figures 8 and 10 to 17: column sizes, search intensity, interleaving, prefetch,
conditional moves, COFI compared with bvSFM) and Chacon et al. 2015 (comparison of layouts, and of reference
sizes). The reference, unless given, and the reads are made in memory. Reads are searched on one strand, and
the results of every query are checked.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from .. import options
from ..errors import FmxError
from ..index.contracts import extend, lookup, prefetch_extend
from ..index.fasta import read_fasta
from ..index.layouts import cofi, parse_name
from ..input.reads import Patterns
from ..machines.jobs import Cores
from ..measure import tables, texts, timing
from ..measure.texts import random_codes
from ..search.engines.cpu import N_SLOTS
from ..search.queries.exact import Exact
from .options import count, length, only, output, runs
from .patterns import DrawnPatterns

COMPARED = (
    "sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", "sampled-k1-d960", "kstep-k2-d64",
    "kstep-k3-d63", "alternate-k1-d64", "alternate-k2-d64", "alternate-k2-d192", "bvsfm-k1-d64",
    "bvsfm-k2-d64", "bvsfm-k2-d96", "bvsfm-k2-d224", "bvsfm-k3-d96", "cofi", "verify",
)  # fmt: skip
OVER_SIZES = ("sampled-k1-d64", "alternate-k2-d64", "bvsfm-k2-d64", "cofi", "verify")
INTERLEAVED = ("bvsfm-k2-d64", "cofi", "verify")
SLOTS = (1, 2, 4, 8, 16, 32, 64)
BLOCK, ALPHA_BVSFM = 64, 1.088  # bytes of a cache block; cache misses of a bvSFM step (section 6)
BVSFM_INTENSITY = 2 * 2 / (ALPHA_BVSFM * BLOCK)  # LF operations per byte (equation 6)


class Searches:
    """Searches with ``n_threads`` for patterns that are drawn from a text (``codes`` as in DrawnPatterns)."""

    def __init__(self, codes: np.ndarray, n_reads: int, length: int, n_runs: int, n_threads: int) -> None:
        self.n_runs, self.n_threads = n_runs, n_threads
        self.drawn = DrawnPatterns(Cores(n_threads), codes, n_reads, length)

    def speed(self, query: Any, n_slots: int = N_SLOTS) -> float:
        """Return Gbases/s of a query, or of one by its name. Raises FmxError if a result is wrong."""
        query = self.drawn.query(query) if isinstance(query, str) else query
        found, gigabases = self.search(query, self.drawn.patterns, n_slots)
        if n_wrong := self.drawn.n_wrong(found):
            raise FmxError(f"{n_wrong} reads have wrong intervals: the search is wrong")
        return gigabases

    def search(self, query: Any, some: Patterns, n_slots: int = N_SLOTS) -> tuple:
        """Return (Intervals, Gbases/s) of a query for patterns."""
        found, seconds = texts.search(query, some, self.n_threads, self.n_runs, n_slots)
        return found, some.length.sum() / seconds / 1e9


def layouts(searches: Searches) -> list:
    """Every layout, and seed and verify, on one reference; LF operations are two per base (section 6)."""
    rows, drawn = [], searches.drawn

    def add(name: str, size: Any, gigabases: float) -> None:
        row = {"layout": name, "bytes per base": size, "Gbases/s": gigabases, "GLFOP/s": 2 * gigabases}
        rows.append(row | {"Mreads/s": 1000 * gigabases / drawn.length})

    for name in COMPARED:
        if name == "verify":
            add(name, "4.25 and the seed table", searches.speed(name))
        else:
            parsed = parse_name(name, drawn.n)
            add(str(parsed), parsed.bytes_per_symbol(drawn.n), searches.speed(name))
    _, both = searches.search(drawn.query("verify"), texts.both_strands(drawn.backend, drawn.patterns))
    add("verify, both strands", None, both / 2)  # of reads
    base = next(row["Gbases/s"] for row in rows if row["layout"] == "bvsfm-k2-d64")
    return [row | {"times bvsfm-k2-d64": row["Gbases/s"] / base} for row in rows]


def by_size(megabases: Sequence[float], searches_of: Callable[[float], Searches]) -> list:
    """Throughput by reference size."""
    rows = []
    for size in sorted(megabases, key=lambda size: (size == megabases[-1], size)):  # the last one is kept
        searches = searches_of(size)
        rows.append({"Mb": size} | {name: searches.speed(name) for name in OVER_SIZES})
    rows.sort(key=lambda row: row["Mb"])
    return rows


def interleaving(searches: Searches) -> list:
    """Throughput by number of patterns in flight per thread."""
    queries, rows = {name: searches.drawn.query(name) for name in INTERLEAVED}, []
    for n in SLOTS:
        rows.append({"patterns": n} | {name: searches.speed(query, n) for name, query in queries.items()})
    return rows


def switches(searches: Searches) -> list:
    """Prefetching, conditional moves, and the bounded second search: each off and on."""
    bvsfm, columns = (searches.drawn.layout(name) for name in ("bvsfm-k2-d64", "cofi"))
    off_and_on = {
        "bvsfm-k2-d64: prefetch": (Unprefetched(bvsfm, bvsfm.k), bvsfm),
        "cofi: prefetch": (Unprefetched(columns, columns.k), columns),
        "cofi: conditional moves": (cofi.CofiBranching(*columns), columns),
        "cofi: second search bounded": (cofi.CofiWhole(*columns), columns),
    }
    rows = []
    for name, forms in off_and_on.items():
        off, on = (searches.speed(Exact(searches.drawn.prefix, form)) for form in forms)
        rows.append({"switch": name, "off": off, "on": on, "on / off": on / off})
    return rows


def steps(searches: Searches) -> list:
    """COFI for every k that fits the reference, compared with bvSFM with k = 2, d = 64."""
    base, rows = searches.speed("bvsfm-k2-d64"), []
    for k in range(2, 16):
        if 4**k <= 16 * searches.drawn.n:
            speed = searches.speed(f"cofi-k{k}")
            rows.append({"k": k, "Gbases/s": speed, "times": speed / base})
    return rows


def search_intensity(k: int, n_elements: int) -> float:
    """Return the LF operations per byte of COFI's memory accesses (equations 6 and 7)."""
    if n_elements <= 1:
        misses = n_elements
    elif n_elements <= 16:
        misses = 2
    else:
        misses = math.ceil(math.log2(n_elements) - 2)
    return 2 * k / ((1.0625 + misses) * BLOCK)


def columns(searches: Searches) -> list:
    """Column sizes of COFI and the resulting search intensity."""
    layout = searches.drawn.layout("cofi")
    held = np.diff(np.asarray(layout.offsets, np.int64))
    edges = [0, 1, 2, *(2**i + 1 for i in range(2, 25))]
    counts, _ = np.histogram(held, edges)
    weights, _ = np.histogram(held, edges, weights=held)
    rows = [
        {
            "elements": str(a) if b == a + 1 else f"{a}-{b - 1}",
            "columns": int(n),
            "share of all elements": weight / max(held.sum(), 1),
            "LF per byte": search_intensity(layout.k, a),
        }
        for (a, b), n, weight in zip(pairwise(edges), counts, weights, strict=True)
        if n
    ]
    bvsfm = {"elements": "bvsfm-k2-d64", "LF per byte": BVSFM_INTENSITY}
    return [*rows, bvsfm]


QUESTIONS = {
    "layouts": layouts, "interleaving": interleaving, "switches": switches, "cofi": steps, "columns": columns,
}  # fmt: skip


# Any layout without prefetching, to measure the effect of prefetching.


class Unprefetched(NamedTuple):
    """``layout`` without prefetching; ``k`` is that of the layout."""

    layout: Any
    k: int


@extend.register(Unprefetched)
def _extend(layout, c, lo, hi):
    return extend(layout.layout, c, lo, hi)


@lookup.register(Unprefetched)
def _lookup(layout, c, length):
    return lookup(layout.layout, c, length)


@prefetch_extend.register(Unprefetched)
def _prefetch_extend(layout, c, lo, hi):
    return None


# The command.

TABLES = {  # tables of each
    "sizes": ["sizes"], "layouts": ["layouts"], "switches": ["interleaving", "switches"], "steps": ["cofi"],
    "columns": ["columns"],
}  # fmt: skip


@click.command(cls=options.Command)
@click.argument("reference", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--size", "sizes", type=click.IntRange(1, 2000), multiple=True, default=(1, 10, 30, 100),
    show_default=True, metavar="N",
    help="Size of a random reference, in Mb. May be repeated; most experiments use the last.",
)  # fmt: skip
@count("--reads", "n_reads", default="1M", help="Number of reads.")
@length
@runs
@only("--only", "questions", tuple(TABLES), "experiment")
@output("search")
@options.threads
def search_command(**given: Any) -> None:
    """Time the search on the CPU, without reading or writing files.

    Compares layouts, reference sizes, optimizations such as prefetching (switches) and, for the layout cofi,
    values of k (steps) and column sizes (columns). Uses random references, or REFERENCE, a FASTA file.
    """
    asked, name = given["questions"] or TABLES, ""
    if given["reference"]:
        _, text = read_fasta(given["reference"])
        sizes, name = (round(text.size / 1e6, 3),), f" of {Path(given['reference']).name}"
    else:
        text, sizes = None, given["sizes"]
    n_reads, length, n_runs, n_threads = (given[key] for key in ("n_reads", "length", "n_runs", "threads"))
    made: dict[float, Searches] = {}

    def searches_of(megabases: float) -> Searches:
        if megabases not in made:
            made.clear()  # one reference in memory at a time
            codes = random_codes(round(megabases * 10**6)) if text is None else text
            made[megabases] = Searches(codes, n_reads, length, n_runs, n_threads)
        return made[megabases]

    machine = f"{timing.machine()}; {n_threads} threads; {n_reads:,} reads of {length} bases, one strand"
    for table in [table for question in TABLES if question in asked for table in TABLES[question]]:
        if table == "sizes":
            rows, where = by_size(sizes, searches_of), machine
        else:
            rows, where = QUESTIONS[table](searches_of(sizes[-1])), f"{machine}; {sizes[-1]} Mb{name}"
        tables.keep(given["output"], f"search-{table}", where, rows)
