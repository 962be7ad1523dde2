"""The reference: contigs, their blocks, and the coordinates of text positions.

Contigs are cut into blocks, the maximal runs of A, C, G, T.  The text is the blocks, each followed by a
separator that sorts before A; runs of N cost nothing:

    contigs   >x  ACGTNNNGGA      >y  TTT
    text          ACGT$GGA$TTT$       codes while building: $ 0, A C G T 1 2 3 4
    blocks        text start 0 5 9    contig 0 0 1    contig start 0 7 0    length 4 3 3
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at
from ..compiler.sorting import last_until, lower_bound
from ..errors import InputError
from ..input.dna import CODE, IUPAC
from ..input.read_range import Share
from ..input.streams import Source, stems_of
from ..machines.threads import run_all, spans, start
from .contigs import Groups, are_names, grouped
from .fasta import read_letters

_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")  # SAM's RNAME
_LOOKED_AT, _STRAY = 1 << 20, 0.02  # letters of a file; share of strange ones from which on it is warned of
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


class Before(NamedTuple):
    """What stands before some letters of the reference: bases, and blocks that begin there."""

    n_bases: int
    n_blocks: int


@dataclass(frozen=True)
class Reference:
    """Contigs in file order.

    ``names`` a list of str, or ContigNames; ``lengths`` int64[n] in bases; ``md5`` uint8[n, 16], of the
    upper-case letters (the M5 of SAM); ``blocks`` Blocks; ``n_text`` symbols in the text, separators
    included; ``groups`` of contigs, or None.
    """

    names: Sequence
    lengths: np.ndarray
    md5: np.ndarray
    blocks: Blocks
    n_text: int
    groups: Groups | None = None


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


def read_fasta(paths, n_threads=1, prefixed=False, done=lambda share: None, warn=lambda words: None):
    """Read FASTA (plain or compressed, '-' for stdin) into (Reference, text): a file, or a list of files.

    Several files are groups, each called by its stem, which with ``prefixed`` and a # precedes the names of
    contigs.  ``text`` is uint8[n_text] of codes, as in the module's picture.  ``done`` is told the share of
    the files that was read, and ``warn`` of what is hardly DNA.  Raises InputError for anything that is not
    FASTA of at least one contig, each named once and not empty.
    """
    paths = paths if isinstance(paths, (list, tuple)) else [paths]
    stems = _stems(paths) if prefixed or len(paths) > 1 else [""]
    names: dict = {}
    letters, starts, files = [], [np.zeros(1, np.int64)], []
    share = Share(paths)
    for number, (path, stem) in enumerate(zip(paths, stems, strict=True)):
        with Source(path) as source:
            own = read_letters(source, n_threads, partial(_tell, source, share, number, done))
        share.end(number)
        done(share())
        if strange := other_than_dna(own.letters[:_LOOKED_AT]):
            warn(f"{source.path}: {strange}")
        _add_names(names, source.path, own.headers, f"{stem}#" if prefixed else "")
        lengths = np.diff(own.starts)
        if (lengths == 0).any():
            name = list(names)[lengths.argmin() - lengths.size]
            raise InputError(source.path, f"contig {name}", "has no sequence; remove it or mend the file")
        letters.append(own.letters)
        starts.append(own.starts[1:] + starts[-1][-1])
        files += lengths.size * [stem]
    joined, borders = letters[0] if len(paths) == 1 else np.concatenate(letters), np.concatenate(starts)
    del letters
    digests = start(n_threads, _digests, joined, borders, n_threads)
    columns, text = _cut_blocks(joined, borders, n_threads)
    md5 = digests()
    if text.size == 0:
        raise InputError(source.path, "", "the reference holds no A, C, G or T: nothing to index")
    groups = grouped(files) if len(paths) > 1 else None
    return Reference(list(names), np.diff(borders), md5, make_blocks(*columns), text.size, groups), text


def other_than_dna(letters) -> str:
    """A sentence on ``letters`` (uint8, upper case) if many are no IUPAC codes of DNA, else ""."""
    counts = np.bincount(letters, minlength=256)
    counts[list(IUPAC + b".")] = 0
    if counts.sum() <= _STRAY * letters.size:
        return ""
    others, percent = ", ".join(map(chr, np.flatnonzero(counts))), 100 * counts.sum() / letters.size
    return (
        f"{percent:.0f} % of its letters are no codes of DNA ({others}): is it protein? Nothing is found "
        "where such letters are"
    )


def _tell(source, share, number, done):
    """Note how far the number-th file was read, and tell it."""
    share.note(number, source.position())
    done(share())


def _stems(paths) -> list:
    """What the groups of files are called.  Raises InputError."""
    stems = stems_of(paths)
    for i, (path, stem) in enumerate(zip(paths, stems, strict=True)):
        if stem in stems[:i]:
            raise InputError(path, "", "it is given twice")
        if not are_names([stem]):
            raise InputError(path, "", "a group cannot be called so: rename the file")
    return stems


def _digests(letters, starts, n_threads):
    """uint8[n, 16]: MD5 of each contig."""
    cut = spans(starts.size - 1, 16 * n_threads)
    found = run_all(_digest, [(letters, starts, *own) for own in cut], n_threads)
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, 16)


def _digest(letters, starts, first, last) -> bytes:
    return b"".join(hashlib.md5(letters[starts[i] : starts[i + 1]]).digest() for i in range(first, last))


def _cut_blocks(letters, starts, n_threads):
    """(the four columns of Blocks, the text) of contigs that begin at ``starts``."""
    cut = spans(letters.size, n_threads)
    nowhere = np.empty((3, 0), np.int64), np.empty(0, np.uint8)
    counts = run_all(_cut, [(letters, starts, CODE, span, Before(0, 0), *nowhere) for span in cut], n_threads)
    before = np.cumsum([(0, 0), *counts], axis=0).tolist()
    n_bases, n_blocks = before.pop()
    columns, text = np.empty((3, n_blocks), np.int64), np.zeros(n_bases + n_blocks, np.uint8)
    pieces = [
        (letters, starts, CODE, span, Before(*own), columns, text)
        for span, own in zip(cut, before, strict=True)
    ]
    run_all(_cut, pieces, n_threads)
    return (*columns, np.diff(columns[0], append=text.size) - 1), text


def _add_names(names, path, headers, prefix) -> None:
    """Add the names of a file's contigs to ``names``, {name: file}, in order.  Raises InputError."""
    for i, header in enumerate(headers):
        name = header.replace(b"\t", b" ").strip(b" \r").split(b" ", 1)[0].decode("utf-8", "surrogateescape")
        if not name:
            raise InputError(path, f"contig number {i + 1}", "has no name after '>'")
        name = prefix + name
        if not _NAME.fullmatch(name):
            raise InputError(path, f"contig number {i + 1}", f"its name {name} {_SAM_HOLDS}; rename it")
        if name in names:
            what = "occurs twice; names must differ"
            if names[name] != path:
                what = f"is in {names[name]} too; --prefix-names calls it FILE#{name}"
            raise InputError(path, f"contig {name}", what)
        names[name] = path


@compiled
def _cut(letters, starts, code, span, before, columns, text):
    """A thread's span of the letters: (bases, blocks that begin there); written where ``text`` has room.

    ``columns`` int64[3, n_blocks]: text_start, contig, contig_start.  ``text`` holds zeros: separators stay.
    """
    n_bases, n_blocks, fills = before.n_bases, before.n_blocks, text.size > 0
    i, stop = span
    contig = lower_bound(starts, 0, starts.size, i + 1) - 1
    inside = i > starts[contig] and code[letters[i - 1]] < 4
    while i < stop:
        contig_stop = min(starts[contig + 1], stop)
        while i < contig_stop:
            symbol = code[at(letters, i)]
            if symbol < 4:
                if not inside:
                    if fills:
                        columns[0, n_blocks], columns[1, n_blocks] = n_bases + n_blocks, contig
                        columns[2, n_blocks] = i - starts[contig]
                    n_blocks += 1
                if fills:
                    text[n_bases + n_blocks - 1] = symbol + 1
                n_bases += 1
            inside = symbol < 4
            i += 1
        contig, inside = contig + 1, False
    return n_bases - before.n_bases, n_blocks - before.n_blocks


# A place in a reference as one number, in the order of places:  contig << 35 | position << 1 | reverse.
#
# Only of these is it plain how far two places lie apart in a contig: a text leaves out what is no A, C, G, T.

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


# Letters of the reference, back from the packed text; what is none of A, C, G, T there reads N.

_BASES = np.frombuffer(b"ACGT", np.uint8)


class Letters:
    """Of an FMIndex or a JoinedIndex that holds its text."""

    def __init__(self, index, part_starts):
        """``part_starts``: where each part begins in the text."""
        self._blocks, self._starts = index.reference.blocks, np.array(part_starts)
        self._words = [part.text_words for part in index.parts]

    def between(self, contig, start, end) -> bytes:
        """Those of a contig from ``start`` to ``end``, half-open."""
        blocks, found = self._blocks, np.full(end - start, ord("N"), np.uint8)
        first, last = np.searchsorted(blocks.contig, (contig, contig + 1))
        begins = blocks.contig_start[first:last]
        a = first + max(int(np.searchsorted(begins, start, "right")) - 1, 0)
        for block in range(a, first + int(np.searchsorted(begins, end))):
            left = max(start, int(blocks.contig_start[block]))
            right = min(end, int(blocks.contig_start[block] + blocks.length[block]))
            if left < right:
                at = int(blocks.text_start[block]) + left - int(blocks.contig_start[block])
                found[left - start : right - start] = self._text(at, right - left)
        return found.tobytes()

    def _text(self, at, n):
        part = int(np.searchsorted(self._starts, at, "right")) - 1
        i = np.arange(at - self._starts[part], at - self._starts[part] + n)
        return _BASES[(self._words[part][i >> 5] >> (62 - 2 * (i & 31)).astype(np.uint64)) & np.uint64(3)]
