"""How the work is spread: one file an engine, each with ``search(query, patterns) -> Intervals``."""
