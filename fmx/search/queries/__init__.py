"""What is asked of an index: one file a query, a NamedTuple with bodies for ``begin`` and ``advance``."""
