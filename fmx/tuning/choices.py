"""All ways to index and search a reference that fit into memory, the fastest by prediction first."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from ..index import layouts, prefix_table, seed_table
from ..index.plan import ways_to_search
from ..index.sparse.table import parse_sparse
from .cost import SHARES, Choice, locate_seconds, n_bytes, search_seconds, units_of
from .rates import Rates

SA_RATES = (1, 4, 16, 32, 64)
LONGEST_PREFIX = 13


@dataclass(frozen=True)
class Place:
    """Where may be searched, the CPU or a GPU: its rates, and how many bytes an index may take there."""

    kind: str  # cpu or cuda
    rates: Rates
    memory: int


@dataclass(frozen=True)
class Prediction:
    """A choice, where it is searched, and what is expected of it: bytes that it reads, seconds a read."""

    choice: Choice
    place: Place
    n_bytes: int
    search: float
    locate: float

    @property
    def reads(self) -> float:
        """Reads a second, searched and located."""
        return 1 / (self.search + self.locate)


def predict(sizes, length, choice, place) -> Prediction:
    """What to expect of a choice for a text of parts of ``sizes`` symbols, for reads of ``length`` bases."""
    search = search_seconds(sizes, length, choice, place.rates)
    return Prediction(
        choice, place, n_bytes(sizes, choice), search, locate_seconds(sizes, choice, place.rates)
    )


def ranked(sizes, length, places, offered: Callable) -> list:
    """The best Prediction of each way that fits, the fastest first; ``offered(kind)`` gives Choices."""
    best: dict = {}
    for place in places:
        for choice in offered(place.kind):
            if n_bytes(sizes, choice) > place.memory:
                continue
            found = predict(sizes, length, choice, place)
            if choice.way not in best or found.reads > best[choice.way].reads:
                best[choice.way] = found
    return sorted(best.values(), key=lambda found: -found.reads)


def every(n: int, kind: str):
    """Every Choice there is for a text of n symbols."""
    shortest = prefix_table.default_length(n)
    longest = max(shortest, min(LONGEST_PREFIX, seed_table.default_length(n)))
    for engine in engines_for("verify", kind):
        yield Choice("verify", 1, shortest, engine)
    for name in layouts.all_names():
        if name.kind.fits(name.k, n):
            for prefix_length, sa_rate in product(range(shortest, longest + 1), SA_RATES):
                for engine in engines_for(str(name), kind):
                    yield Choice(str(name), sa_rate, prefix_length, engine)


def of_index(meta: dict, kind: str):
    """Every Choice that an index offers."""
    for way in ways_to_search(meta):
        if parse_sparse(way):
            continue  # of which no cost is known
        for engine in engines_for(way, kind):
            yield Choice(way, meta["sa_rate"], meta["prefix_length"], engine)


def engines_for(way, kind) -> list:
    """The engines of a CPU or a GPU that can search by a way, as far as their shares are known."""
    if kind == "cpu":
        return ["cpu"]
    units = units_of(way)
    if units == 0:
        return ["cuda_task-naive16"]
    return [engine for engine, known in SHARES.items() if min(known) <= units]
