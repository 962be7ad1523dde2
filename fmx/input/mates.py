"""Mates, the two reads of a pair, and checks of their names."""

from typing import NamedTuple

from ..compiler.functions import compiled, inlined
from ..errors import InputError, brief
from .chunks import are_mates
from .reads import ReadBatch
from .streams import collating

# Mates are the two reads of a pair: record r of two files, or two successive records of one file.
#
# Both have the same name, except for /1 and /2 (or .1 and .2, _1 and _2), which are not part of it.


class Origin(NamedTuple):
    """Record ``number`` of a file."""

    path: str
    number: int


class Mates(NamedTuple):
    """Pairs: read r of ``one`` and of ``two`` are mates; ``origins``: those of the first mates 1 and 2."""

    one: ReadBatch
    two: ReadBatch
    origins: tuple


def check_names(mates: Mates, step: int) -> None:
    """Raise InputError unless mates have the same name, except for /1 and /2, which are removed.

    ``step``: records from one mate to the next in a file.
    """
    r = _settle_names(mates.one, mates.two)
    if r < mates.one.length.size:
        one, two = (_name_of(batch, r) for batch in (mates.one, mates.two))
        other, here = mates.origins
        of_mate = f"that of its mate{f' in {other.path}' if step == 1 else ''}"
        number = here.number + step * r
        are_swapped = number == step and are_mates(two.encode(), one.encode())  # in all pairs, then
        how = (
            "first and second mates are swapped: exchange them"
            if are_swapped
            else "mates must have equal names"
        )
        if step == 2 and not are_swapped and (advised := collating(here.path)):
            how = f"mates are not in turn, as if sorted by position; map them with: {advised}"
        what = f"its name is {two}, but {of_mate} is {one}: {how}"
        raise InputError(here.path, f"record {number}", what)


def _name_of(batch: ReadBatch, r: int) -> str:
    start = batch.name_start[r]
    name = batch.data[start : start + batch.name_length[r]].tobytes()
    return brief(name.decode()) or "missing"


@compiled
def _settle_names(one, two):
    """Return the first pair whose names differ, or the number of pairs; removes /1 and /2 from names."""
    for r in range(one.length.size):
        same = common_name(one, two, r)
        if same < 0:
            return r
        one.name_length[r] = two.name_length[r] = same
    return one.length.size


@inlined
def common_name(one, two, r):
    """Return the length of the name that both mates of pair r have; -1 if names differ."""
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
    is_mark = mark == ord("/") or mark == ord(".") or mark == ord("_")
    is_numbered = n > 2 and x == ord("1") and y == ord("2") and is_mark
    return n - 2 if is_numbered else -1
