"""A cost model: what a search fetches per read and how long that takes.  Nothing is measured here.

A read of m bases occurs once in a random text of n symbols, and one strand is searched.  A string of j
symbols then has an SA interval of max(1, n / 4^j) rows, and the time of a read is a sum over its fetches:

    seconds = sum of times * seconds of a fetch(bytes of the entry, bytes of the array) / share

The share is the fraction of the ceiling that an engine reaches, because it also counts and compares.  If a
cache holds much of an index, a GPU spends longer counting than fetching; its time is then the sum as if the
cache held everything, divided by a separate share, if that is larger.  The shares were measured once
(docs/tune.md); a trial on the actual machine corrects them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, gcd, inf, log2

from ..index import layouts, plan, prefix_table, seed_table
from ..index.layouts import Fetches, sum_over
from ..index.plan import ways_to_search
from ..index.positions import KEY, REACH
from ..index.sparse.table import DEFAULT, SparseName, bucket_bits, parse_sparse
from ..search.gpu.gpu_search import seed_lengths
from ..search.queries.verify import FEW
from .rates import Rates

# Shares of the ceilings of a CPU, and of a GPU's memory and cache, for seed and verify; layouts have their
# own.
VERIFY_CPU, VERIFY_GPU = 0.33, (0.75, 0.33)
SPARSE_CPU = 0.14  # for a sparse suffix array, whose costs are known for the CPU only
# By units of an entry: the fastest engine of a GPU, and its shares of the ceilings of memory and of the cache
# (H200, docs/tune.md).  A trial runs every engine.
SHARES = {
    1: ("cuda_task-improved", 1.0, 1.0), 2: ("cuda_task-improved", 1.0, 1.0), 4: ("cuda_full", 0.97, 0.81),
    6: ("cuda_task-improved", 0.99, 1.0), 8: ("cuda_full", 0.92, 1.0), 10: ("cuda_full", 0.88, 1.0),
    16: ("cuda_full", 1.0, 1.0), 18: ("cuda_full", 0.95, 1.0),
}  # fmt: skip
_PIECE = 64  # smallest transfer of memory: a line of a CPU, two sectors of a GPU


@dataclass(frozen=True)
class Choice:
    """A way to search.

    ``way``: "verify", or the name of a layout or sparse suffix array; ``sa_rate``: sampling of the suffix
    array; ``prefix_length``: longest string in the prefix table; ``engine``: cpu or one of engines.CUDA.
    """

    way: str
    sa_rate: int
    prefix_length: int
    engine: str


def n_bytes(sizes: Sequence[int], choice: Choice) -> int:
    """Return the bytes of an index that the choice reads; ``sizes``: symbols of each part of the text."""
    if choice.way == "verify":
        return plan.verify_bytes(sizes, choice.prefix_length)
    if sparse := parse_sparse(choice.way):
        return plan.sparse_bytes(sizes, sparse)
    return plan.backward_bytes(sizes, choice.way, choice.sa_rate, choice.prefix_length)


def units_of(way: str) -> int:
    """Return the 16-byte units of a layout's entry; 0 if it has none, and for other methods."""
    return 0 if way == "verify" or parse_sparse(way) else layouts.parse_name(way).units


def search_fetches(n: int, length: int, choice: Choice) -> list:
    """Return the Fetches of one search in a part of n symbols."""
    if choice.way == "verify":
        return _verify(n, length) if choice.engine == "cpu" else _verify_wide(n, length)
    if sparse := parse_sparse(choice.way):
        return _sparse(n, length, sparse)
    name = layouts.parse_name(choice.way)
    looked_up = min(length, choice.prefix_length)
    looked_up -= (looked_up - length) % name.k if length > looked_up else 0
    table = _pair(choice.prefix_length)
    if name.kind.fetches:
        return name.kind.fetches(n, length, name.k, looked_up, table)
    entries = sum_over(range(looked_up, length, name.k), n, lambda rows: 1 + min(1, rows / (name.d or 1)))
    touched = _touched(16 * name.units, name.kind.apart(name.k, name.units))
    return [table, Fetches(entries, touched, name.bytes_per_symbol(n) * n)]


def _pair(q: int) -> Fetches:
    """Return the Fetches of a pair of the prefix table."""
    return Fetches(1, 8, 8 * (4 ** (q + 1) - 1) / 3)


def _touched(entry: int, apart: int) -> float:
    """Return the mean number of bytes transferred for an entry; its own size if it never crosses a border."""
    starts = range(0, _PIECE, gcd(apart, _PIECE))
    pieces = [ceil((start + entry) / _PIECE) for start in starts]
    return entry if max(pieces) == 1 else _PIECE * sum(pieces) / len(pieces)


def _verify(n: int, length: int) -> list:
    """Fetch a seed; rows, by bisection until few are left; texts of these, and the rest of one to its end."""
    s = seed_table.default_length(n)
    rows = 1 + n / 4**s
    halvings = max(0, ceil(log2(rows / FEW)))
    others = halvings + max(1, rows / 2**halvings) - 1
    texts = [Fetches(others, 8, n / 4), Fetches(1, length / 4 + 8, n / 4)]
    return [Fetches(1, 8, 4 * 4**s), Fetches(halvings + 1, 4, 4 * n), *texts]


def _sparse(n: int, length: int, name: SparseName) -> list:
    """Fetch a bucket, its rows and the text at one of them; for both strands, so half of each per strand."""
    starts, rows = Fetches(0.5, 8, 4 * 2 ** bucket_bits(n, name.w)), 2 * n / (name.w + 1)
    return [starts, Fetches(0.5, 16, 8 * rows), Fetches(0.5, length / 4 + 8, n / 4)]


def _verify_wide(n: int, length: int) -> list:
    """Fetch a seed; rows, four per fetch, by bisection; and the text, in sectors.

    For a GPU with room for wide rows and the longest seeds; otherwise a trial measures the cost.
    """
    s = seed_lengths(n, seed_table.default_length(n))[0]
    halvings = max(0, ceil(log2((1 + n / 4**s) / 4)))
    sectors = max(0, ceil((length - s - KEY) / REACH))
    return [Fetches(1, 8, 4 * 4**s), Fetches(1 + halvings, 8, 8 * n), Fetches(sectors, 32, n)]


def locate_fetches(n: int, choice: Choice) -> list:
    """Return the Fetches of locating one row; only backward search needs any."""
    if choice.way == "verify" or parse_sparse(choice.way):
        return []
    if choice.sa_rate == 1:
        return [Fetches(1, 4, 4 * n)]
    name, steps = layouts.parse_name(choice.way), (choice.sa_rate - 1) / 2
    size = name.bytes_per_symbol(n) * n
    run = size / n * name.d if name.d else 64  # all entries of a run, to find the k-symbol before a row
    walk = [Fetches(steps + 1, 16, n / 6), Fetches(steps, run, size)]
    return [*walk, Fetches(1, 4, 4 * n / choice.sa_rate)]


def search_seconds(sizes: Sequence[int], length: int, choice: Choice, rates: Rates) -> float:
    """Return the seconds per read for a search of all parts of the text in turn."""
    return sum(_seconds(search_fetches(n, length, choice), choice, n, rates) for n in sizes)


def locate_seconds(sizes: Sequence[int], choice: Choice, rates: Rates) -> float:
    """Return the seconds to locate one row in the largest part."""
    return _seconds(locate_fetches(max(sizes), choice), choice, max(sizes), rates)


def _seconds(fetches: list[Fetches], choice: Choice, n: int, rates: Rates) -> float:
    def fetching(most: float) -> float:
        return sum(times * rates.seconds(entry, min(footprint, most)) for times, entry, footprint in fetches)

    memory, cache = _shares(choice)
    return max(fetching(inf) / memory, fetching(0) / cache)


def _shares(choice: Choice) -> tuple[float, float]:
    """Return the shares of the ceilings of memory and of the cache."""
    if parse_sparse(choice.way):
        return SPARSE_CPU, SPARSE_CPU
    kind = None if choice.way == "verify" else layouts.parse_name(choice.way).kind
    if choice.engine == "cpu":
        share = kind.cpu_share if kind else VERIFY_CPU
        return share, share
    if units := units_of(choice.way):
        return _on_gpu(units)[1:]
    return kind.gpu_shares if kind else VERIFY_GPU


def _on_gpu(units: int) -> tuple[str, float, float]:
    """Return (engine, its shares) from SHARES for entries of that many units, or of the next larger size."""
    return SHARES[next((n for n in SHARES if n >= units), max(SHARES))]


# All ways to index and search a reference that fit into memory, the fastest by prediction first.

SA_RATES = (1, 4, 16, 32, 64)
LONGEST_PREFIX = 13


@dataclass(frozen=True)
class SearchPlace:
    """A place to search, CPU or GPU: its rates, and the bytes that an index may take there."""

    kind: str  # cpu or cuda
    rates: Rates
    memory: int


@dataclass(frozen=True)
class Prediction:
    """A choice, its place, and the prediction: bytes of the index it reads, seconds per read."""

    choice: Choice
    place: SearchPlace
    n_bytes: int
    search: float
    locate: float

    @property
    def reads(self) -> float:
        """Reads per second, each searched and located."""
        return 1 / (self.search + self.locate)


def predict(sizes: Sequence[int], length: int, choice: Choice, place: SearchPlace) -> Prediction:
    """Predict a choice for a text with parts of ``sizes`` symbols and reads of ``length`` bases."""
    search = search_seconds(sizes, length, choice, place.rates)
    return Prediction(
        choice, place, n_bytes(sizes, choice), search, locate_seconds(sizes, choice, place.rates)
    )


def ranked(sizes: Sequence[int], length: int, places: Iterable[SearchPlace], offered: Callable) -> list:
    """Return the best Prediction of each way that fits, fastest first; ``offered(kind)`` yields Choices."""
    best: dict = {}
    for place in places:
        for choice in offered(place.kind):
            sparse = parse_sparse(choice.way)
            if n_bytes(sizes, choice) > place.memory or (sparse and length < sparse.shortest):
                continue
            found = predict(sizes, length, choice, place)
            if choice.way not in best or found.reads > best[choice.way].reads:
                best[choice.way] = found
    return sorted(best.values(), key=lambda found: -found.reads)


def every(n: int, kind: str) -> Iterator[Choice]:
    """Yield every Choice for a text of n symbols."""
    shortest = prefix_table.default_length(n)
    longest = max(shortest, min(LONGEST_PREFIX, seed_table.default_length(n)))
    yield Choice("verify", 1, shortest, engine_for("verify", kind))
    if kind == "cpu":
        yield Choice(str(SparseName(*DEFAULT)), 1, 0, "cpu")
    for name in layouts.all_names():
        if name.kind.fits(name.k, n):
            for prefix_length, sa_rate in product(range(shortest, longest + 1), SA_RATES):
                yield Choice(str(name), sa_rate, prefix_length, engine_for(str(name), kind))


def of_index(meta: dict, kind: str) -> Iterator[Choice]:
    """Yield every Choice that an index offers."""
    for way in ways_to_search(meta):
        if kind == "cpu" or not parse_sparse(way):
            yield Choice(way, meta["sa_rate"], meta["prefix_length"], engine_for(way, kind))


def engine_for(way: str, kind: str) -> str:
    """Return cpu, or the GPU engine that is the fastest for a way as far as its share is known."""
    if kind == "cpu":
        return "cpu"
    units = units_of(way)
    return _on_gpu(units)[0] if units else "cuda_task-naive16"
