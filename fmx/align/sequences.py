"""Sequences in memory: one array of codes, and where each begins.

    codes   0 0 1 3 | 2 2 4 | | 1     A C G T are 0 1 2 3 in either case, U is T; every other letter is 4 and
    starts  0         4       7 7 8   equals nothing, not even itself

Unlike a reference, names may repeat and sequences may be empty.
"""

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.functions import inlined
from ..errors import InputError
from ..input.chunks import no_fasta
from ..input.dna import CODE
from ..input.reads import parse
from ..input.spans import read_chunks
from ..input.streams import STANDARD

if TYPE_CHECKING:
    from ..input.streams import GivenBytes


class Sequences(NamedTuple):
    """``codes`` uint8[starts[-1]]; ``starts`` int64[n + 1]."""

    codes: np.ndarray
    starts: np.ndarray

    @property
    def n(self) -> int:
        """How many sequences."""
        return self.starts.size - 1

    def lengths(self) -> np.ndarray:
        """Letters of each, int64[n]."""
        return np.diff(self.starts)

    @property
    def longest(self) -> int:
        """Letters of the longest, 0 if there is none."""
        return int(self.lengths().max(initial=0))


@inlined
def extent(sequences, i):
    """(where sequence i begins in ``codes``, its length)."""
    return sequences.starts[i], sequences.starts[i + 1] - sequences.starts[i]


def read_sequences(path: "GivenBytes | str") -> tuple[list[str], Sequences] | None:
    """(names, Sequences) of FASTA: a file, '-', or bytes, which may be none.  Raises InputError."""
    names, pieces = [], [np.empty(0, np.uint8)]
    with closing(read_chunks([path], check=check_begin)) as chunks:
        for chunk in chunks:
            batch = parse(chunk)
            for r in range(batch.length.size):
                if batch.name_length[r] == 0:
                    raise InputError(chunk.path, f"record {chunk.number + r}", "has no name after '>'")
                name, start = batch.name_start[r], batch.start[r]
                names.append(batch.data[name : name + batch.name_length[r]].tobytes().decode())
                pieces.append(CODE[batch.data[start : start + batch.length[r]]])
    if not names and not isinstance(path, bytes):
        raise InputError("standard input" if path == STANDARD else path, "", "is empty: expected FASTA")
    starts = np.cumsum([piece.size for piece in pieces], dtype=np.int64)
    return names, Sequences(np.concatenate(pieces), starts)


def check_begin(path: str, byte: int) -> bool:
    """False, it is no FASTQ.  Raises InputError if no FASTA file begins with ``byte``."""
    if byte != ord(">"):
        raise InputError(path, "line 1", no_fasta(byte))
    return False
