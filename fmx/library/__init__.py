"""fmx for Python programs: build and open indexes, search reads, get NumPy arrays (docs/python.md)."""
