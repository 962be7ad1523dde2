"""Several indexes as one: their texts one after the other, each of which is a group, named by its folder."""

import numpy as np

from ..errors import UnsupportedError
from ..input.streams import stems_of
from .fm_index import JoinedIndex
from .groups import Groups
from .parts import part_sizes
from .reference import Reference, make_blocks

_SUFFIX = r"\.fmx$"


def join(indexes) -> JoinedIndex:
    """One index of several opened ones, FMIndex or JoinedIndex, in their order."""
    references = [index.reference for index in indexes]
    symbols, contigs = (
        _ahead([own.n_text for own in references]),
        _ahead([len(own.names) for own in references]),
    )
    columns = [
        (blocks.text_start + n, blocks.contig + c, blocks.contig_start, blocks.length)
        for blocks, n, c in zip([own.blocks for own in references], symbols, contigs, strict=True)
    ]
    n_text, sizes = sum(own.n_text for own in references), [part_sizes(index.meta) for index in indexes]
    of_contig = np.repeat(np.arange(len(indexes), dtype=np.uint32), [len(own.names) for own in references])
    whole = Reference(
        [name for own in references for name in own.names],
        np.concatenate([own.lengths for own in references]),
        np.concatenate([own.md5 for own in references]),
        make_blocks(*map(np.concatenate, zip(*columns, strict=True))),
        n_text,
        Groups(stems_of([index.path for index in indexes], _SUFFIX), of_contig),
    )
    meta = {"n_text": n_text, "parts": [n for own in sizes for n in own]}
    return JoinedIndex(indexes[0].path, meta, whole, tuple(part for index in indexes for part in index.parts))


def _ahead(sizes):
    return np.cumsum(sizes) - sizes


def refuse_same_names(index) -> None:
    """Raise UnsupportedError if two indexes that were joined have a contig of the same name."""
    seen: dict = {}
    for name, group in zip(index.reference.names, index.reference.groups.of_contig, strict=True):
        if name in seen:
            groups = index.reference.groups.names
            raise UnsupportedError(
                f"contig {name} is in both {groups[seen[name]]} and {groups[group]}: index with "
                "--prefix-names, or search without hits, that is without -o, or count by group"
            )
        seen[name] = group
