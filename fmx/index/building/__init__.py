"""Building an index."""
