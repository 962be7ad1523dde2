"""The guides of two mates -> the row that their pair counts for, in compiled code."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from .assign import UNSURE
from .table import MANY, NONE, Table, find, hash_table
from .tally import RECOMBINED

EITHER, LISTED, EVERY = range(3)  # what mates hold: a guide in one of them; a pair of a library; any pair


class Pairs(NamedTuple):
    """What pairs of guides are: ``kind``; with LISTED a ``table`` of them by their keys (``key_of``), else
    an empty one."""

    kind: int
    table: Table


@inlined
def key_of(one, two):
    """A pair of guides as a key."""
    return (np.uint64(one) << np.uint64(32)) | np.uint64(two)


def make_pairs(kind, one=(), two=()) -> Pairs:
    """The Pairs of these guides (numbers), if LISTED; they differ."""
    keys = (np.array(one, np.uint64) << np.uint64(32)) | np.array(two, np.uint64)
    return Pairs(kind, hash_table([0], [(keys, np.arange(keys.size, dtype=np.int32))]))


@compiled
def join(assigned, pairs, guide, off, keys):
    """The row int32[n] of each pair of mates, of their two Assigned, into ``guide``; ``off`` uint8[n].

    With EVERY a row is 0 and ``keys`` uint64[n] tell the pair.
    """
    mates, others = assigned
    for r in range(guide.size):
        one, two = np.int64(mates.guide[r]), np.int64(others.guide[r])
        if pairs.kind == EITHER:
            guide[r] = _either(one, two)
        elif one >= 0 and two >= 0:
            keys[r] = key_of(one, two)
            row = np.int64(0) if pairs.kind == EVERY else find(pairs.table, 0, keys[r])
            guide[r] = RECOMBINED if row == NONE else row
        else:
            guide[r] = NONE if one == NONE or two == NONE else MANY if one == MANY or two == MANY else UNSURE
        off[r] = (mates.off[r] if one >= 0 else 0) | (others.off[r] if two >= 0 else 0)


@inlined
def _either(one, two):
    """The guide of a pair in one of whose mates it is."""
    if one in (NONE, two) or two == NONE:
        return max(one, two) if one >= 0 or two >= 0 else min(one, two)
    return np.int64(MANY) if one >= 0 and two >= 0 else min(one, two)
