"""Arguments of the Python library: what is wrong with one is a TypeError or a ValueError that names it.

What numbers and names they may be is that of the commands' options: limits.py.
"""

import operator
import os
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from .. import limits
from ..errors import quoted
from ..machines.threads import available_cores

# What reads, patterns and sequences are given as: a path, or sequences by themselves or by name.
Sequences = str | os.PathLike | Iterable[str | bytes] | Mapping[str, str | bytes]


def whole(name, value, bounds, default) -> Any:
    """A whole number within ``bounds``, as an int; ``default`` for None."""
    if value is None:
        return default
    must = f"{name} must be a whole number from {bounds[0]} to {bounds[1]}, or None, not {quoted(value)}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(must)
    try:
        number = operator.index(value)
    except TypeError:  # as of an array
        raise TypeError(must) from None
    if not bounds[0] <= number <= bounds[1]:
        raise ValueError(must)
    return number


def _checked(name, value, what, kinds, is_right):
    """``value``; TypeError unless it is of the ``kinds``, ValueError unless right; ``what`` it must be."""
    must = f"{name} must be {what}, not {quoted(value)}"
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise TypeError(must)
    if not is_right(value):
        raise ValueError(must)
    return value


def share(name, value) -> float:
    """A number from 0 to 1, as a float."""
    least, most = limits.SHARE
    what = f"a number from {least} to {most}"
    return float(_checked(name, value, what, Real, lambda value: least <= value <= most))


def threads(value) -> int:
    """A number of threads; all cores for None."""
    return whole("threads", value, limits.THREADS, available_cores())


def yes_or_no(name, value) -> bool:
    """A truth value."""
    return _checked(name, value, "True or False", bool, lambda value: True)


def one_of(name, value, choices):
    """One of some names."""
    return _checked(name, value, f"one of {', '.join(choices)}", str, lambda value: value in choices)


def file(name, value):
    """The name of a file or folder."""
    return _checked(name, value, "a path (str or os.PathLike)", str | os.PathLike, _may_name_a_file)


def _may_name_a_file(path: str | os.PathLike) -> bool:
    try:
        name = os.fspath(path)
        return isinstance(name, str) and name != "" and b"\0" not in os.fsencode(name)
    except UnicodeError:  # half of a surrogate pair
        return False


def names(name, value) -> list:
    """Names with commas between them."""
    what = "a name, or names with commas between them"
    return _checked(name, value, what, str, lambda value: all(value.split(","))).split(",")


def is_file(name, value) -> bool:
    """Is it a path, or are these sequences?  TypeError or ValueError if it is neither."""
    must = f"{name} must be a path, or sequences (str or bytes) in a list, an array, a generator or a dict"
    if isinstance(value, str) and (value.isalpha() or not value) and not os.path.exists(value):
        raise ValueError(
            f"{must}: no file has the name {quoted(value)}; for a single read, give [{quoted(value)}]"
        )
    if isinstance(value, str | os.PathLike):
        return bool(file(name, value))
    if isinstance(value, bytes | bytearray | set | frozenset) or not isinstance(value, Iterable):
        raise TypeError(f"{must}, not {type(value).__name__}")
    return False
