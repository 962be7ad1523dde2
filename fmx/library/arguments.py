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


def _checked(name, value, what, kinds, is_right):
    """``value``; TypeError unless it is of the ``kinds``, ValueError unless right; ``what`` it must be."""
    must = f"{name} must be {what}, not {value!r:.60}"
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(must)
    if not is_right(value):
        raise ValueError(must)
    return value


def share(name, value) -> float:
    """A number from 0 to 1, as a float."""
    return float(_checked(name, value, "a number from 0 to 1", Real, lambda value: 0 <= float(value) <= 1))


def threads(value) -> int:
    """A number of threads; all cores for None."""
    return whole("threads", value, 1, 1024, available_cores())


def one_of(name, value, choices):
    """One of some names."""
    return _checked(name, value, f"one of {', '.join(choices)}", str, lambda value: value in choices)


def file(name, value):
    """The name of a file or folder."""
    return _checked(
        name, value, "a path (str or os.PathLike)", str | os.PathLike,
        lambda value: os.fspath(value) and "\0" not in str(value),
    )  # fmt: skip


def names(name, value) -> list:
    """Names with commas between them."""
    what = "a name, or names with commas between them"
    return _checked(name, value, what, str, lambda value: all(value.split(","))).split(",")


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
