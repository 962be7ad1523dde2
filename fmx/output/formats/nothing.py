"""No hits, for runs that only count or separate reads."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..hits import BatchWriter

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.reads import ReadBatch


class NoHits(BatchWriter):
    """Writes nothing."""

    def format(self, batch: "ReadBatch", hits: Any, start: int, first_hit: int, last_hit: int) -> bytes:
        """Return no bytes."""
        return b""


def open_hits(
    reference: "Reference", output: Any, sam_header: Callable[[Any], bytes]
) -> tuple[BatchWriter, bytes]:
    """Return (NoHits, nothing)."""
    return NoHits(), b""
