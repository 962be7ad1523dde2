"""No hits, for runs that only count or separate reads."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..hits import BatchWriter

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.reads import ReadBatch
    from ...search.hits import Hits
    from .. import put
    from ..search_output import RecordOutput


class NoHits(BatchWriter):
    """Writes nothing."""

    def format(self, batch: "ReadBatch", hits: "Hits", start: int, first_hit: int, last_hit: int) -> bytes:
        """Return no bytes."""
        return b""


def open_hits(
    reference: "Reference", output: "RecordOutput", sam_header: Callable[["put.NameLines"], bytes]
) -> tuple[BatchWriter, bytes]:
    """Return (NoHits, nothing)."""
    return NoHits(), b""
