"""Lets ``python -m fmx`` stand for ``fmx``."""

from .cli import main

main()
