"""Form: what an array of an index must be, beside its checksums, and one pass over its data for both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xxhash

_STRETCH = 1 << 18  # bytes that are still in the cache when they are looked at again


class Form(NamedTuple):
    """``shape``: None in it is any length; ``at_most``: the largest value; ``ascends``: values never fall.

    ``holds``: of the whole array, whether it is as compiled code relies on it to be, for small arrays.
    """

    dtype: str
    shape: tuple
    at_most: int | None = None
    ascends: bool = False
    holds: Callable | None = None

    def takes(self, shape) -> bool:
        """Whether an array may have this shape."""
        return len(shape) == len(self.shape) and all(
            wanted in (None, n) for wanted, n in zip(self.shape, shape, strict=True)
        )


def scan(array, start: int, stop: int, form: Form) -> tuple:
    """(hexadecimal xxh3-64, whether values are as the form says) of elements start to stop of a flat array.

    Whether they ascend is seen with the element before ``start``.
    """
    digest, is_right = xxhash.xxh3_64(), True
    step = max(_STRETCH // array.itemsize, 1)
    for i in range(start, stop, step):
        part = array[i : min(i + step, stop)]
        digest.update(part.view(np.uint8))
        if form.ascends and is_right:
            known = array[max(i - 1, 0) : i + part.size]
            is_right = bool((known[1:] >= known[:-1]).all())
        if form.at_most is not None and is_right:
            is_right = int(part[-1] if form.ascends else part.max()) <= form.at_most
    return digest.hexdigest(), is_right


# Family: all that a layout's file says of its kind, what a search over it fetches for fmx tune included.

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
