"""Reads -> SA intervals -> hits."""

from collections.abc import Sequence
from typing import Any, Protocol


class MapsSpans(Protocol):
    """Turns spans of reads into records and a Summary: Mapper, NearMapper, PairMapper, GpuMapper, AutoMapper.

    To add one: write ``map``, which as many threads call as ``options.n_threads`` says, and let workflow.py
    make it.  tests/search/test_mapper_protocols.py runs over all of them.
    """

    options: Any
    tally: Any
    sessions: Sequence[Any]

    def map(self, span: Any, writer: Any, emit: Any) -> Any:
        """Emit the pieces that a RecordWriter makes of the reads of a span; their Summary."""
