"""fmx finds every place where a DNA read occurs, letter for letter, in a reference genome.

index = fmx.build("ref.fa")            # or fmx.open("ref.fmx")
hits = index.search(["GATTACA"])       # NumPy structured array, dtype fmx.HIT
pairs = fmx.pairwise("genes.fa")       # likewise, dtype fmx.PAIR
"""

import importlib

from ._version import __version__
from .errors import DeviceError, FmxError, IndexFileError, InputError, OutputError, UnsupportedError

__all__ = [
    "DeviceError", "FmxError", "HIT", "Index", "IndexFileError", "InputError", "OutputError", "PAIR",
    "UnsupportedError", "__version__", "build", "open", "pairwise",
]  # fmt: skip

_LIBRARY = {
    "library": {"build": "build", "open": "open_index", "Index": "Index", "HIT": "HIT"},
    "library.pairs": {"pairwise": "pairwise", "PAIR": "PAIR"},
}


def __getattr__(name):
    """Import the library when it is first used, so that ``fmx --help`` does not wait for the compiler."""
    for module, names in _LIBRARY.items():
        if name in names:
            return getattr(importlib.import_module(f".{module}", __name__), names[name])
    raise AttributeError(f"module 'fmx' has no attribute {name!r}")
