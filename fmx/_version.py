"""The version of fmx."""

__version__ = "0.1.0"
