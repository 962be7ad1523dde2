"""Mates: checks of their names, and advice on files that look like mates."""

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..errors import InputError, brief
from .reads import ReadBatch
from .streams import STANDARD, Source

# Mates are the two reads of a pair: record r of two files, or two successive records of one file.
#
# Both have the same name, except for /1 and /2 (or .1 and .2), which are not part of it.


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
        how = "mates 1 and 2 are swapped: exchange them" if are_swapped else "mates must have equal names"
        what = f"its name is {two}, but {of_mate} is {one}: {how}"
        raise InputError(here.path, f"record {number}", what)


def _name_of(batch: ReadBatch, r: int) -> str:
    start = batch.name_start[r]
    name = batch.data[start : start + batch.name_length[r]].tobytes()
    return brief(name.decode()) or "missing"


def are_mates(one: bytes, two: bytes) -> bool:
    """Return whether these are the names of mate 1 and mate 2, by the rules of compiled code."""
    return two in (one, numbered_mate(one))


def numbered_mate(one: bytes) -> bytes:
    """Return the name of mate 2 if that of mate 1 ends with its number; else the same name."""
    return one[:-1] + b"2" if len(one) > 2 and one[-2:] in (b"/1", b".1") else one


@compiled
def _settle_names(one, two):
    """Return the first pair whose names differ, or the number of pairs; removes /1 and /2 from names."""
    for r in range(one.length.size):
        same = _common(one, two, r)
        if same < 0:
            return r
        one.name_length[r] = two.name_length[r] = same
    return one.length.size


@inlined
def _common(one, two, r):
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
    is_numbered = n > 2 and x == ord("1") and y == ord("2") and (mark == ord("/") or mark == ord("."))
    return n - 2 if is_numbered else -1


# Files of single reads that look like mates, by their first records.

_HEAD = 1 << 14  # bytes that are looked at


def advice(paths: tuple[str, ...]) -> str:
    """Advice if files given as single reads look like mates, or ""; pipes are not checked."""
    known = [(path, _first_records(path)) for path in paths]
    for path, found in known:
        if len(found) > 1 and _are_mates(*found[:2]):
            return f"{path} looks like interleaved mates: map them as pairs with --interleaved"
    for (one, first), (two, second) in pairwise(known):
        if first and second and all(map(_are_mates, first, second)):
            return f"{one} and {two} look like mates: map them as pairs with -1 {one} -2 {two}"
    return ""


def swapped(first: Sequence, second: Sequence) -> str:
    """Return a warning if the first headers show that mates 1 and mates 2 are swapped, or ""."""
    for one, two in zip(first, second, strict=False):
        if (_number_of(one), _number_of(two)) == (b"2", b"1"):
            return f"by their headers, {one} has mates 2 and {two} mates 1: are they swapped?"
    return ""


def _number_of(path: str) -> bytes:
    """1 or 2 from the first header of a file, such as ``name 2:N:0:ACGT``; empty if unknown."""
    found = re.match(rb"[@>]\S+[ \t]([12]):[YN]:", _head_of(path))
    return found[1] if found else b""


def _first_records(path: str) -> list:
    """Return (name in a list, sequence) of the first two records, if there are as many."""
    if not (text := _head_of(path)):
        return []
    if text.startswith(b"@"):
        lines = text.split(b"\n")[:9]
        found = [lines[i : i + 2] for i in range(0, len(lines) - 4, 4)]
    else:
        found = [list(record.partition(b"\n")[::2]) for record in text.split(b"\n>")[:3]][:-1]
    return [((line[1:] if line[:1] in b"@>" else line).split()[:1], letters) for line, letters in found]


def _head_of(path: str) -> bytes:
    """Return the start of a file; empty if it cannot be read, or is a pipe."""
    if str(path) == STANDARD or not os.path.isfile(path):
        return b""
    head = np.empty(_HEAD, np.uint8)
    try:
        with Source(path) as source:
            return head[: source.readinto(head)].tobytes().lstrip()
    except InputError:
        return b""


def _are_mates(one: tuple[list[bytes], bytes], two: tuple[list[bytes], bytes]) -> bool:
    """Return whether two records have the same name, except for a number, and different sequences."""
    if not (one[0] and two[0]) or one[1] == two[1]:
        return False
    (a,), (b,) = one[0], two[0]
    return a == b or (are_mates(a, b) and a[-2:-1] == b"/")  # a.1 and a.2 may be reads in turn
