"""Maximal exact matches: a house beside search, on the same index (docs/mem.md)."""
