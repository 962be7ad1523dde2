"""The index: the reference, its tables and layouts, in memory and on disk."""
