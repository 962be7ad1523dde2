"""Lets ``python -m fmx`` stand for ``fmx``."""

from .cli import main

if __name__ == "__main__":
    main()
