"""A place in a reference as one number, in the order of places:  contig << 35 | position << 1 | reverse.

Only of these is it plain how far two places lie apart in a contig: a text leaves out what is no A, C, G, T.
"""

from ..compiler.functions import inlined

_STRAND, _POSITION = 1, 34  # bits
STEP = 1 << _STRAND  # from a position to the next
_LAST = (1 << _POSITION) - 1


def can_hold(reference, beyond) -> bool:
    """Whether a key holds each place of a Reference, and positions that many ``beyond`` its contigs' ends."""
    most_contigs = 1 << (63 - _STRAND - _POSITION)
    return len(reference.names) < most_contigs and int(reference.lengths.max()) + beyond <= _LAST


@inlined
def place_key(contig, position, reverse):
    return contig << (_POSITION + _STRAND) | position << _STRAND | reverse


@inlined
def contig_of(key):
    return key >> (_POSITION + _STRAND)


@inlined
def position_of_key(key):
    return (key >> _STRAND) & _LAST


@inlined
def is_reverse(key):
    return (key & 1) == 1


@inlined
def forward(key):
    """The same place on strand +."""
    return key - (key & 1)
