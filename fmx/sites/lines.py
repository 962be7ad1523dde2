"""Sites of guides as lines of TSV or BED."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from ..index.reference import Blocks, place_of, symbol
from ..output import put
from .kernels import LENGTH_BITS, length_of, start_of

HEAD = b"guide\tcontig\tstart\tend\tstrand\tsite\tmismatches\tpositions\n"
_BASES, _COMMA = np.frombuffer(b"ACGT", np.uint8), b","[0]


class Part(NamedTuple):
    """A part of a text: packed ``words``, its ``blocks``, and where it begins in the text."""

    words: np.ndarray
    blocks: Blocks
    begin: int


class SiteForm(NamedTuple):
    """Names and ``sequences`` of guides, names of contigs, ``blocks`` and ``parts`` of a reference."""

    guides: put.NameLines
    sequences: put.NameLines
    contigs: put.NameLines
    blocks: Blocks
    parts: tuple[Part, ...]
    is_5prime: bool
    is_bed: bool


def lines_of(form: SiteForm, rank: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Return the lines of sites: ``rank`` int64, guide << 3 | mismatches; ``key`` int64, the place."""
    names = sum(int(np.diff(lines.first).max()) for lines in (form.guides, form.contigs))
    out = np.empty(key.size * (names + (1 << LENGTH_BITS) + 10 * put.DIGITS), np.uint8)
    return out[: _write(form, rank, key, out)]


@compiled
def _write(form, rank, key, out):
    at = np.int64(0)
    for h in range(key.size):
        guide, n_mismatches = rank[h] >> 3, rank[h] & 7
        start, n, reverse = start_of(key[h]), length_of(key[h]), key[h] & 1
        place = place_of(form.blocks, start)
        if not form.is_bed:
            at = put.byte(out, put.name(out, at, form.guides, guide), put.TAB)
        at = put.field(out, put.name(out, at, form.contigs, place.contig), place.position)
        at = put.field(out, at, place.position + n)
        if form.is_bed:
            at = put.field(out, put.name_field(out, at, form.guides, guide), n_mismatches)
            at = put.byte(out, put.strand_field(out, at, reverse), put.LINE)
            continue
        at = put.byte(out, put.strand_field(out, at, reverse), put.TAB)
        for part in form.parts:
            first = start - part.begin
            if 0 <= first < part.blocks.text_start[-1] + part.blocks.length[-1]:
                for i in range(n):
                    code = symbol(part.words, 0, first + i)
                    if reverse:
                        out[at + n - 1 - i] = _BASES[np.uint64(3) - code]
                    else:
                        out[at + i] = _BASES[code]
        site, at = at, put.field(out, at + n, n_mismatches)
        at = put.byte(out, at, put.TAB)
        first = form.sequences.first[guide]
        length = form.sequences.first[guide + 1] - 1 - first
        site += n - length if form.is_5prime else 0
        n_written = 0
        for i in range(length):
            if out[site + i] != form.sequences.data[first + i]:
                at = put.number(out, put.byte(out, at, _COMMA) if n_written else at, i + 1)
                n_written += 1
        at = put.byte(out, at if n_written else put.byte(out, at, put.STAR), put.LINE)
    return at
