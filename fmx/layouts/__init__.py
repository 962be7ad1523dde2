"""How occurrences are stored: one file a layout.

To add a layout: write its file (a NamedTuple of its arrays, a ``build``, and bodies for the contracts occ,
extend, prefetch_extend and preceding), and add it to REGISTRY.  The protocol tests find it there.

A layout is named NAME-kK-dD, for example bvsfm-k2-d96; k and d may be left out.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import UnsupportedError
from . import bvsfm


@dataclass(frozen=True)
class Family:
    """One kind of layout: its builder, the type for each d, and the allowed parameters, default first."""

    build: Callable
    types: dict
    ks: tuple
    ds: tuple


REGISTRY = {"bvsfm": Family(bvsfm.build, bvsfm.TYPES, (2, 1), (96, 224))}
DEFAULT = "bvsfm-k2-d96"


@dataclass(frozen=True)
class LayoutName:
    """A parsed layout name."""

    family: str
    k: int
    d: int

    def __str__(self):
        return f"{self.family}-k{self.k}-d{self.d}"


def parse_name(name: str) -> LayoutName:
    """Complete and check a layout name; UnsupportedError lists what exists."""
    match = re.fullmatch(r"([a-z]+)(?:-k(\d+))?(?:-d(\d+))?", name)
    family = REGISTRY.get(match[1]) if match else None
    if match is None or family is None:
        raise UnsupportedError(f"no layout {name!r}; there are: {', '.join(REGISTRY)}")
    k, d = int(match[2] or family.ks[0]), int(match[3] or family.ds[0])
    if k not in family.ks or d not in family.ds:
        raise UnsupportedError(
            f"no layout {name!r}; {match[1]} has k in {sorted(family.ks)} and d in {sorted(family.ds)}"
        )
    return LayoutName(match[1], k, d)


def all_names() -> list:
    """Every layout there is, as LayoutName."""
    return [LayoutName(name, k, d) for name, f in REGISTRY.items() for k in f.ks for d in f.ds]


def layout_from_arrays(name: LayoutName, arrays: dict):
    """The layout's NamedTuple from its stored arrays (name of field -> array)."""
    return REGISTRY[name.family].types[name.d](**arrays, k=name.k)
