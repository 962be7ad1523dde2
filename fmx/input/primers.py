"""Pairs of primers: a table of name, forward and reverse primer, both written from 5' to 3'."""

from typing import NamedTuple

from ..errors import InputError, shown
from .delimited import read_named
from .dna import IUPAC

LETTERS = set(IUPAC.decode())
COLUMNS = {
    "name": ("name", "pair", "id", "primer", "primerpair", "assay", "target"),
    "forward": ("forward", "fwd", "f", "left", "forwardprimer", "leftprimer", "primer1", "forwardsequence"),
    "reverse": ("reverse", "rev", "r", "right", "reverseprimer", "rightprimer", "primer2", "reversesequence"),
}


class Pair(NamedTuple):
    """Two primers, in upper case."""

    name: str
    forward: str
    reverse: str


def read_pairs(path) -> list:
    """The Pairs of a table, with or without a line of names.  Raises InputError that names the line."""
    columns, rows = read_named(path, COLUMNS)
    pairs: list = []
    lines: dict = {}
    for number, cells in rows:
        where = f"line {number}"
        if len(cells) < 3:
            raise InputError(path, where, "a pair is a name, a forward and a reverse primer, by tabs")
        pair = Pair(*(cells[columns[name]] for name in COLUMNS))
        pair = pair._replace(forward=pair.forward.upper(), reverse=pair.reverse.upper())
        _check(path, where, pair)
        if pair.name in lines:
            raise InputError(
                path, where, f"{shown(pair.name)} is the pair of {lines[pair.name]} too: rename one"
            )
        lines[pair.name] = where
        pairs.append(pair)
    if not pairs:
        raise InputError(path, "", "no pair of primers: give lines of name, forward and reverse primer")
    return pairs


def _check(path, where, pair):
    if not pair.name or not pair.name.isprintable() or any(mark in pair.name for mark in " \t"):
        raise InputError(path, where, f"{shown(pair.name)!r} is no name of a pair: letters without spaces")
    for primer in (pair.forward, pair.reverse):
        if not primer or not LETTERS.issuperset(primer):
            what = f"{shown(primer)!r} of {shown(pair.name)} is no primer of A C G T and IUPAC's letters"
            raise InputError(path, where, what)
