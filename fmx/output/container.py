"""How the pieces of an output become a file; output/run.py chooses."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..input.streams import whole_output


@dataclass(frozen=True)
class Container:
    """How the pieces of an output become a file: one after another, unchanged.

    The same for one run and for merged shards, so these have the bytes of one run, whatever the format.  To
    add one, write a frozen dataclass of JSON types, which shards store, let ``container`` choose it, and name
    its module in CONTAINERS; tests/test_every_output.py tests all of them.
    """

    @property
    def part(self) -> "Container":
        """How a shard stores its pieces."""
        return PLAIN

    def opened(self, path: str, n_threads: int) -> AbstractContextManager[Any]:
        """Open what takes pieces with ``write``; they appear at ``path`` at the end.  Raises OutputError."""
        return whole_output(path)

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield the pieces of a file, which need not be those that were written, but make the same file.

        Not for PLAIN, as pieces may have any length.
        """
        raise NotImplementedError


PLAIN = Container()
