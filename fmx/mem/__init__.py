"""Maximal exact matches, found with the same index as search (docs/mem.md)."""
