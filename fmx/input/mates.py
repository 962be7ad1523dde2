"""Mates in two files or interleaved in one: their spans and shards."""

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

# Mates: the two reads of a pair, record r of one file and record r of another, or two records in turn.
#
# Both have one name, but for a /1 and /2 (or .1 and .2) that is left out of it.


class Origin(NamedTuple):
    """Record ``number`` of a file."""

    path: str
    number: int


class Mates(NamedTuple):
    """Pairs: mate 1 of pair r is read r of ``one``, mate 2 that of ``two``; where the first ones stand."""

    one: ReadBatch
    two: ReadBatch
    origins: tuple


def check_names(mates: Mates, step: int) -> None:
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


def _name_of(batch: ReadBatch, r: int) -> str:
    start = batch.name_start[r]
    name = batch.data[start : start + batch.name_length[r]].tobytes()
    return brief(name.decode()) or "missing"


def are_mates(one: bytes, two: bytes) -> bool:
    """Are these the names of a mate 1 and a mate 2, as compiled code tells?"""
    return two in (one, numbered_mate(one))


def numbered_mate(one: bytes) -> bytes:
    """The name of mate 2, where that of mate 1 ends with its number, else the same."""
    return one[:-1] + b"2" if len(one) > 2 and one[-2:] in (b"/1", b".1") else one


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


# Files that look as if they held mates, where single reads are asked for: told by their first records.

_HEAD = 1 << 14  # bytes that are looked at


def advice(paths: tuple[str, ...]) -> str:
    """What to say to a user who gives such files as single reads, or ""; pipes are left alone."""
    known = [(path, _first_records(path)) for path in paths]
    for path, found in known:
        if len(found) > 1 and _are_mates(*found[:2]):
            return f"{path} seems to hold both mates of pairs: --interleaved maps them as pairs"
    for (one, first), (two, second) in pairwise(known):
        if first and second and all(map(_are_mates, first, second)):
            return f"{one} and {two} seem to hold mates: -1 {one} -2 {two} maps them as pairs"
    return ""


def swapped(first: Sequence, second: Sequence) -> str:
    """What to say of files of mates 1 whose first headers tell that they hold mates 2, and the others 1."""
    for one, two in zip(first, second, strict=False):
        if (_number_of(one), _number_of(two)) == (b"2", b"1"):
            return f"by their headers {one} holds mates 2 and {two} mates 1: are they swapped?"
    return ""


def _number_of(path: str) -> bytes:
    """Which mates a file holds by its first header, as in ``name 2:N:0:ACGT``; empty if that is not told."""
    found = re.match(rb"[@>]\S+[ \t]([12]):[YN]:", _head_of(path))
    return found[1] if found else b""


def _first_records(path: str) -> list:
    """(name in a list, sequence) of the first two records, as far as they are there."""
    if not (text := _head_of(path)):
        return []
    if text.startswith(b"@"):
        lines = text.split(b"\n")[:9]
        found = [lines[i : i + 2] for i in range(0, len(lines) - 4, 4)]
    else:
        found = [list(record.partition(b"\n")[::2]) for record in text.split(b"\n>")[:3]][:-1]
    return [((line[1:] if line[:1] in b"@>" else line).split()[:1], letters) for line, letters in found]


def _head_of(path: str) -> bytes:
    """The start of a file; empty of what is none, or cannot be read."""
    if str(path) == STANDARD or not os.path.isfile(path):
        return b""
    head = np.empty(_HEAD, np.uint8)
    try:
        with Source(path) as source:
            return head[: source.readinto(head)].tobytes().lstrip()
    except InputError:
        return b""


def _are_mates(one: tuple[list[bytes], bytes], two: tuple[list[bytes], bytes]) -> bool:
    """Have they one name but for a number, and other letters?"""
    if not (one[0] and two[0]) or one[1] == two[1]:
        return False
    (a,), (b,) = one[0], two[0]
    return a == b or (are_mates(a, b) and a[-2:-1] == b"/")  # a.1 and a.2 may be reads in turn
