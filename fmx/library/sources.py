"""What reads, patterns and queries are given as -> spans that workers read."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..input import sequences, spans
from ..input.chunks import CHUNK_SIZE
from ..input.reads import parse
from ..input.streams import GivenBytes
from . import arguments


class Source:
    """A path, sequences, or a dict of them by name; ``what``: the argument's name.

    ``paths``: its only one, or none.  Raises TypeError and ValueError for what is none of these.
    """

    def __init__(self, what: str, value: Any) -> None:
        self._what, self._value = what, value
        self.paths: list[Any] = [value] if arguments.is_file(what, value) else []
        self.has_names = bool(self.paths) or isinstance(value, Mapping)

    def plan(self, size: int = CHUNK_SIZE, n_threads: int = 1, is_numbered: bool = False) -> Iterator[Any]:
        """Yield what can be ``read`` to Chunks of about ``size`` bytes; ``is_numbered`` as of given.plan."""
        if self.paths:
            return spans.plan(self.paths, size, n_threads=n_threads)
        return sequences.plan(self._what, self._value, size, is_numbered)

    def whole(self) -> arguments.Path | GivenBytes:
        """The path, or FASTA; sequences without names have their numbers.  Raises InputError."""
        if self.paths:
            return self.paths[0]
        chunks = [span.read() for span in self.plan(is_numbered=True)]
        for chunk in chunks:
            parse(chunk)  # which says what is no sequence by its number, not by a line
        return GivenBytes.of(self._what, b"".join(chunk.data.tobytes() for chunk in chunks))
