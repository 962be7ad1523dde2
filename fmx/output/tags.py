"""Which optional fields a record of SAM and BAM has, as the bits of a number.

REPORTED: NH tells how many hits are reported, not how many there are.
"""

from ..compiler.functions import by_type_or_this, inlined
from ..compiler.primitives import copy_bytes
from . import put

NH, HI, NM, MD, REPORTED, MC = 1, 2, 4, 8, 16, 32
TAGS = {"NH": NH, "HI": HI, "NM": NM, "MD": MD, "MC": MC}
EVERY = NH | HI | NM | MD | MC


@inlined
def nh_of(tags, record):
    """What NH says of a Record with a hit."""
    return record.reported if tags & REPORTED else record.total


_RG = put.as_bytes("\tRG:Z:")


@by_type_or_this
def put_own_group(out, at, batch, r, most):
    """The ID of a read group that the header line of read r names right behind its name, of ``most`` bytes.

    The place after it; that before it if there is none.
    """
    begin = batch.name_start[r] + batch.name_length[r]
    if begin + _RG.size >= batch.data.size:
        return at
    for j in range(_RG.size):
        if batch.data[begin + j] != _RG[j]:
            return at
    begin += _RG.size
    n = 0
    while n <= most and 32 < batch.data[begin + n] < 127:  # a newline ends the data
        n += 1
    if n > most:
        return at
    copy_bytes(out, at, batch.data, begin, n)
    return at + n


@put_own_group.register(put.Widest)
def _put_widest(out, at, batch, r, most):
    return at + most
