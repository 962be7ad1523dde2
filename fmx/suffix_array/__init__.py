"""Suffix array construction: text -> SA."""

from .divsufsort import suffix_array

__all__ = ["suffix_array"]
