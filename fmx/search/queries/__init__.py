"""Queries of an index, a file per search method: what is looked up, and how a search goes on from there."""
