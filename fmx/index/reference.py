"""The reference: contigs, their blocks, and the coordinates of text positions.

Contigs are cut into blocks, the maximal runs of A, C, G, T.  The text is the blocks, each followed by a
separator that sorts before A; runs of N cost nothing:

    contigs   >x  ACGTNNNGGA      >y  TTT
    text          ACGT$GGA$TTT$       codes while building: $ 0, A C G T 1 2 3 4
    blocks        text start 0 5 9    contig 0 0 1    contig start 0 7 0    length 4 3 3
"""

import hashlib
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, find_byte
from ..compiler.sorting import last_until
from ..errors import InputError
from ..input.chunks import CR, NEWLINE, about_cr
from ..input.dna import CODE
from ..input.streams import Source

SEPARATOR = 0  # code of the separator in the text; A C G T are 1 2 3 4 there

_BLANK = 1
_UPPER = np.zeros(256, np.uint8)  # byte -> upper-case letter of the reference, _BLANK, or 0: neither
for _letter in range(ord("A"), ord("Z") + 1):
    _UPPER[_letter] = _UPPER[_letter + 32] = _letter
_UPPER[ord(".")] = ord(".")
_UPPER[[ord(" "), ord("\t"), CR]] = _BLANK
_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")  # SAM's RNAME
_SAM_HOLDS = "is none that SAM allows: letters, digits and !#$%&+./:;?@^_|~- and, but not first, * and ="


class Blocks(NamedTuple):
    """Where the blocks lie.  All int64[n_blocks]; ``text_start`` ascends.

    ``coarse`` int64: the block that holds text position i << shift; it makes the search for a block short.
    """

    text_start: np.ndarray
    contig: np.ndarray
    contig_start: np.ndarray
    length: np.ndarray
    coarse: np.ndarray
    shift: int


COLUMNS = ("text_start", "contig", "contig_start", "length")  # what is stored of Blocks


def make_blocks(text_start, contig, contig_start, length) -> Blocks:
    """Blocks from their four columns."""
    n_text = int(text_start[-1] + length[-1]) + 1
    shift = max(6, (n_text >> 14).bit_length())
    starts = np.arange((n_text >> shift) + 2) << shift
    coarse = np.searchsorted(text_start, starts, "right") - 1
    return Blocks(text_start, contig, contig_start, length, coarse, shift)


@dataclass(frozen=True)
class Reference:
    """Contigs in file order.

    ``names`` list of str; ``lengths`` int64[n] in bases; ``md5`` uint8[n, 16], of the upper-case letters (the
    M5 of SAM); ``blocks`` Blocks; ``n_text`` symbols in the text, separators included.
    """

    names: list
    lengths: np.ndarray
    md5: np.ndarray
    blocks: Blocks
    n_text: int


@inlined
def find_block(blocks, position):
    """Index of the block that holds a text position."""
    cell = position >> blocks.shift
    low, high = at(blocks.coarse, cell), at(blocks.coarse, cell + 1) + 1
    return last_until(blocks.text_start, low, high, position)


class Place(NamedTuple):
    """Where a text position lies: the number of a contig, and the position in it, from 0."""

    contig: int
    position: int


@inlined
def place_of(blocks, position):
    """The Place of a text position."""
    block = find_block(blocks, position)
    start = position - at(blocks.text_start, block) + at(blocks.contig_start, block)
    return Place(at(blocks.contig, block), start)


@inlined
def block_end(blocks, position):
    """Text position of the separator that ends the block of a position."""
    block = find_block(blocks, position)
    return at(blocks.text_start, block) + at(blocks.length, block)


def read_fasta(path):
    """Read a FASTA file (plain or compressed, '-' for stdin) into (Reference, text).

    ``text`` is uint8[n_text] of codes, as in the module's picture.  Raises InputError for anything that is
    not a FASTA file of at least one contig, each named once and not empty.
    """
    with Source(path) as source:
        letters, starts, headers, header_starts = _read_letters(source)
    names = _names(source.path, headers, header_starts)
    lengths = np.diff(starts)
    if (lengths == 0).any():
        name = names[int(np.argmin(lengths))]
        raise InputError(source.path, f"contig {name}", "has no sequence; remove it or mend the file")
    md5 = np.empty((len(names), 16), np.uint8)
    for i in range(len(names)):
        md5[i] = np.frombuffer(hashlib.md5(letters[starts[i] : starts[i + 1]]).digest(), np.uint8)
    nowhere = np.empty((4, 0), np.int64), np.empty(0, np.uint8)
    n_blocks, n_text = map(int, _cut_blocks(letters, starts, CODE, *nowhere))
    if n_blocks == 0:
        raise InputError(source.path, "", "the reference holds no A, C, G or T: nothing to index")
    columns, text = np.empty((4, n_blocks), np.int64), np.empty(n_text, np.uint8)
    _cut_blocks(letters, starts, CODE, columns, text)
    return Reference(names, lengths, md5, make_blocks(*columns), n_text), text


def _names(path, headers, header_starts) -> list:
    raw = headers.tobytes()
    names, seen = [], set()
    for i in range(header_starts.size - 1):
        header = raw[header_starts[i] : header_starts[i + 1]].replace(b"\t", b" ").strip(b" \r")
        name = header.split(b" ", 1)[0].decode("utf-8", "surrogateescape")
        if not name:
            raise InputError(path, f"contig number {i + 1}", "has no name after '>'")
        if not _NAME.fullmatch(name):
            raise InputError(path, f"contig number {i + 1}", f"its name {name} {_SAM_HOLDS}; rename it")
        if name in seen:
            raise InputError(path, f"contig {name}", "occurs twice; names must differ")
        seen.add(name)
        names.append(name)
    return names


def _grown(array, n_used, n_more):
    """``array`` with room for n_more elements beyond n_used."""
    if n_used + n_more <= array.size:
        return array
    larger = np.empty(max(n_used + n_more, array.size + array.size // 2), array.dtype)
    larger[:n_used] = array[:n_used]
    return larger


def _read_letters(source, chunk_size=1 << 23):
    """Upper-case letters of all contigs, their starts [n+1], header bytes, and theirs [n+1]."""
    letters, headers = np.empty(source.size_hint() + 1, np.uint8), np.empty(1 << 12, np.uint8)
    starts, header_starts = np.zeros(1 << 10, np.int64), np.zeros(1 << 10, np.int64)
    chunk = np.empty(chunk_size, np.uint8)
    state = np.zeros(7, np.int64)
    state[_AT_LINE_START] = state[_LINE] = 1
    while n := source.readinto(chunk):
        piece = chunk[:n]
        n_more = int(np.count_nonzero(piece == ord(">"))) + 1
        letters = _grown(letters, state[_N_LETTERS], n)
        headers = _grown(headers, state[_N_HEADER_BYTES], n)
        starts = _grown(starts, state[_N_CONTIGS], n_more)
        header_starts = _grown(header_starts, state[_N_CONTIGS], n_more)
        bad = _scan(piece, state, _UPPER, letters, starts, headers, header_starts)
        if bad >= 0:
            raise InputError(source.path, f"line {state[_LINE]}", _complaint(piece, bad, state))
    n_contigs, n_letters = int(state[_N_CONTIGS]), int(state[_N_LETTERS])
    if n_contigs == 0:
        raise InputError(source.path, "", "is empty: expected FASTA")
    starts[n_contigs], header_starts[n_contigs] = n_letters, state[_N_HEADER_BYTES]
    return (
        letters[:n_letters],
        starts[: n_contigs + 1],
        headers[: state[_N_HEADER_BYTES]],
        header_starts[: n_contigs + 1],
    )


def _complaint(piece, bad, state) -> str:
    byte = piece[bad]
    if state[_AFTER_CR]:
        return about_cr(piece)
    if state[_N_CONTIGS] == 0:
        hint = " (this looks like FASTQ)" if byte == ord("@") else ""
        return f"expected '>' at the start of a FASTA file, found {bytes([byte])!r}{hint}"
    return f"{bytes([byte])!r} is not a letter of a sequence"


_AT_LINE_START, _IN_HEADER, _LINE, _N_CONTIGS, _N_LETTERS, _N_HEADER_BYTES, _AFTER_CR = range(7)


@compiled
def _scan(chunk, state, upper, letters, starts, headers, header_starts):
    """Take one chunk of FASTA bytes; state carries over.  Returns the index of a bad byte or -1."""
    n_letters, n_contigs, n_header_bytes = state[_N_LETTERS], state[_N_CONTIGS], state[_N_HEADER_BYTES]
    i, bad = 0, -1
    while i < chunk.size and bad < 0:
        if state[_AFTER_CR] and chunk[i] != NEWLINE:
            bad = i
            break
        state[_AFTER_CR] = 0
        if state[_AT_LINE_START] and chunk[i] == ord(">"):
            starts[n_contigs], header_starts[n_contigs] = n_letters, n_header_bytes
            n_contigs += 1
            state[_IN_HEADER], state[_AT_LINE_START] = 1, 0
            i += 1
            continue
        newline = find_byte(chunk, NEWLINE, i, chunk.size)
        stop = chunk.size if newline < 0 else newline
        cr = find_byte(chunk, CR, i, stop)
        if cr >= 0:  # what follows it must be a LF
            state[_AFTER_CR], stop, newline = 1, cr + 1, -1
        if state[_IN_HEADER]:
            for j in range(i, stop):
                headers[n_header_bytes] = chunk[j]
                n_header_bytes += 1
        else:
            for j in range(i, stop):
                letter = upper[chunk[j]]
                if letter > _BLANK and n_contigs:
                    letters[n_letters] = letter
                    n_letters += 1
                elif letter != _BLANK:
                    bad = j
                    break
        if newline < 0:
            state[_AT_LINE_START] = 0
        elif bad < 0:
            state[_LINE] += 1
            state[_IN_HEADER], state[_AT_LINE_START] = 0, 1
        i = stop + (newline >= 0)
    state[_N_LETTERS], state[_N_CONTIGS], state[_N_HEADER_BYTES] = n_letters, n_contigs, n_header_bytes
    return bad


@compiled
def _cut_blocks(letters, starts, code, columns, text):
    """(number of blocks, symbols of the text); both are written where ``text`` has room for them."""
    text_start, contigs, contig_start, length = columns
    n_blocks, n, fills = 0, 0, text.size > 0
    for contig in range(starts.size - 1):
        first = starts[contig]  # of a block
        while first < starts[contig + 1]:
            stop = first
            while stop < starts[contig + 1] and code[letters[stop]] < 4:
                if fills:
                    text[n + stop - first] = code[letters[stop]] + 1
                stop += 1
            if stop > first:
                if fills:
                    text_start[n_blocks], contigs[n_blocks] = n, contig
                    contig_start[n_blocks], length[n_blocks] = first - starts[contig], stop - first
                    text[n + stop - first] = SEPARATOR
                n_blocks += 1
                n += stop - first + 1
            first = stop + 1
    return n_blocks, n
