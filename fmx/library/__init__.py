"""fmx for Python programs: build and open an index, search reads, get NumPy arrays back (docs/python.md)."""
