"""No hits at all: of a run that only counts reads, or takes them apart."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..hits import HitWriter

if TYPE_CHECKING:
    from ...index.reference import Reference
    from ...input.reads import ReadBatch


class NoHits(HitWriter):
    """A HitWriter that writes none."""

    def __init__(self) -> None:
        self.is_sam = False

    def allow(self, changes: int) -> None:
        """Whatever hits have."""

    def format(self, batch: "ReadBatch", hits: Any, start: int, first_hit: int, last_hit: int) -> bytes:
        """Nothing."""
        return b""

    def end(self) -> bytes:
        return b""


def open_hits(
    reference: "Reference", output: Any, sam_header: Callable[[Any], bytes]
) -> tuple[HitWriter, bytes]:
    """(NoHits, nothing)."""
    return NoHits(), b""
