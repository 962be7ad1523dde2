"""Near matches: occurrences with up to two mismatches."""
