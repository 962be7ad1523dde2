"""Bases, their codes, and 2-bit packing.

A C G T have the codes 0 1 2 3.  A packed word (uint64) holds 32 symbols, the first in the highest bits, so
that words compare like strings:

    bit 63 62 | 61 60 | ...           | 1 0
        s[0]  | s[1]  | ...           | s[31]
"""

from typing import TYPE_CHECKING

import numpy as np

from .compiler.functions import compiled, inlined
from .compiler.primitives import at, load_two_bits, swap_bytes
from .machines.jobs import ONE_CORE, do, run_all, spans

if TYPE_CHECKING:
    from .machines.jobs import Backend

OTHER = 4  # code of '.' and all other letters, such as N, which match nothing
_INVALID = 255  # a byte that cannot be in a sequence
WORD, SPARE_WORDS = 32, 3  # symbols in a packed word; words after a packed text
FORWARD, REVERSE = 1, 2  # strands, as bits


def _code_table() -> np.ndarray:
    table = np.full(256, _INVALID, np.uint8)
    for letter in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[letter] = table[letter + 32] = OTHER
    table[ord(".")] = OTHER
    for code, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
        for letter in letters:
            table[letter] = code
    return table


def _letter_table(upper: bytes, to: bytes) -> np.ndarray:
    table = np.full(256, ord("N"), np.uint8)
    for letter, other in zip(upper, to, strict=True):
        table[letter] = table[letter | 32] = other
    return table


def _set_table(letters: str) -> np.ndarray:
    """Return uint8[256]: the bits 1, 2, 4, 8 for A C G T in the set of each byte of ``letters``, or 0."""
    table = np.zeros(256, np.uint8)
    for letter in letters:
        bases = sum(1 << "ACGT".index(base) for base in SETS[letter])
        table[ord(letter)] = table[ord(letter.lower())] = bases
    return table


IUPAC = b"ACGTUNRYSWKMBDHV"
SETS = {  # IUPAC code -> its bases
    "A": "A", "C": "C", "G": "G", "T": "T", "U": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT",
    "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip
CODE = _code_table()  # byte -> code
LETTERS = bytes(np.flatnonzero(CODE != _INVALID).tolist())  # bytes that may be in a sequence
UPPER = _letter_table(IUPAC, b"ACGTTNRYSWKMBDHV")  # byte -> letter to write
COMPLEMENT = _letter_table(IUPAC, b"TGCAANYRSWMKVHDB")  # byte -> letter of its complement
PLAIN, DEGENERATE = _set_table("ACGTU"), _set_table("".join(SETS))  # byte of these -> set of bases


LOOKED_AT, _STRAY = 1 << 20, 0.02  # letters of a file to examine; fraction of non-IUPAC ones to warn of


def other_than_dna(letters: np.ndarray) -> str:
    """Return a warning if many of ``letters`` (uint8) are not IUPAC DNA codes, else ""."""
    counts = np.bincount(letters, minlength=256)
    counts[65:91] += counts[97:123]  # upper and lower case
    counts[97:123] = counts[list(IUPAC + b".")] = 0
    if counts.sum() <= _STRAY * letters.size:
        return ""
    others, percent = ", ".join(map(chr, np.flatnonzero(counts))), 100 * counts.sum() / letters.size
    return f"{percent:.0f} % of its characters are not IUPAC DNA codes ({others}): is it protein?"


def is_ambiguous(sequence: str) -> bool:
    """Return whether a sequence is of IUPAC codes, and at least one of them stands for several bases."""
    letters = set(sequence.upper())
    return letters <= SETS.keys() and not letters <= set("ACGTU")


@inlined
def symbols(words, first, i, k):
    """Return the k symbols (1 <= k <= 32) from symbol i of the packed string at word ``first``, as a uint64.

    Reads one word beyond that of symbol i: packed arrays end with a spare word.
    """
    word = first + (i >> 5)
    shift = np.uint64((i & 31) * 2)
    high = at(words, word) << shift
    low = (at(words, word + 1) >> np.uint64(1)) >> (np.uint64(63) - shift)
    return (high | low) >> np.uint64(64 - 2 * k)


@inlined
def symbol_before(words, first, left, k, ahead, n_ahead):
    """Return the k-symbol before symbol ``left`` of the packed string at word ``first``; called repeatedly.

    Returns (c, left - k, ahead, n_ahead) for the next call; the first call has ``n_ahead`` 0.  ``ahead``
    (uint64) holds the ``n_ahead`` symbols before the result, so that memory is read once per 32 symbols.
    """
    if n_ahead < k:
        n_ahead = min(left, np.int32(WORD))
        ahead = symbols(words, first, left - n_ahead, n_ahead)
    c = np.int32(ahead & np.uint64((1 << 2 * k) - 1))
    return c, np.int32(left - k), ahead >> np.uint64(2 * k), np.int32(n_ahead - k)


@inlined
def _pack_letters(data, i):
    """Return the WORD bases (A C G T U, any case) of ``data`` (uint8) from index i as a packed word.

    Bits 1 and 2 of a letter give its code, A 00, C 01, T and U 10, G 11, with G and T exchanged afterwards.
    """
    x = load_two_bits(data, i)
    return x ^ ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))


@inlined
def reverse_complement(x, k):
    """Return the reverse complement of k symbols in the low bits of a uint64."""
    x = ~x
    x = ((x & np.uint64(0x3333333333333333)) << np.uint64(2)) | (
        (x >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    x = ((x & np.uint64(0x0F0F0F0F0F0F0F0F)) << np.uint64(4)) | (
        (x >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    )
    return swap_bytes(x) >> np.uint64(64 - 2 * k)


@inlined
def pack_read(data, start, length, code, words, first):
    """Pack ``length`` bases of ``data`` at ``start`` from word ``first`` on; other letters as any base."""
    for i in range(0, length, WORD):
        at, k = start + i, min(WORD, length - i)
        word = np.uint64(0)
        if at + WORD <= data.size:
            word = _pack_letters(data, at)
            if k < WORD:
                word = (word >> np.uint64(2 * (WORD - k))) << np.uint64(2 * (WORD - k))
        else:
            for j in range(at, at + k):
                word = (word << np.uint64(2)) | np.uint64(code[data[j]] & 3)
            word <<= np.uint64(2 * (WORD - k))
        words[first + (i >> 5)] = word


@inlined
def pack_reverse(words, first, other, length):
    """Pack the reverse complement of the ``length`` symbols at word ``first`` from word ``other`` on."""
    for i in range(0, length, WORD):
        k = min(WORD, length - i)
        word = reverse_complement(symbols(words, first, length - i - k, k), k)
        words[other + (i >> 5)] = word << np.uint64(2 * (WORD - k))


def pack_text(text: np.ndarray, backend: "Backend" = ONE_CORE) -> np.ndarray:
    """Return a text (uint8[n]: separator 0, A C G T 1 to 4) as uint64 words; separators are stored as A.

    SPARE_WORDS follow, also on disk: ``symbols`` reads one; row_key (index/sparse.py) subtracts them.
    """
    words = backend.empty(-(-text.size // WORD) + SPARE_WORDS, np.uint64)
    backend.run(PackText(text, words), words.size)
    return words


def unpack_text(words: np.ndarray, separators: np.ndarray, n_text: int, n_threads: int = 1) -> np.ndarray:
    """Return the text (uint8[n_text]) of packed words, with separators at the given positions (int64)."""
    text = np.empty(n_text, np.uint8)
    run_all(_unpack_text, [(words, *span, text) for span in spans(n_text, n_threads)], n_threads)
    text[separators] = 0
    return text


@compiled
def _unpack_text(words, start, stop, text):
    for i in range(start, stop):
        text[i] = 1 + ((words[i >> 5] >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3))


@do.of("text words")
def PackText(job, stretch, start, stop):
    """Pack ``text`` uint8[n], of separators and bases, into ``words`` uint64."""
    for w in range(start, stop):
        word = np.uint64(0)
        for i in range(WORD * w, min(WORD * w + WORD, job.text.size)):
            symbol = np.uint64(max(np.int64(at(job.text, i)), 1) - 1)
            word |= symbol << np.uint64(62 - 2 * (i & 31))
        job.words[w] = word
