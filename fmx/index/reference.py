"""The reference: contigs, their names, groups and blocks, and the coordinates of text positions.

Contigs are cut into blocks, the maximal runs of A, C, G, T.  The text is the blocks, each followed by a
separator that sorts before A; runs of N take no space:

    contigs   >x  ACGTNNNGGA      >y  TTT
    text          ACGT$GGA$TTT$       codes while building: $ 0, A C G T 1 2 3 4
    blocks        text start 0 5 9    contig 0 0 1    contig start 0 7 0    length 4 3 3

A text beyond 32 bits is cut into parts between contigs, and each part is indexed separately.  Rows and
positions of a part are uint32.  Blocks of the whole reference, hits and writers use positions in the whole
text (int64): the position in the part plus the start of the part.

    text     | contigs 0 to 6         | contigs 7 and 8      |     one table of contigs, one of blocks
    parts    | 0 1 2 ...     part 0   | 0 1 2 ...   part 1   |     each a suffix array, tables, layouts
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.primitives import at, copy_bytes, leading_zeros, trailing_zeros
from ..compiler.sorting import last_until
from ..dna import WORD, symbols
from ..errors import UnsupportedError, n_of, quoted
from .contracts import MAX_ROWS

if TYPE_CHECKING:
    from ..input.reads import ReadBatch

_NEWLINE = 10


class NameLines(NamedTuple):
    """``data`` uint8, where a newline ends each name; name i is data[first[i] : first[i + 1] - 1].

    ``first`` int64[n + 1].
    """

    data: np.ndarray
    first: np.ndarray


def names_in(array: np.ndarray) -> list:
    """Return the names in an array of uint8, separated by newlines, as str."""
    return array.tobytes().decode("utf-8", "surrogateescape").split("\n")


class Names(Sequence[str]):
    """Names by number, stored as bytes, which takes less memory than a list of str; ``lines``: NameLines.

    ``names[7]`` is a str; ``names[array]``, for whole numbers such as ``hits["read"]``, a list of str.  Names
    of a chunk begin with number ``first``; ``len(names)`` is their count.  No name contains a newline.

    Examples:
        >>> names = fmx.Names.of(["chr1", "chr2"])
        >>> names[1], names[[1, 1, 0]]
        ('chr2', ['chr2', 'chr2', 'chr1'])
    """

    def __init__(self, lines: NameLines, first: int = 0) -> None:
        self.lines, self.first = lines, first

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """Return the names from an iterable of str.  Raises TypeError."""
        if isinstance(names, cls):
            return names
        lines = "\n".join([*names, ""]).encode("utf-8", "surrogateescape")
        return cls.of_lines(np.frombuffer(lines, np.uint8))

    @classmethod
    def of_lines(cls, lines: np.ndarray) -> "Names":
        """Return the names in uint8, separated by newlines."""
        if lines.size and lines[-1] != _NEWLINE:
            lines = np.append(lines, np.uint8(_NEWLINE))
        return cls(NameLines(lines, np.append(0, np.flatnonzero(lines == _NEWLINE) + 1)))

    @classmethod
    def of_batch(cls, batch: "ReadBatch", first: int, last: int) -> "Names":
        """Return the names of reads ``first`` to ``last`` of a batch."""
        return cls(_gathered(batch.data, batch.name_start[first:last], batch.name_length[first:last], 1))

    @classmethod
    def joined(cls, several: "Iterable[Names]", first: int = 0) -> "Names":
        """Concatenate several Names, numbered from ``first``."""
        lines = [NameLines(np.empty(0, np.uint8), np.zeros(1, np.int64)), *(names.lines for names in several)]
        lengths = np.concatenate([np.diff(each.first) for each in lines])
        return cls(NameLines(np.concatenate([each.data for each in lines]), _ends(lengths)), first)

    def columns(self, numbers: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return (bytes uint8, ends int64[n + 1]) of the names with these numbers, int[n]."""
        known, (data, first) = np.asarray(numbers), self.lines
        if known.dtype.kind not in "iu" and known.size:  # such as a mask
            raise TypeError(f"names are indexed by whole numbers, not by {quoted(numbers)}")
        known = known.astype(np.int64) - self.first
        if known.size and not 0 <= known.min() <= known.max() < len(self):
            raise IndexError(f"names have the numbers {self.first} to {self.first + len(self) - 1}")
        return _gathered(data, first[known], first[known + 1] - first[known] - 1)

    def __len__(self) -> int:
        return self.lines.first.size - 1

    @overload
    def __getitem__(self, number: int | np.integer) -> str: ...
    @overload
    def __getitem__(self, number: "slice | Sequence[int] | np.ndarray") -> list[str]: ...
    def __getitem__(self, number: Any) -> str | list[str]:
        if isinstance(number, slice):
            return list(self)[number]
        is_one = np.ndim(number) == 0
        letters, ends = self.columns([number] if is_one else number)
        text = letters.tobytes()
        names = [text[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(ends)]
        return names[0] if is_one else names

    def __iter__(self) -> Iterator[str]:
        return iter(names_in(self.lines.data)[:-1])

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        few = ", ".join(map(quoted, self[:3])) + (", ..." if len(self) > 3 else "")
        return f"<{n_of(len(self), 'name')}: {few}>" if few else "<no names>"


def _ends(lengths: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(lengths))


def _gathered(letters: np.ndarray, start: np.ndarray, length: np.ndarray, n_newlines: int = 0) -> NameLines:
    """Return slices of ``letters``, each followed by so many newlines; ``start``, ``length`` int64[n]."""
    ends = _ends(length + n_newlines)
    out = np.full(ends[-1], _NEWLINE, np.uint8)
    _gather(letters, start, length, ends, out)
    return NameLines(out, ends)


@compiled
def _gather(letters, start, length, ends, out):
    for i in range(start.size):
        copy_bytes(out, ends[i], letters, start[i], length[i])


# Groups of contigs, such as strains, species or hosts, by which reads are counted.
#
# Each contig is in one group: the file that it was read from, or the group that a table assigns.


class Groups(NamedTuple):
    """``names`` list of str, in the order of their first contigs; ``of_contig`` uint32[n_contigs]; ``what``:
    "groups" of contigs, or the "indexes" that are searched as one."""

    names: list
    of_contig: np.ndarray
    what: str = "groups"


def grouped(names_of_contigs: Iterable[str]) -> Groups:
    """Make Groups from the name of each contig's group."""
    numbers: dict = {}
    of_contig = [numbers.setdefault(name, len(numbers)) for name in names_of_contigs]
    return Groups(list(numbers), np.array(of_contig, np.uint32))


def are_names(names: Collection[str]) -> bool:
    """Return whether these can be names of groups: printable, all different."""
    return all(name and name.isprintable() for name in names) and len(set(names)) == len(names)


def groups_of(index: Any) -> Groups:
    """Return the Groups of an opened index.  Raises UnsupportedError if it has none."""
    if index.reference.groups is None:
        raise UnsupportedError(
            f"{index.path} has no groups of contigs, because it was built from a single file: build it from "
            "several files or with --groups, or add groups with 'fmx index --add --groups TABLE "
            f"{index.path}'"
        )
    return index.reference.groups


# Blocks and parts.


class Blocks(NamedTuple):
    """The places of the blocks.  All int64[n_blocks]; ``text_start`` ascends.

    ``coarse`` int64: the block that holds text position i << shift; it shortens the search for a block.
    """

    text_start: np.ndarray
    contig: np.ndarray
    contig_start: np.ndarray
    length: np.ndarray
    coarse: np.ndarray
    shift: int


COLUMNS = ("text_start", "contig", "contig_start", "length")  # what is stored of Blocks


def make_blocks(
    text_start: np.ndarray, contig: np.ndarray, contig_start: np.ndarray, length: np.ndarray
) -> Blocks:
    """Make Blocks from their four columns."""
    n_text = int(text_start[-1] + length[-1]) + 1
    shift = max(6, (n_text >> 14).bit_length())
    starts = np.arange((n_text >> shift) + 2) << shift
    coarse = np.searchsorted(text_start, starts, "right") - 1
    return Blocks(text_start, contig, contig_start, length, coarse, shift)


@dataclass(frozen=True)
class Reference:
    """Contigs in file order.

    ``names``: a list of str, or Names; ``lengths`` int64[n] in bases; ``md5`` uint8[n, 16] of the
    upper-case bases (the M5 tag of SAM); ``blocks``: Blocks; ``n_text``: symbols in the text, separators
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
    """Return the index of the block that holds a text position."""
    cell = position >> blocks.shift
    low, high = at(blocks.coarse, cell), at(blocks.coarse, cell + 1) + 1
    return last_until(blocks.text_start, low, high, position)


class Place(NamedTuple):
    """The place of a text position: the number of a contig, and the position in it, from 0."""

    contig: int
    position: int


@inlined
def place_of(blocks, position):
    """Return the Place of a text position."""
    block = find_block(blocks, position)
    start = position - at(blocks.text_start, block) + at(blocks.contig_start, block)
    return Place(at(blocks.contig, block), start)


@inlined
def block_end(blocks, position):
    """Return the text position of the separator that ends the block of a position."""
    block = find_block(blocks, position)
    return at(blocks.text_start, block) + at(blocks.length, block)


# Comparison of the packed text with a packed string.


class Subquery(NamedTuple):
    """Symbols ``i`` to ``m`` (half-open) of the packed string at word ``first``; a spare word follows it."""

    words: np.ndarray
    first: int
    i: int
    m: int


@inlined
def symbol(words, first, i):
    """Return symbol i of the packed string at word ``first``, as a uint64."""
    return (at(words, first + (i >> 5)) >> np.uint64(62 - 2 * (i & 31))) & np.uint64(3)


@inlined
def common_prefix(words, position, subquery, known, most):
    """Return how many symbols the text from ``position`` and a subquery share, at most ``most``.

    ``known`` symbols are known to be equal. ``words``: the packed text.
    """
    done = known
    while done < most:
        ours = symbols(words, 0, position + done, WORD)
        difference = ours ^ symbols(subquery.words, subquery.first, subquery.i + done, WORD)
        if difference:
            return min(done + (leading_zeros(difference) >> 1), most)
        done += WORD
    return most


@inlined
def common_suffix(words, position, subquery, most):
    """Return how many symbols are equal before ``position`` and before a subquery, at most ``most``."""
    done = np.int64(0)
    while done < most:
        k = min(most - done, WORD)
        ours = symbols(words, 0, position - done - k, k)
        difference = ours ^ symbols(subquery.words, subquery.first, subquery.i - done - k, k)
        if difference:
            return done + (trailing_zeros(difference) >> 1)
        done += k
    return most


@inlined
def compare(text, position, subquery, known):
    """Return (symbols in common, order) of the suffix at ``position`` and a subquery, which share ``known``.

    The order is -1, 0 or 1 for a subquery that sorts before the suffix, is a prefix of it, or sorts after it.
    ``text`` has the packed ``words`` and ``blocks``.
    """
    m = subquery.m - subquery.i
    if known == m:
        return known, np.int64(0)
    stop = block_end(text.blocks, position) - position
    length = common_prefix(text.words, position, subquery, known, min(m, stop))
    if length == m:
        return length, np.int64(0)
    if length == stop:
        return length, np.int64(1)
    ours = symbol(text.words, 0, position + length)
    theirs = symbol(subquery.words, subquery.first, subquery.i + length)
    return length, np.int64(1) if theirs > ours else np.int64(-1)


@inlined
def first_row(text, subquery, lo, hi, order):
    """Return the first of rows lo to hi to which a subquery compares as ``order`` or less.

    ``text`` has the suffix array ``sa`` too.
    """
    while lo < hi:
        middle = (lo + hi) >> 1
        _, order_of_row = compare(text, np.int64(at(text.sa, middle)), subquery, np.int64(0))
        if order_of_row <= order:
            hi = middle
        else:
            lo = middle + 1
    return lo


MAX_SYMBOLS = MAX_ROWS  # of a part


def cut(reference: Reference, part_size: int = MAX_SYMBOLS) -> list:
    """Return (start, stop) of each part of the text: whole contigs, at most ``part_size`` symbols in total.

    Raises UnsupportedError if a single contig is larger.
    """
    blocks = reference.blocks
    ends = blocks.text_start + blocks.length + 1
    is_last = np.append(blocks.contig[1:] != blocks.contig[:-1], True)
    contig_ends = ends[is_last]
    borders = [0]
    while borders[-1] < reference.n_text:
        i = int(np.searchsorted(contig_ends, borders[-1] + part_size, "right")) - 1
        if i < 0 or contig_ends[i] <= borders[-1]:
            name, size = reference.names[blocks.contig[is_last][i + 1]], contig_ends[i + 1] - borders[-1]
            raise UnsupportedError(
                f"contig {name} takes {size} symbols, but a contig may take at most {part_size}: "
                "cut it in two in the FASTA, best at a run of N"
            )
        borders.append(int(contig_ends[i]))
    return list(pairwise(borders))


def part_of(reference: Reference, start: int, stop: int) -> Reference:
    """Return the Reference with only the blocks of one part, in positions of the part, and all contigs."""
    blocks = reference.blocks
    first, last = np.searchsorted(blocks.text_start, (start, stop))
    columns = [getattr(blocks, column)[first:last] for column in COLUMNS]
    return replace(reference, blocks=make_blocks(columns[0] - start, *columns[1:]), n_text=stop - start)


# A place as one number, in the order of places: text position << 1 | reverse (text_key), or in a reference
# contig << 35 | position << 1 | reverse (place_key).
#
# Only place keys give the distance of two places in a contig: a text omits everything but A, C, G, T.

_STRAND, _POSITION = 1, 34  # bits
STEP = 1 << _STRAND  # from a position to the next
_LAST = (1 << _POSITION) - 1


def can_hold(reference: Reference, beyond: int) -> bool:
    """Return whether a key holds every place of a Reference, and positions ``beyond`` its contigs' ends."""
    most_contigs = 1 << (63 - _STRAND - _POSITION)
    return len(reference.names) < most_contigs and int(reference.lengths.max()) + beyond <= _LAST


@inlined
def text_key(position, reverse):
    return position << _STRAND | reverse


@inlined
def position_of_text_key(key):
    return key >> _STRAND


@inlined
def place_key(contig, position, reverse):
    return contig << (_POSITION + _STRAND) | text_key(position, reverse)


@inlined
def contig_of(key):
    return key >> (_POSITION + _STRAND)


@inlined
def position_of_key(key):
    return position_of_text_key(key) & _LAST


@inlined
def is_reverse(key):
    return (key & 1) == 1


@inlined
def forward(key):
    """Return the same place on strand +."""
    return key - (key & 1)


@inlined
def position_in_text(blocks, key):
    """Return the text position of a place_key, which is in a block."""
    block, end = np.int64(0), np.int64(blocks.contig.size)
    while end - block > 1:
        middle = (block + end) >> 1
        if place_key(at(blocks.contig, middle), at(blocks.contig_start, middle), False) <= key:
            block = middle
        else:
            end = middle
    return position_of_key(key) - at(blocks.contig_start, block) + at(blocks.text_start, block)


# Bases of the reference, from the packed text; everything but A, C, G, T reads as N.

_BASES = np.frombuffer(b"ACGT", np.uint8)


def letters_between(index: Any, contig: int, start: int, end: int) -> bytes:
    """Return the bases of a contig from ``start`` to ``end``, half-open; the opened index has its text."""
    letters, places = np.full(end - start, ord("N"), np.uint8), np.arange(start, end)
    for part in index.parts:
        blocks = part.reference.blocks
        first, last = np.searchsorted(blocks.contig, (contig, contig + 1))
        block = first + np.searchsorted(blocks.contig_start[first:last], places, "right") - 1
        offset = places - blocks.contig_start[block]
        inside = (block >= first) & (offset < blocks.length[block])
        i = (blocks.text_start[block] + offset)[inside]
        shift = (62 - 2 * (i & 31)).astype(np.uint64)
        letters[inside] = _BASES[(part.text_words[i >> 5] >> shift) & np.uint64(3)]
    return letters.tobytes()


def blocks_by_group(reference: Reference) -> Blocks:
    """Return the Blocks of a Reference with group numbers instead of contig numbers."""
    blocks, groups = reference.blocks, reference.groups
    assert groups is not None
    return blocks._replace(contig=groups.of_contig[blocks.contig].astype(np.int64))
