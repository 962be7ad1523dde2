"""No hits at all: of a run that only counts reads, or takes them apart."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..hits import BatchWriter

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.reads import ReadBatch


class NoHits(BatchWriter):
    """Writes none."""

    def format(self, batch: "ReadBatch", hits: Any, start: int, first_hit: int, last_hit: int) -> bytes:
        """Nothing."""
        return b""


def open_hits(
    reference: "Reference", output: Any, sam_header: Callable[[Any], bytes]
) -> tuple[BatchWriter, bytes]:
    """(NoHits, nothing)."""
    return NoHits(), b""
