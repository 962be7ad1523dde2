"""Queries of an index: one file per search method, a NamedTuple that registers ``begin`` and ``advance``."""
