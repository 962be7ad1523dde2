"""What is changed in a near match: where the text has a base that a letter of the pattern does not match."""

import numpy as np

from ..compiler.functions import by_type_or_this, inlined

# Changes of a pattern: where the text has a base that is none of the pattern's set.  Their number is in two
# bits of an int64, and above it for each, in 30 bits, where it is in the pattern and the text's base.
N_BITS, CHANGE_BITS, NONE = 2, 30, -1


@inlined
def n_changes(changes):
    """How many there are."""
    return changes & 3


@inlined
def change_at(changes, j):
    """(where change number j is in the pattern, the text's base)."""
    own = changes >> (N_BITS + CHANGE_BITS * j)
    return (own >> 2) & ((1 << 28) - 1), own & 3


@by_type_or_this
def changes_of(hits, hit):
    """The changes of a hit: none, in exact ones."""
    return np.int64(0)


@by_type_or_this
def peers_of(hits, i, hit):
    """How many occurrences of read i are as likely as a hit: all, of exact ones; 0 if others are likelier."""
    return hits.total[i]
