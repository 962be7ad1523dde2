"""Which letters of a read are searched: fixed numbers are cut off its ends before it is.

begin | kept, at most ``most`` letters | ... | end
"""

from typing import NamedTuple

from ..compiler.functions import compiled, inlined
from .record import is_searchable


class Trim(NamedTuple):
    """``begin`` letters are cut off the start, ``end`` off the end, and what exceeds ``most`` of the rest.

    A read of which fewer than ``least`` letters are left is not searched.
    """

    begin: int = 0
    end: int = 0
    most: int = 2**62
    least: int = 0


WHOLE = Trim()


def trimmed(batch, trim):
    """A ReadBatch with its reads cut as a Trim says; that of the argument stays as it is."""
    if trim == WHOLE:
        return batch
    fields = ("start", "length", "quality_start", "searchable")
    batch = batch._replace(**{name: getattr(batch, name).copy() for name in fields})
    _trim_all(batch, trim)
    return batch


@compiled
def _trim_all(batch, trim):
    for r in range(batch.length.size):
        trim_read(batch, r, trim)


@inlined
def trim_read(batch, r, trim):
    """Cut read r of a batch, in place."""
    n = batch.length[r]
    begin = min(trim.begin, n)
    kept = min(max(n - begin - trim.end, 0), trim.most)
    if kept < n:
        batch.start[r], batch.length[r] = batch.start[r] + begin, kept
        if batch.quality_start[r] >= 0:
            batch.quality_start[r] += begin
        if not batch.searchable[r] or kept == 0:
            batch.searchable[r] = is_searchable(batch.data[batch.start[r] : batch.start[r] + kept])
    if kept < trim.least:
        batch.searchable[r] = False
