"""fmx finds every place where a DNA read occurs, letter for letter, in a reference genome."""

__version__ = "0.1.0"
