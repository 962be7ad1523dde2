"""Search: reads -> SA intervals -> hits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..machines.gpu_session import GpuSession
    from .counts.tally import ReadCounter
    from .mapping import MapOptions
    from .summary import PairSummary, Summary


class MapsSpans(Protocol):
    """Interface of what maps spans of reads: Mapper, NearMapper, PairMapper and GpuMapper.

    To add one: write ``map``, which up to ``options.n_threads`` threads call at the same time, and create it
    in mappers.py. tests/search/test_mapper_protocols.py runs over all of them.
    """

    options: "MapOptions"
    tally: "ReadCounter | None"

    @property
    def session(self) -> "GpuSession | None":
        """The GPU that maps, or None on the CPU."""

    def map(self, span: Any, writer: "FormatsHits", emit: Callable[..., Any]) -> "Summary | PairSummary":
        """Map the reads of a span, emit the output that ``writer`` makes, and return their Summary."""


class WritesHits(Protocol):
    """Interface of an output's writer. ``on_gpu``: whether a GPU can format its records.

    ``takers``: what takes mapped and unmapped reads (output/reads.py); ``comments``: whether it copies the
    SAM tags of reads.
    """

    on_gpu: bool
    takers: tuple
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
