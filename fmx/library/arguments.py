"""Checks the arguments of the Python library; a wrong one raises TypeError or ValueError, which names it.

The limits of numbers and names are those of the command-line options (limits.py).
"""

import operator
import os
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, Literal, TypeVar

from .. import limits
from ..dna import FORWARD, REVERSE
from ..errors import quoted
from ..input import sequences, spans
from ..input.chunks import CHUNK_SIZE, look_at
from ..input.reads import parse
from ..mem.matching import IN_BOTH, IN_REFERENCE
from ..search.mapping import BOTH, Near
from ..system import available_cores

Path = str | os.PathLike[str]
# What reads, patterns and sequences can be: a path, a list of sequences, or a dict of sequences by name.
Sequences = Path | Iterable[str | bytes] | Mapping[str, str | bytes]
Strands = Literal["both", "forward", "reverse"]
Orientation = Literal["fr", "rf", "ff"]
Unique = Literal["reference", "both"]
_STRANDS = {"both": BOTH, "forward": FORWARD, "reverse": REVERSE}
UNIQUE = {"reference": IN_REFERENCE, "both": IN_BOTH}
Default = TypeVar("Default", int, None)


def whole(name: str, value: object, bounds: tuple[int, int], default: Default) -> int | Default:
    """Return a whole number within ``bounds`` as an int; ``default`` for None."""
    if value is None:
        return default
    must = f"{name} must be a whole number from {bounds[0]} to {bounds[1]}, or None, not {quoted(value)}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(must)
    try:
        number = operator.index(value)
    except TypeError:  # such as an array
        raise TypeError(must) from None
    if not bounds[0] <= number <= bounds[1]:
        raise ValueError(must)
    return number


def checked(name: str, value: Any, what: str, kinds: Any, is_right: Callable[[Any], object]) -> Any:
    """Return ``value``; raise TypeError unless it is of ``kinds``, ValueError unless ``is_right``."""
    must = f"{name} must be {what}, not {quoted(value)}"
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise TypeError(must)
    if not is_right(value):
        raise ValueError(must)
    return value


def threads(value: object) -> int:
    """Return the number of threads; for None, that of the available cores."""
    return whole("threads", value, limits.THREADS, available_cores())


def yes_or_no(name: str, value: object) -> bool:
    return checked(name, value, "True or False", bool, lambda value: True)


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    return checked(name, value, f"one of {', '.join(choices)}", str, lambda value: value in choices)


def file(name: str, value: object) -> Path:
    def may_name_a_file(path: Path) -> bool:
        try:
            text = os.fspath(path)
            return isinstance(text, str) and text != "" and b"\0" not in os.fsencode(text)
        except UnicodeError:  # a lone surrogate
            return False

    return checked(name, value, "a path (str or os.PathLike)", str | os.PathLike, may_name_a_file)


def names(name: str, value: object) -> list[str]:
    """Return comma-separated names as a list."""
    what = "a name, or comma-separated names"
    return checked(name, value, what, str, lambda value: all(value.split(","))).split(",")


def strand_set(value: object) -> int:
    """Return strands, from one of both, forward and reverse, as bits (dna.py)."""
    return _STRANDS[one_of("strands", value, _STRANDS)]


def near(mismatches: object, iupac: object = False, **how: bool) -> Near | None:
    """Return the options of near matches; None for an exact search.  ``how``: other fields of Near."""
    most = whole("mismatches", mismatches, limits.MISMATCHES, 0)
    is_near = yes_or_no("iupac", iupac) or most > 0
    return Near(most, bool(iupac), **how) if is_near else None


class SequenceSource:
    """A path, sequences, or a dict of sequences by name; ``what``: name of the argument, for errors.

    ``paths``: the path, or empty.  Raises TypeError, ValueError.
    """

    def __init__(self, what: str, value: Any) -> None:
        self._what, self._value = what, value
        self.paths: list[Any] = []
        must = (
            f"{what} must be a path, or sequences (str or bytes) in a list, an array, a generator or a dict"
        )
        if isinstance(value, str) and (value.isalpha() or not value) and not os.path.exists(value):
            name = quoted(value)
            raise ValueError(f"{must}: no file is named {name}; for a single read, give [{name}]")
        if isinstance(value, str | os.PathLike):
            self.paths.append(file(what, value))
            look_at(os.fspath(value), None)
        elif isinstance(value, bytes | bytearray | set | frozenset) or not isinstance(value, Iterable):
            raise TypeError(f"{must}, not {type(value).__name__}")
        self.has_names = bool(self.paths) or isinstance(value, Mapping)

    def plan(
        self, size: int = CHUNK_SIZE, n_threads: int = 1, is_numbered: bool = False
    ) -> Generator[Any, None, None]:
        """Yield spans of about ``size`` bytes; ``is_numbered``: number reads without names."""
        if self.paths:
            return spans.plan(self.paths, size, n_threads)
        return sequences.plan(self._what, self._value, size, is_numbered)

    def whole(self) -> Path | bytes:
        """Return the path, or FASTA in memory; unnamed sequences are named by number.  Raises InputError."""
        if self.paths:
            return self.paths[0]
        chunks = [span.read() for span in self.plan(is_numbered=True)]
        for chunk in chunks:
            parse(chunk)  # raises errors with the number of a sequence, not of a line
        return b"".join(chunk.data.tobytes() for chunk in chunks)
