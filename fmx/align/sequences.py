"""Sequences in memory: one array of codes, and where each begins.

    codes   0 0 1 3 | 2 2 4 | | 1     A C G T are 0 1 2 3 in either case, U is T; every other letter is 4 and
    starts  0         4       7 7 8   equals nothing, not even itself

Unlike a reference, names may repeat and sequences may be empty.
"""

from contextlib import closing
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..input.chunks import read_chunks
from ..input.dna import CODE, INVALID
from ..input.reads import parse
from ..input.streams import STANDARD


class Sequences(NamedTuple):
    """``codes`` uint8[starts[-1]]; ``starts`` int64[n + 1]."""

    codes: np.ndarray
    starts: np.ndarray

    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)


def encode(strings) -> Sequences:
    """Sequences from a list of str or bytes."""
    raw = [s.encode() if isinstance(s, str) else bytes(s) for s in strings]
    codes = CODE[np.frombuffer(b"".join(raw), np.uint8)]
    if (codes == INVALID).any():
        raise ValueError("a sequence holds a byte that is no letter")
    starts = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(s) for s in raw], out=starts[1:])
    return Sequences(codes, starts)


def read_sequences(path):
    """(names, Sequences) of FASTA: a file, '-', or bytes, which may be none.  Raises InputError."""
    names, pieces = [], [np.empty(0, np.uint8)]
    for name, codes in _records(path):
        names.append(name)
        pieces.append(codes)
    if not names and not isinstance(path, bytes):
        raise InputError("standard input" if path == STANDARD else path, "", "is empty: expected FASTA")
    starts = np.zeros(len(names) + 1, np.int64)
    np.cumsum([piece.size for piece in pieces[1:]], out=starts[1:])
    return names, Sequences(np.concatenate(pieces), starts)


def _records(path):
    """Yield (name, codes) of each record."""
    with closing(read_chunks([path], check=check_begin)) as chunks:
        for chunk in chunks:
            batch = parse(chunk)
            for r in range(batch.length.size):
                start, name = batch.start[r], batch.name_start[r]
                if batch.name_length[r] == 0:
                    raise InputError(chunk.path, f"record {chunk.number + r}", "has no name after '>'")
                letters = batch.data[start : start + batch.length[r]]
                yield batch.data[name : name + batch.name_length[r]].tobytes().decode(), CODE[letters]


def check_begin(path, byte) -> bool:
    """False, it is no FASTQ.  Raises InputError if no FASTA file begins with ``byte``."""
    if byte != ord(">"):
        hint = " (this looks like FASTQ)" if byte == ord("@") else ""
        found = bytes([byte])
        raise InputError(path, "line 1", f"expected '>' at the start of a FASTA file, found {found!r}{hint}")
    return False
