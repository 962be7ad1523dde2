"""References in several parts."""

from dataclasses import replace

import cases
import numpy as np
from texts import TEXTS

from fmx.index.fasta import read_fasta
from fmx.index.reference import make_blocks


def symbols_of(contigs) -> list:
    """Symbols that each contig takes in the text."""
    reference, _ = read_fasta(cases.fasta(contigs))
    blocks = reference.blocks
    return np.bincount(blocks.contig, blocks.length + 1, len(contigs)).astype(int).tolist()


def part_size_of(contigs) -> int:
    """A size that gives about three parts, as far as the contigs allow."""
    sizes = symbols_of(contigs)
    return max(*sizes, sum(sizes) // 3 + 1) if len(sizes) > 1 else sizes[0]


SEVERAL = [name for name in TEXTS if len(TEXTS[name]) > 1 and max(symbols_of(TEXTS[name])) > 1]


def far_apart(near):
    """A small index in parts (JoinedIndex), its parts told to lie 2^33 symbols apart."""
    sizes = near.meta["parts"]
    blocks = near.reference.blocks
    part = np.searchsorted(np.cumsum(sizes), blocks.text_start, "right")
    text_start = blocks.text_start + (part << 33)
    text_start.flags.writeable = False  # as those of an index on disk: no other code is compiled
    moved = make_blocks(text_start, blocks.contig, blocks.contig_start, blocks.length)
    n_text = near.reference.n_text + (len(sizes) << 33)
    meta = {**near.meta, "parts": [n + 2**33 for n in sizes]}
    return replace(near, meta=meta, reference=replace(near.reference, blocks=moved, n_text=n_text))
