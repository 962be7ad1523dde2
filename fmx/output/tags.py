"""Which optional fields a record of SAM and BAM has, as the bits of a number.

REPORTED: NH tells how many hits are reported, not how many there are.
"""

from ..compiler.functions import inlined

NH, HI, NM, MD, REPORTED, MC = 1, 2, 4, 8, 16, 32
TAGS = {"NH": NH, "HI": HI, "NM": NM, "MD": MD, "MC": MC}
EVERY = NH | HI | NM | MD | MC


@inlined
def nh_of(tags, record):
    """What NH says of a Record with a hit."""
    return record.reported if tags & REPORTED else record.total
