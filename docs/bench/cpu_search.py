"""The papers' CPU experiments: search alone, without reading or writing files.

Langarita et al. 2020 (figures 8, 10, 11 and 15 to 17: column sizes, search intensity, interleaving, COFI
compared with bvSFM) and Chacon et al. 2015 (comparison of layouts, and of reference sizes). The reference,
unless given, and the reads are made in memory. Reads are searched on one strand, and the results of every
query are checked.
"""

import math
from itertools import pairwise
from typing import Any

import click
import numpy as np
import runner
import synthetic
from peers import COUNT
from synthetic import DrawnPatterns, Repeat, make_codes

from fmx.errors import FmxError
from fmx.index.fasta import read_fasta
from fmx.index.layouts import parse_name
from fmx.input.reads import Patterns
from fmx.machines.jobs import Cores
from fmx.search.find import N_SLOTS

COMPARED = (
    "sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", "sampled-k1-d960", "kstep-k2-d64",
    "kstep-k3-d63", "alternate-k1-d64", "alternate-k2-d64", "alternate-k2-d192", "bvsfm-k1-d64",
    "bvsfm-k2-d64", "bvsfm-k2-d96", "bvsfm-k2-d224", "bvsfm-k3-d96", "cofi", "verify",
)  # fmt: skip
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
        found, seconds = synthetic.search(query, some, self.n_threads, self.n_runs, n_slots)
        return found, some.length.sum() / seconds / 1e9


def layouts(searches: Searches) -> list:
    """Every layout, and seed and verify, on one reference; LF operations are two per base (section 6)."""
    rows, n = [], searches.drawn.n
    for name in COMPARED:
        speed = searches.speed(name)
        size: Any = "4.25 and the seed table"
        if name != "verify":
            name, size = str(parsed := parse_name(name, n)), parsed.bytes_per_symbol(n)
        row = {"layout": name, "bytes per base": size, "Gbases/s": speed, "GLFOP/s": 2 * speed}
        rows.append(row | {"Mreads/s": 1000 * speed / searches.drawn.length})
    base = next(row["Gbases/s"] for row in rows if row["layout"] == "bvsfm-k2-d64")
    return [row | {"times bvsfm-k2-d64": row["Gbases/s"] / base} for row in rows]


def interleaving(searches: Searches) -> list:
    """Throughput by number of patterns in flight per thread."""
    queries, rows = {name: searches.drawn.query(name) for name in INTERLEAVED}, []
    for n in SLOTS:
        rows.append({"patterns": n} | {name: searches.speed(query, n) for name, query in queries.items()})
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
    "layouts": layouts, "interleaving": interleaving, "cofi": steps, "columns": columns,
}  # fmt: skip


# The command.


@click.command("search")
@click.argument("reference", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--size", type=COUNT, default="100M", show_default=True, help="Bases of a random reference.")
@click.option("--reads", type=COUNT, default="1M", show_default=True, help="Number of reads.")
@click.option("--length", type=int, default=100, show_default=True, help="Bases of a read.")
@click.option("--only", type=click.Choice(list(QUESTIONS)), multiple=True, help="Only these tables.")
@runner.common
def search_command(reference: str | None, **given: Any) -> None:
    """Time the search on the CPU: layouts, interleaving, and steps and columns of COFI."""
    n_threads, n_reads, length = given["threads"], given["reads"], given["length"]
    codes = read_fasta(reference)[1] if reference else make_codes(Cores(n_threads), Repeat, given["size"])
    searches = Searches(codes, n_reads, length, given["n_runs"], n_threads)
    where = (
        f"{runner.machine()}; {n_threads} threads; {n_reads:,} reads of {length} bases; {codes.size:,} bases"
    )
    for name in given["only"] or QUESTIONS:
        runner.keep(given["output"], f"search-{name}", where, QUESTIONS[name](searches))
