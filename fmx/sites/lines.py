"""Sites of guides as lines of TSV or BED."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import Blocks, place_of
from ..output import put
from .kernels import LENGTH_BITS, length_of, start_of

if TYPE_CHECKING:
    from ..guides.library import Library
    from ..index.reference import Reference

HEAD = b"guide\tcontig\tstart\tend\tstrand\tsite\tmismatches\tpositions\n"
_COMMA = b","[0]
_BASES = np.frombuffer(b"ACGT", np.uint8)


class SiteForm(NamedTuple):
    """Names and ``sequences`` of guides, names of contigs and ``blocks`` of the reference."""

    guides: put.NameLines
    sequences: put.NameLines
    contigs: put.NameLines
    blocks: Blocks
    is_5prime: bool
    is_bed: bool


def make_form(library: "Library", reference: "Reference", is_5prime: bool, kind: str) -> SiteForm:
    """Return the SiteForm of an output of this kind."""
    guides, sequences = put.make_names(library.ids), put.make_names(library.sequences)
    contigs = put.make_names(reference.names)
    return SiteForm(guides, sequences, contigs, reference.blocks, is_5prime, kind == "bed")


def lines_of(form: SiteForm, parts: Sequence[Any], rank: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Return the lines of sites, each with its rank and key; ``parts``: the Parts of the genome."""
    letters = np.empty((key.size, 1 << LENGTH_BITS), np.uint8)
    for part in parts:
        _read_letters(part.words, part.begin, part.blocks, key, letters)
    names = sum(int(np.diff(lines.first).max()) for lines in (form.guides, form.contigs))
    out = np.empty(key.size * (names + (1 << LENGTH_BITS) + 10 * put.DIGITS), np.uint8)
    return out[: _write(form, rank, key, letters, out)]


@compiled
def _read_letters(words, begin, blocks, key, letters):
    """Write the letters of the sites of a part that begins at ``begin``, on their own strands."""
    end = begin + blocks.text_start[-1] + blocks.length[-1]
    for h in range(key.size):
        start, n = start_of(key[h]), length_of(key[h])
        if begin <= start < end:
            for i in range(n):
                place = start - begin + i
                code = (words[place >> 5] >> np.uint64(62 - 2 * (place & 31))) & np.uint64(3)
                if key[h] & 1:
                    letters[h, n - 1 - i] = _BASES[np.uint64(3) - code]
                else:
                    letters[h, i] = _BASES[code]


@compiled
def _write(form, rank, key, letters, out):
    at = np.int64(0)
    for h in range(key.size):
        guide, n_mismatches, n, reverse = rank[h] >> 3, rank[h] & 7, length_of(key[h]), key[h] & 1
        place = place_of(form.blocks, start_of(key[h]))
        if not form.is_bed:
            at = put.byte(out, put.name(out, at, form.guides, guide), put.TAB)
        at = put.field(out, put.name(out, at, form.contigs, place.contig), place.position)
        at = put.field(out, at, place.position + n)
        if form.is_bed:
            at = put.field(out, put.name_field(out, at, form.guides, guide), n_mismatches)
            at = put.byte(out, put.strand_field(out, at, reverse), put.LINE)
            continue
        at = put.byte(out, put.strand_field(out, at, reverse), put.TAB)
        at = put.field(out, put.span(out, at, letters[h], 0, n), n_mismatches)
        at = put.byte(out, at, put.TAB)
        first = form.sequences.first[guide]
        length = form.sequences.first[guide + 1] - 1 - first
        offset, n_written = n - length if form.is_5prime else 0, 0
        for i in range(length):
            if letters[h, offset + i] != form.sequences.data[first + i]:
                at = put.number(out, put.byte(out, at, _COMMA) if n_written else at, i + 1)
                n_written += 1
        at = put.byte(out, at if n_written else put.byte(out, at, put.STAR), put.LINE)
    return at
