"""Search: parse -> find -> choose -> write (mapper.py), on the CPU, and on a GPU in gpu/."""

from typing import Any, Protocol


class WritesHits(Protocol):
    """Interface of an output's writer. ``on_gpu``: whether a GPU can format its records.

    ``reads_files``: the files of mapped and unmapped reads (output/search_output.py); ``comments``:
    whether it copies the SAM tags of reads.
    """

    on_gpu: bool
    reads_files: tuple
    comments: bool

    def of(self, span: Any) -> "FormatsHits":
        """Return the writer for the reads of a span."""

    def written(self, piece: Any) -> None:
        """Note that a piece has been written."""


class FormatsHits(WritesHits, Protocol):
    """Interface of what formats the hits of a batch as pieces of output."""

    is_sam: bool

    def format(self, batch: Any, hits: Any, start: int, first: int, last: int, /) -> Any:
        """Return a piece: the records of reads from ``start`` on that hits first to last belong to."""

    def split(self, batches: Any, is_hit: Any) -> Any:
        """Yield pieces for the files of mapped and unmapped reads, in their original format."""
