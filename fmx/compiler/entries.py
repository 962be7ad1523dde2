"""All entry points: the functions that commands call, with the kinds of arguments that they give them.

entry_points.txt is made by tests/entry_points.py, which runs the commands.  Its first line names the modules
that hold bodies of contracts.  Then a line each: kB of machine code; the commands that need it without any
option, with commas (- for none); and its name, as object_cache.py has it but for the fingerprint.
"""

import functools
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .functions import Compiled

PATH = Path(__file__).with_name("entry_points.txt")


class Entry(NamedTuple):
    """A line of the list."""

    size: int
    commands: frozenset
    name: str


@functools.cache
def known() -> dict:
    """The Entry of each name."""
    lines = (line.split(" ", 2) for line in PATH.read_text().splitlines()[1:])
    return {name: Entry(int(size), frozenset(words.split(",")), name) for size, words, name in lines}


def beside(name: str) -> list:
    """The entries that the command which runs here, and needs this one, needs without options."""
    first = known().get(name)
    running = (
        {word for word in first.commands if f"fmx.cli.commands.{word}" in sys.modules} if first else set()
    )
    return [entry for entry in known().values() if entry.commands & running and _is_loaded(entry)]


def _is_loaded(entry: Entry) -> bool:
    """Whether this process has imported all that an entry names."""
    named = (word.rpartition(".") for word in entry.name.split() if word.startswith("fmx."))
    return all(hasattr(sys.modules.get(module), name) for module, _, name in named)


@functools.cache
def import_bodies() -> None:
    """Import all bodies of contracts, as the commands have done that need an entry.  Raises ImportError."""
    for module in PATH.read_text().split("\n", 1)[0].split():
        import_module(module)


def function_of(entry: Entry) -> tuple[Compiled, tuple]:
    """The function of an entry, and the kinds of its arguments (native.spread).

    Raises ImportError, AttributeError or TypeError if there is none such.
    """
    name, *words = entry.name.split()
    return _named(name), tuple(map(_kind, words))


def _named(dotted: str):
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def _kind(word: str):
    """A word of a name as native.spread has it."""
    if word == "None":
        return None
    if word.startswith("'"):
        return word[1:-1]
    if word.isdigit():
        return int(word)
    return _named(word) if "." in word else np.dtype(word)
