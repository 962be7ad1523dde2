"""Sequences in memory: one array of codes, and where each begins.

    codes   0 0 1 3 | 2 2 4 | | 1     A C G T are 0 1 2 3 in either case, U is T; every other letter is 4 and
    starts  0         4       7 7 8   equals nothing, not even itself

Unlike a reference, names may repeat and sequences may be empty.
"""

from typing import NamedTuple

import numpy as np

from ..dna import CODE, INVALID
from ..errors import InputError
from ..streams import Source

_BLANK = b" \t\r\n\v\f"
_DASHES = b"-*"  # symbols of alignments: refused, since removing them silently would change the sequence


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
    """(names, Sequences) of a FASTA file: plain, gzip or '-'.  Raises InputError for anything else."""
    with Source(path) as source:
        data = _read_all(source)
        name = source.path
    if not data.strip(_BLANK):
        raise InputError(name, "", "is empty: expected FASTA")
    check_begin(name, data.lstrip(_BLANK)[0])
    names, pieces, lengths = [], [], []
    for record in (b"\n" + data.lstrip(_BLANK)).split(b"\n>")[1:]:
        header, _, body = record.partition(b"\n")
        words = header.split(None, 1)
        if not words:
            raise InputError(name, f"record {len(names) + 1}", "has no name after '>'")
        names.append(words[0].decode("utf-8", "backslashreplace"))
        letters = body.translate(None, _BLANK)
        codes = CODE[np.frombuffer(letters, np.uint8)]
        if (codes == INVALID).any():
            bad = letters[int(np.argmax(codes == INVALID))]
            hint = " (an alignment? remove its gaps)" if bad in _DASHES else ""
            raise InputError(
                name,
                f"record {len(names)} ({names[-1]})",
                f"{bytes([bad])!r} is not a letter of a sequence{hint}",
            )
        pieces.append(codes)
        lengths.append(codes.size)
    starts = np.zeros(len(names) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return names, Sequences(np.concatenate(pieces), starts)


def check_begin(path, byte) -> None:
    """Raise InputError if no FASTA file begins with ``byte``."""
    if byte != ord(">"):
        hint = " (this looks like FASTQ)" if byte == ord("@") else ""
        found = bytes([byte])
        raise InputError(path, "line 1", f"expected '>' at the start of a FASTA file, found {found!r}{hint}")


def _read_all(source, size=1 << 22) -> bytes:
    parts, buffer = [], np.empty(size, np.uint8)
    while n := source.readinto(buffer):
        parts.append(buffer[:n].tobytes())
    return b"".join(parts)
