"""fmx finds every place where DNA reads occur in a genome, exactly or with up to two mismatches.

index = fmx.build("ref.fa")            # or fmx.open("ref.fmx")
hits = index.search(["GATTACA"])       # an fmx.Table: a NumPy structured array of dtype fmx.HIT or NEAR_HIT
pairs = fmx.pairwise("genes.fa")       # an fmx.Table of dtype fmx.PAIR
"""

import importlib
from typing import TYPE_CHECKING

from ._version import __version__
from .errors import DeviceError, FmxError, IndexFileError, InputError, OutputError, UnsupportedError, quoted

if TYPE_CHECKING:
    from .library.functions import build, from_sequences, pairwise
    from .library.functions import open_index as open
    from .library.guides import COUNT, SITE, Counts, count, offtargets
    from .library.index import Index
    from .library.table import HIT, MATCH, NEAR_HIT, NEAR_PROPER_PAIR, PAIR, PROPER_PAIR, Names, Table

__all__ = [
    "COUNT", "Counts", "DeviceError", "FmxError", "HIT", "Index", "IndexFileError", "InputError",
    "MATCH", "NEAR_HIT", "NEAR_PROPER_PAIR", "Names", "OutputError", "PAIR", "PROPER_PAIR", "SITE",
    "Table", "UnsupportedError", "__version__", "build", "count", "from_sequences", "offtargets", "open",
    "pairwise",
]  # fmt: skip

_LIBRARY = {
    "functions": ("build", "from_sequences", "open", "pairwise"),
    "guides": ("COUNT", "SITE", "Counts", "count", "offtargets"),
    "index": ("Index",),
    "table": ("HIT", "MATCH", "NEAR_HIT", "NEAR_PROPER_PAIR", "Names", "PAIR", "PROPER_PAIR", "Table"),
}


def _of_library(name: str) -> object:
    """Import the library on first use, so that ``fmx --help`` does not load the compiler."""
    for module, names in _LIBRARY.items():
        if name in names:
            name = "open_index" if name == "open" else name
            return getattr(importlib.import_module(f".library.{module}", __name__), name)
    raise AttributeError(f"module 'fmx' has no attribute {quoted(name)}")


if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = _of_library


def __dir__() -> list[str]:
    return __all__
