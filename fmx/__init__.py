"""fmx finds every place where a DNA read occurs, letter for letter, in a reference genome.

index = fmx.build("ref.fa")            # or fmx.open("ref.fmx")
hits = index.search(["GATTACA"])       # NumPy structured array, dtype fmx.HIT
"""

from ._version import __version__
from .errors import DeviceError, FmxError, IndexFileError, InputError, OutputError, UnsupportedError

__all__ = [
    "DeviceError", "FmxError", "HIT", "Index", "IndexFileError", "InputError", "OutputError",
    "UnsupportedError", "__version__", "build", "open",
]  # fmt: skip

_LIBRARY = {"build": "build", "open": "open_index", "Index": "Index", "HIT": "HIT"}


def __getattr__(name):
    """Import the library when it is first used, so that ``fmx --help`` does not wait for the compiler."""
    if name in _LIBRARY:
        from . import library

        return getattr(library, _LIBRARY[name])
    raise AttributeError(f"module 'fmx' has no attribute {name!r}")
