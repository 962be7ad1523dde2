"""How occurrences are stored: one file a layout.

To add a layout: write its file, which ends in a Family, and add that to REGISTRY (docs/adding.md).  All else,
the protocol tests included, finds it there.

A layout is named NAME-kK-dD, for example bvsfm-k2-d96, or cofi-k13, which has no d; k and d may be left out.
"""

import re
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from ...errors import UnsupportedError
from ..contracts import units


class _Registry(UserDict):
    """The Family of each name; of one that is "FILE.NAME" the file is imported when it is asked for."""

    def __getitem__(self, name: str) -> "Family":
        family = super().__getitem__(name)
        if isinstance(family, str):
            file, _, attribute = family.partition(".")
            family = self[name] = getattr(import_module(f".{file}", __package__), attribute)
        return family


REGISTRY = _Registry(
    bvsfm="bvsfm.FAMILY",
    sampled="kstep.SAMPLED",
    kstep="kstep.KSTEP",
    alternate="alternate.FAMILY",
    cofi="cofi.FAMILY",
)
DEFAULT = "bvsfm-k2-d96"


@dataclass(frozen=True)
class LayoutName:
    """A parsed layout name."""

    family: str
    k: int
    d: int | None

    def __str__(self) -> str:
        return f"{self.family}-k{self.k}" + (f"-d{self.d}" if self.d else "")

    @property
    def kind(self) -> "Family":
        """Its entry of the registry."""
        return REGISTRY[self.family]

    @property
    def k_ahead(self) -> int:
        """Symbols of a step forwards, 0 if ``neighbour`` walks backwards."""
        return self.k if self.kind.walks_forward else 0

    @property
    def units(self) -> int:
        """Units of 16 bytes of an entry, 0 if it has none."""
        return units(layout_from_arrays(self, dict.fromkeys(self.kind.types[self.k, self.d]._fields)))

    def forms(self, n_text: int) -> dict:
        """What the arrays must be (form.Form), by their names in an index."""
        found = self.kind.forms(self.k, self.d, n_text)
        return {f"{self}.{field}": form for field, form in found.items()}

    def bytes_per_symbol(self, n_text: int) -> float:
        """Size by the paper's formula, in a text of n_text symbols."""
        return self.kind.bytes_per_symbol(self.k, self.d, n_text)


def parse_name(name: str, n_text: int | None = None) -> LayoutName:
    """Complete and check a layout name, for a text of n_text symbols; UnsupportedError lists what exists."""
    found = matching(name)
    return next((x for x in found if n_text is None or x.kind.fits(x.k, n_text)), found[0])


def matching(name: str) -> list:
    """Every layout that a name with k or d left out may mean, the default first, as LayoutName."""
    match = re.fullmatch(r"([a-z]+)(?:-k(\d+))?(?:-d(\d+))?", name)
    family = REGISTRY.get(match[1]) if match else None
    if match is None or family is None:
        raise UnsupportedError(f"no layout {name!r}; there are: {', '.join(REGISTRY)}, and sparse")
    found = [
        LayoutName(match[1], k, d)
        for k, d in family.types
        if match[2] in (None, str(k)) and match[3] in (None, str(d))
    ]
    if not found:
        exist = ", ".join(str(LayoutName(match[1], k, d)) for k, d in family.types)
        raise UnsupportedError(f"no layout {name!r}; there are: {exist}")
    return found


def all_names() -> list:
    """Every layout there is, as LayoutName."""
    return [LayoutName(name, k, d) for name, family in REGISTRY.items() for k, d in family.types]


def layout_from_arrays(name: LayoutName, arrays: dict) -> Any:
    """The layout's NamedTuple from its stored arrays (name of field -> array)."""
    return name.kind.types[name.k, name.d](**arrays | {"k": name.k})


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


def width(n: int, length: int) -> float:
    """Rows of the interval of a string of so many symbols in a random text of n, at least one."""
    return max(1, n / 4**length)


def sum_over(steps: range, n: int, cost: Callable[[float], float]) -> float:
    """Of ``cost(width)`` of the interval after each of these lengths (a range); it is 1 in the end."""
    return sum(cost(width(n, length)) for length in steps[:_NARROW]) + len(steps[_NARROW:]) * cost(1)
