"""No hits at all: of a run that only counts reads, or takes them apart."""

from ..hits import HitWriter


class NoHits(HitWriter):
    """A HitWriter that writes none."""

    def __init__(self):
        self.is_sam = False

    def allow(self, changes) -> None:
        """Whatever hits have."""

    def format(self, batch, hits, start, first_hit, last_hit) -> bytes:
        """Nothing."""
        return b""

    def end(self) -> bytes:
        return b""


def open_hits(reference, output, sam_header):
    """(NoHits, nothing)."""
    return NoHits(), b""
