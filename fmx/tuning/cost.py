"""What a way of searching fetches for a read, and so how long a read takes: arithmetic, nothing is measured.

A read of m bases occurs once in a random text of n symbols, and one strand is searched.  A string of j
symbols then has an interval of max(1, n / 4^j) rows, and the time of a read is a sum over its fetches:

    seconds = sum of times * seconds of a fetch(bytes of the entry, bytes that it lies in) / share

The share is what an engine reaches of the ceiling, for it also counts and compares.  It was measured once
(docs/tune.md, docs/benchmarks-gpu.md); a trial on the machine itself corrects it.
"""

from dataclasses import dataclass
from math import log2
from typing import NamedTuple

from .. import layouts, plan, seed_table

# Of the ceiling of a CPU, by family of layouts (M, docs/tune.md).
CPU_SHARES = {"verify": 0.29, "bvsfm": 0.47, "sampled": 0.33, "kstep": 0.44, "alternate": 0.18, "cofi": 0.57}
# Of the ceiling of a GPU, by engine and lanes of an entry, on an H200 (docs/benchmarks-gpu.md, "Designs").
SHARES = {
    "cuda_task-improved": {1: 0.93, 2: 0.97, 4: 0.82, 6: 0.63, 8: 0.60, 16: 0.54},
    "cuda_memory": {2: 0.85, 4: 0.75, 6: 0.52, 8: 0.47, 16: 0.42},
    "cuda_full": {2: 0.98, 4: 0.91, 6: 0.72, 8: 0.75, 16: 0.84},
    "cuda_task-naive16": {0: 0.5},  # COFI, and seed and verify
}


class Fetches(NamedTuple):
    """Fetches of ``entry`` bytes from random places in ``footprint`` bytes, so many times a read."""

    times: float
    entry: float
    footprint: float


@dataclass(frozen=True)
class Choice:
    """A way to search: ``way`` "verify" or the name of a layout; sampling of the suffix array, longest string
    in the prefix table; ``engine`` cpu or one of engines.CUDA."""

    way: str
    sa_rate: int
    prefix_length: int
    engine: str


def n_bytes(sizes, choice) -> int:
    """Bytes of an index that the choice reads; ``sizes``: symbols of each part of the text."""
    if choice.way == "verify":
        return plan.verify_bytes(sizes, choice.prefix_length)
    return plan.backward_bytes(sizes, choice.way, choice.sa_rate, choice.prefix_length)


def lanes_of(way, n) -> int:
    """Lanes of 16 bytes of an entry of a layout; 0 for COFI and for seed and verify, which have none."""
    name = None if way == "verify" else layouts.parse_name(way)
    if name is None or name.d is None:
        return 0
    n_entries = 4**name.k if name.family == "bvsfm" else 1  # of a run of d rows
    return -(-round(name.bytes_per_symbol(n) * name.d / n_entries) // 16)


def search_fetches(n, length, choice) -> list:
    """What a search of a part of n symbols fetches (Fetches)."""
    if choice.way == "verify":
        return _verify(n, length)
    name = layouts.parse_name(choice.way)
    looked_up = min(length, choice.prefix_length)
    looked_up -= (looked_up - length) % name.k if length > looked_up else 0
    table = Fetches(1, 8, 8 * (4 ** (choice.prefix_length + 1) - 1) / 3)
    if looked_up < 0:  # COFI's own table
        looked_up += name.k
        table = Fetches(1, 8, 4 * 4**name.k)
    widths = [_width(n, done) for done in range(looked_up, length, name.k)]
    size = name.bytes_per_symbol(n) * n
    if name.d is None:
        return [table, Fetches(len(widths), 8, 4 * 4**name.k), Fetches(_cofi(n, name.k, widths), 64, size)]
    entries = sum(1 + min(1, width / name.d) for width in widths)
    return [table, Fetches(entries, 16 * lanes_of(choice.way, n), size)]


def _width(n, length) -> float:
    return max(1, n / 4**length)


def _cofi(n, k, widths) -> float:
    """Lines of changes: a search in a column, 16 rows a line, then as far as the interval goes."""
    column = max(0, log2(_width(n, k) / 16))
    return sum(1 + column + min(1, width / 16) for width in widths)


def _verify(n, length) -> list:
    s = seed_table.default_length(n)
    probes = 1 + log2(_width(n, s))
    text = Fetches(probes, length / 4 + 8, n / 4)
    return [Fetches(1, 8, 4 * 4**s), Fetches(probes, 4, 4 * n), text]


def locate_fetches(n, choice) -> list:
    """What locating one row fetches; with seed and verify it is at hand."""
    if choice.way == "verify":
        return []
    if choice.sa_rate == 1:
        return [Fetches(1, 4, 4 * n)]
    name, steps = layouts.parse_name(choice.way), (choice.sa_rate - 1) / 2
    size = name.bytes_per_symbol(n) * n
    run = size / n * name.d if name.d else 64  # all entries of a run, to see which k-symbol precedes a row
    walk = [Fetches(steps + 1, 16, n / 6), Fetches(steps, run, size)]
    return [*walk, Fetches(1, 4, 4 * n / choice.sa_rate)]


def search_seconds(sizes, length, choice, rates) -> float:
    """Time of the search of a read, all parts of the text after each other."""
    return sum(_seconds(search_fetches(n, length, choice), choice, n, rates) for n in sizes)


def locate_seconds(sizes, choice, rates) -> float:
    """Time of locating one row, in the largest part."""
    return _seconds(locate_fetches(max(sizes), choice), choice, max(sizes), rates)


def _seconds(fetches, choice, n, rates) -> float:
    fetching = sum(times * rates.seconds(entry, footprint) for times, entry, footprint in fetches)
    return fetching / _share(choice, n)


def _share(choice, n) -> float:
    """On a GPU that of the next larger number of lanes whose share is known, or of the largest."""
    if choice.engine == "cpu":
        return CPU_SHARES[choice.way.split("-")[0]]
    known, lanes = SHARES[choice.engine], lanes_of(choice.way, n)
    return known[next((n for n in known if n >= lanes), max(known))]
