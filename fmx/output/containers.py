"""What takes the bytes of a format: a plain file, or what makes another file of them."""

from functools import partial

from ..input.streams import whole_output
from . import matrix, samtools


def container(output, reference):
    """A function that opens a path for the bytes of an Output.  Raises OutputError."""
    if output.kind == "parquet":
        from . import parquet

        return partial(parquet.opened, parquet.schema_of(output))
    if output.kind == "npz":
        return partial(matrix.opened, reference.groups.names, output.matrix == "presence")
    return samtools.container(output, reference) if samtools.is_needed(output) else whole_output
