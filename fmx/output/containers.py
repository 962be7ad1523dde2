"""What takes the bytes of a format: a plain file, or what makes another file of them."""

from ..input.streams import whole_output
from . import samtools


def container(output, reference):
    """A function that opens a path for the bytes of an Output.  Raises OutputError."""
    if output.kind == "parquet":
        from . import parquet

        return parquet.opened
    return samtools.container(output, reference) if samtools.is_needed(output) else whole_output
