"""Suffix array construction: text -> SA -> LCP and rank arrays."""

from .divsufsort import suffix_array
from .lcp import LCP, build_lcp, build_rank

__all__ = ["LCP", "build_lcp", "build_rank", "suffix_array"]
