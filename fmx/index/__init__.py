"""An index: the reference, its tables and layouts, the bundle in memory and the folder on disk."""
