"""Suffix array construction: text -> SA, by divsufsort on the CPU or radix sort on a GPU; LCP array."""

from .divsufsort import suffix_array
from .lcp import LCP, build_lcp
from .radix import plan_passes, sort_suffixes

__all__ = ["LCP", "build_lcp", "make_suffix_array", "plan_passes", "suffix_array"]


def make_suffix_array(backend, text, progress=None):
    """uint32[n] on the backend, of a text (uint8[n] codes) that is there.  Raises DeviceError."""
    if backend.serial:
        return suffix_array(text, n_threads=backend.n_threads)
    return sort_suffixes(backend, text, backend.memory, progress)[0]
