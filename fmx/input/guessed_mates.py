"""Files that look as if they held mates, where single reads are asked for: told by their first records."""

import os
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..errors import InputError
from .streams import STANDARD, Source

_HEAD = 1 << 14  # bytes that are looked at


def advice(paths) -> str:
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
            return f"by their headers {one} holds mates 2 and {two} mates 1: are -1 and -2 swapped?"
    return ""


def _number_of(path) -> bytes:
    """Which mates a file holds by its first header, as in ``name 2:N:0:ACGT``; empty if that is not told."""
    found = re.match(rb"[@>]\S+[ \t]([12]):[YN]:", _head_of(path))
    return found[1] if found else b""


def _first_records(path) -> list:
    """(name in a list, sequence) of the first two records, as far as they are there."""
    if not (text := _head_of(path)):
        return []
    if text.startswith(b"@"):
        lines = text.split(b"\n")[:9]
        found = [lines[i : i + 2] for i in range(0, len(lines) - 4, 4)]
    else:
        found = [list(record.partition(b"\n")[::2]) for record in text.split(b"\n>")[:3]][:-1]
    return [((line[1:] if line[:1] in b"@>" else line).split()[:1], letters) for line, letters in found]


def _head_of(path) -> bytes:
    """The start of a file; empty of what is none, or cannot be read."""
    if str(path) == STANDARD or not os.path.isfile(path):
        return b""
    head = np.empty(_HEAD, np.uint8)
    try:
        with Source(path) as source:
            return head[: source.readinto(head)].tobytes().lstrip()
    except InputError:
        return b""


def _are_mates(one, two) -> bool:
    """Have they one name but for a number, and other letters?"""
    if not (one[0] and two[0]) or one[1] == two[1]:
        return False
    (a,), (b,) = one[0], two[0]
    return a == b or (a[:-1] == b[:-1] and (a[-2:], b[-2:]) == (b"/1", b"/2"))
