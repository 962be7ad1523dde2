"""Reads -> SA intervals -> hits."""

from collections.abc import Sequence
from typing import Any, Protocol


class MapsSpans(Protocol):
    """Turns spans of reads into records and a Summary: Mapper, NearMapper, PairMapper, GpuMapper.

    To add one: write ``map``, which as many threads call as ``options.n_threads`` says, and let mappers.py
    make it.  tests/search/test_mapper_protocols.py runs over all of them.
    """

    options: Any
    tally: Any
    sessions: Sequence[Any]

    def map(self, span: Any, writer: Any, emit: Any) -> Any:
        """Emit the pieces that a RecordWriter makes of the reads of a span; their Summary."""


class FormatsHits(Protocol):
    """Makes records of hits: what a mapper asks of an output's RecordWriter.  ``on_gpu``: a GPU can, too."""

    is_sam: bool
    on_gpu: bool
    takers: tuple

    def of(self, span: Any) -> "FormatsHits":
        """What writes the reads of a span."""

    def written(self, piece: Any) -> None:
        """A piece has been written."""
