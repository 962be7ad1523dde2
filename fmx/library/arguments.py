"""Arguments of the Python library: what is wrong with one is a TypeError or a ValueError that names it."""

import operator
import os
from collections.abc import Iterable, Mapping
from numbers import Real

from ..input.chunks import literal_fasta
from ..machines.threads import available_cores

ENGINES = ("cpu", "cuda", "auto")


def whole(name, value, least, most, default):
    """A whole number from ``least`` to ``most``, as an int; ``default`` for None."""
    if value is None:
        return default
    must = f"{name} must be a whole number from {least} to {most}, or None, not {value!r:.60}"
    try:
        number = operator.index(None if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(must) from None
    if not least <= number <= most:
        raise ValueError(must)
    return number


def share(name, value) -> float:
    """A number from 0 to 1, as a float."""
    must = f"{name} must be a number from 0 to 1, not {value!r:.60}"
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(must)
    if not 0 <= float(value) <= 1:
        raise ValueError(must)
    return float(value)


def threads(value) -> int:
    """A number of threads; all cores for None."""
    return whole("threads", value, 1, 1024, available_cores())


def one_of(name, value, choices):
    """One of some names."""
    if not isinstance(value, str) or value not in choices:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} must be one of {', '.join(choices)}, not {value!r:.60}")
    return value


def file(name, value):
    """The name of a file or folder."""
    must = f"{name} must be a path (str or os.PathLike), not {value!r:.60}"
    if not isinstance(value, str | os.PathLike):
        raise TypeError(must)
    if not os.fspath(value) or "\0" in str(value):
        raise ValueError(must)
    return value


def names(name, value) -> list:
    """Names with commas between them."""
    must = f"{name} must be a name, or names with commas between them, not {value!r:.60}"
    if not isinstance(value, str):
        raise TypeError(must)
    if not all(value.split(",")):
        raise ValueError(must)
    return value.split(",")


def source(name, value):
    """What spans.plan takes: a path, or sequences (str or bytes) as FASTA."""
    must = f"{name} must be a path, or sequences (str or bytes) in a list, an array or a generator"
    if isinstance(value, str) and (value.isalpha() or not value) and not os.path.exists(value):
        raise ValueError(
            f"{must}: no file has the name {value!r:.60}; for a single read, give [{value!r:.60}]"
        )
    if isinstance(value, str | os.PathLike):
        return file(name, value)
    if isinstance(value, bytes | bytearray | Mapping | set | frozenset) or not isinstance(value, Iterable):
        raise TypeError(f"{must}, not {type(value).__name__}")
    return literal_fasta(_sequence(f"{name}[{i}]", sequence) for i, sequence in enumerate(value))


def _sequence(name, value):
    if not isinstance(value, str | bytes):
        raise TypeError(f"{name} must be str or bytes, not {value!r:.60}")
    if isinstance(value, str) and not value.isascii():
        raise ValueError(f"{name} must hold letters of ASCII, not {value!r:.60}")
    return value
