"""Family: all that a layout's file says of its kind, what a search over it fetches for fmx tune included."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

_NARROW = 33  # steps after which an interval of any text has one row, each of a symbol or more


@dataclass(frozen=True)
class Family:
    """One kind of layout: its builder, its arrays, its size by the paper's formula, its types, its speed.

    ``build(text, sa, k, d, backend)``; ``forms(k, d, n)`` what its arrays must be, by field;
    ``bytes_per_symbol(k, d, n)`` of a text of n symbols; ``types`` by
    (k, d), the default first; of a text of n symbols the default is the first that ``fits(k, n)``.
    ``walks_forward``: its ``neighbour`` lies k symbols after a row, not before it.

    For ``fmx tune``: ``cpu_share`` is what the CPU's engine reaches of its ceiling.  Entries of so many units
    lie at multiples of ``apart(k, units)`` bytes.  A layout without units says itself what a search fetches,
    ``fetches(n, length, k, looked_up, table)`` with the Fetches of its prefix table, and what an engine of a
    GPU reaches of the ceilings of its memory and of its cache (``gpu_shares``).
    """

    build: Callable
    forms: Callable
    bytes_per_symbol: Callable
    types: dict
    cpu_share: float
    fits: Callable = lambda k, n: True
    walks_forward: bool = False
    apart: Callable = lambda k, units: 16 * units
    fetches: Callable | None = None
    gpu_shares: tuple = ()


class Fetches(NamedTuple):
    """Fetches of ``entry`` bytes from random places in ``footprint`` bytes, so many times a read."""

    times: float
    entry: float
    footprint: float


def width(n, length) -> float:
    """Rows of the interval of a string of so many symbols in a random text of n, at least one."""
    return max(1, n / 4**length)


def sum_over(steps, n, cost) -> float:
    """Of ``cost(width)`` of the interval after each of these lengths (a range); it is 1 in the end."""
    return sum(cost(width(n, length)) for length in steps[:_NARROW]) + len(steps[_NARROW:]) * cost(1)
