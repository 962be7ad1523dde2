"""Suffix arrays: built in buckets or by divsufsort on the CPU, by radix sort on a GPU."""

from collections.abc import Callable
from typing import Any

from ....machines.jobs import Array, Backend
from ....machines.progress import Progress
from ..bwt import LCP, build_lcp
from . import radix
from .buckets import sort_suffixes, suffix_array
from .radix import plan_passes

__all__ = ["LCP", "build_lcp", "make_suffix_array", "plan_passes", "suffix_array"]


def make_suffix_array(
    backend: Backend,
    text: Array,
    progress: Progress | None = None,
    done: Callable[[float], object] = lambda share: None,
) -> Any:
    """Return the suffix array uint32[n] of a text (uint8[n] codes), both on the backend.  Raises DeviceError.

    ``done`` gets the fraction that is sorted, if it is known.
    """
    if not backend.serial:
        return radix.sort_suffixes(backend, text, backend.memory, progress)[0]
    sa = sort_suffixes(text, backend.n_threads, done=done)
    return suffix_array(text, n_threads=backend.n_threads) if sa is None else sa
