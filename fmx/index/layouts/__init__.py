"""Layouts of the occurrence table, one file each.

To add a layout, write its file, which ends in a Family, and add that to REGISTRY (docs/layouts.md).  All
other code, including the protocol tests, finds it there.

A layout is named NAME-kK-dD, for example bvsfm-k2-d96, or cofi-k13, which has no d; k and d may be omitted.
"""

import re
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from ...errors import UnsupportedError
from ..contracts import units


class ArraySpec(NamedTuple):
    """The form required of an array.

    ``shape``: None in it means any length; ``at_most``: largest value; ``ascends``: values never decrease;
    ``holds``: for small arrays, a function that checks the whole array for what compiled code relies on.
    """

    dtype: str
    shape: tuple
    at_most: int | None = None
    ascends: bool = False
    holds: Callable | None = None


class _Registry(UserDict):
    """The Family of each name; an entry "FILE.NAME" is imported when it is first used."""

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
        """The Family of the layout."""
        return REGISTRY[self.family]

    @property
    def units(self) -> int:
        """Units of 16 bytes of an entry, 0 if it has none."""
        return units(layout_from_arrays(self, dict.fromkeys(self.kind.types[self.k, self.d]._fields)))

    def forms(self, n_text: int) -> dict:
        """Return the form (ArraySpec) of each array, by its name in an index."""
        return {f"{self}.{field}": form for field, form in self.kind.forms(self.k, self.d, n_text).items()}

    def bytes_per_symbol(self, n_text: int) -> float:
        """Return the size by the paper's formula, in a text of n_text symbols."""
        return self.kind.bytes_per_symbol(self.k, self.d, n_text)


def parse_name(name: str, n_text: int | None = None) -> LayoutName:
    """Return the LayoutName of a name that may lack k or d, for a text of n_text symbols.

    Raises UnsupportedError, which lists the layouts.
    """
    names = matching(name)
    return next((x for x in names if n_text is None or x.kind.fits(x.k, n_text)), names[0])


def matching(name: str) -> list:
    """Return every LayoutName that a name without k or d may mean, the default first."""
    if name == "auto":
        raise UnsupportedError("layout auto cannot be combined with other layouts or added to an index")
    match = re.fullmatch(r"([a-z]+)(?:-k(\d+))?(?:-d(\d+))?", name)
    family = REGISTRY.get(match[1]) if match else None
    if match is None or family is None:
        method = f" (it is a search method: --method {name})" if name in ("verify", "backward") else ""
        raise UnsupportedError(
            f"no layout {name!r}{method}; the layouts are {', '.join(REGISTRY)} and sparse, or auto"
        )
    names = [LayoutName(match[1], k, d) for k, d in family.types]
    matches = [x for x in names if match[2] in (None, str(x.k)) and match[3] in (None, str(x.d))]
    if not matches:
        raise UnsupportedError(f"no layout {name!r}; the {match[1]} layouts are {', '.join(map(str, names))}")
    return matches


def layout_from_arrays(name: LayoutName, arrays: dict) -> Any:
    """Return the layout's NamedTuple from its stored arrays (field name to array)."""
    return name.kind.types[name.k, name.d](**arrays | {"k": name.k})


@dataclass(frozen=True)
class Family:
    """A kind of layout: its builder, arrays, size by the paper's formula, and types.

    ``build(text, sa, k, d, backend)`` makes its arrays; ``forms(k, d, n)`` returns their ArraySpec by field;
    ``bytes_per_symbol(k, d, n)`` is its size in a text of n symbols; ``types`` by (k, d), the default first:
    for a text of n symbols it is the first that ``fits(k, n)``.  ``walks_forward``: its ``neighbour`` is k
    symbols after a row, not before it.
    """

    build: Callable
    forms: Callable
    bytes_per_symbol: Callable
    types: dict
    fits: Callable = lambda k, n: True
    walks_forward: bool = False
