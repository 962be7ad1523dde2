"""Mates: the two reads of a pair, record r of one file and record r of another, or two records in turn.

Both have one name, but for a /1 and /2 (or .1 and .2) that is left out of it.
"""

from typing import NamedTuple

from ..compiler.functions import compiled, inlined
from ..errors import InputError, brief
from .reads import ReadBatch


class PairedFiles(NamedTuple):
    """``first[i]`` and ``second[i]`` hold mates; without ``second`` each of ``first`` holds both, in turn."""

    first: tuple
    second: tuple = ()

    @property
    def paths(self) -> tuple:
        """All of them."""
        return (*self.first, *self.second)

    def together(self):
        """For each file, or two that hold mates: a tuple of (its number among all, the path)."""
        numbered = list(enumerate(self.paths))
        n = len(self.first)
        return zip(*(numbered[i : i + n] for i in range(0, len(numbered), n)), strict=True)


class Origin(NamedTuple):
    """Record ``number`` of a file."""

    path: str
    number: int


class Mates(NamedTuple):
    """Pairs: mate 1 of pair r is read r of ``one``, mate 2 that of ``two``; where the first ones stand."""

    one: ReadBatch
    two: ReadBatch
    origins: tuple


def check_names(mates, step) -> None:
    """Raise InputError unless mates have one name each; /1 and /2 are left out of it.

    ``step``: records from one mate to the next of its file.
    """
    r = _settle_names(mates.one, mates.two)
    if r < mates.one.length.size:
        one, two = (_name_of(batch, r) for batch in (mates.one, mates.two))
        other, here = mates.origins
        of_mate = f"that of its mate{f' in {other.path}' if step == 1 else ''}"
        number = here.number + step * r
        are_swapped = number == step and are_mates(two.encode(), one.encode())  # all of them, then
        how = "mates 1 and 2 are swapped, exchange them" if are_swapped else "mates must have one name"
        what = f"its name is {two}, but {of_mate} is {one}: {how}"
        raise InputError(here.path, f"record {number}", what)


def _name_of(batch, r) -> str:
    start = batch.name_start[r]
    name = batch.data[start : start + batch.name_length[r]].tobytes()
    return brief(name.decode()) or "missing"


def are_mates(one: bytes, two: bytes) -> bool:
    """Are these the names of a mate 1 and a mate 2, as compiled code tells?"""
    is_numbered = (one[-1:], two[-1:]) == (b"1", b"2") and one[-2:-1] in (b"/", b".")
    return one == two or (is_numbered and one[:-1] == two[:-1] and len(one) > 2)


@compiled
def _settle_names(one, two):
    """The first pair whose mates' names differ, or the number of pairs; names lose /1 and /2."""
    for r in range(one.length.size):
        same = _common(one, two, r)
        if same < 0:
            return r
        one.name_length[r] = two.name_length[r] = same
    return one.length.size


@inlined
def _common(one, two, r):
    """How many bytes of their names are the name of pair r; -1 if there is none."""
    n, a, b = one.name_length[r], one.name_start[r], two.name_start[r]
    if two.name_length[r] != n:
        return -1
    for i in range(n - 1):
        if one.data[a + i] != two.data[b + i]:
            return -1
    if n == 0:
        return n
    x, y = one.data[a + n - 1], two.data[b + n - 1]
    if x == y:
        return n
    mark = one.data[a + max(n - 2, 0)]
    is_numbered = n > 2 and x == ord("1") and y == ord("2") and (mark == ord("/") or mark == ord("."))
    return n - 2 if is_numbered else -1
