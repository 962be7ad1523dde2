"""How occurrences are stored: one file a layout.

To add a layout: write its file (a NamedTuple of its arrays, a ``build``, and bodies for the contracts lanes,
address, share, prefetch_extend and preceding), and add it to REGISTRY.  The protocol tests find it there.

A layout is named NAME-kK-dD, for example bvsfm-k2-d96, or cofi-k13, which has no d; k and d may be left out.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...errors import UnsupportedError
from . import alternate, bvsfm, cofi, kstep


@dataclass(frozen=True)
class Family:
    """One kind of layout: its builder, its arrays, its size by the paper's formula, and its types.

    ``build(text, sa, k, d, machine)``; ``forms(k, d, n)`` what its arrays must be, by field;
    ``bytes_per_symbol(k, d, n)`` of a text of n symbols; ``types`` by
    (k, d), the default first; of a text of n symbols the default is the first that ``fits(k, n)``.
    ``walks_forward``: its ``neighbour`` lies k symbols after a row, not before it.
    """

    build: Callable
    forms: Callable
    bytes_per_symbol: Callable
    types: dict
    fits: Callable = lambda k, n: True
    walks_forward: bool = False


def _kstep(parameters):
    return Family(kstep.build, kstep.forms, kstep.bytes_per_symbol, {p: kstep.TYPES[p] for p in parameters})


REGISTRY = {
    "bvsfm": Family(bvsfm.build, bvsfm.forms, bvsfm.bytes_per_symbol, bvsfm.TYPES),
    "sampled": _kstep(kstep.SAMPLED),
    "kstep": _kstep(kstep.KSTEP),
    "alternate": Family(alternate.build, alternate.forms, alternate.bytes_per_symbol, alternate.TYPES),
    "cofi": Family(cofi.build, cofi.forms, cofi.bytes_per_symbol, cofi.TYPES, cofi.fits, walks_forward=True),
}
DEFAULT = "bvsfm-k2-d96"


@dataclass(frozen=True)
class LayoutName:
    """A parsed layout name."""

    family: str
    k: int
    d: int | None

    def __str__(self):
        return f"{self.family}-k{self.k}" + (f"-d{self.d}" if self.d else "")

    @property
    def k_ahead(self) -> int:
        """Symbols of a step forwards, 0 if ``neighbour`` walks backwards."""
        return self.k if REGISTRY[self.family].walks_forward else 0

    def forms(self, n_text) -> dict:
        """What the arrays must be (form.Form), by their names in an index."""
        found = REGISTRY[self.family].forms(self.k, self.d, n_text)
        return {f"{self}.{field}": form for field, form in found.items()}

    def bytes_per_symbol(self, n_text) -> float:
        """Size by the paper's formula, in a text of n_text symbols."""
        return REGISTRY[self.family].bytes_per_symbol(self.k, self.d, n_text)


def parse_name(name: str, n_text: int | None = None) -> LayoutName:
    """Complete and check a layout name, for a text of n_text symbols; UnsupportedError lists what exists."""
    found = matching(name)
    return next((x for x in found if n_text is None or REGISTRY[x.family].fits(x.k, n_text)), found[0])


def matching(name: str) -> list:
    """Every layout that a name with k or d left out may mean, the default first, as LayoutName."""
    match = re.fullmatch(r"([a-z]+)(?:-k(\d+))?(?:-d(\d+))?", name)
    family = REGISTRY.get(match[1]) if match else None
    if match is None or family is None:
        raise UnsupportedError(f"no layout {name!r}; there are: {', '.join(REGISTRY)}")
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


def layout_from_arrays(name: LayoutName, arrays: dict):
    """The layout's NamedTuple from its stored arrays (name of field -> array)."""
    return REGISTRY[name.family].types[name.k, name.d](**arrays, k=name.k)
