"""Consistency of an index: all that is made of the text and its suffix array is made again, and compared.

Opening an index checks shapes and ranges (disk.py).  Here every row of a sampled suffix array is followed to
its position, and positions must be a permutation.  Whether the suffix array is sorted is not checked: the
builder of an index is trusted with that.
"""

import os
from typing import Any

import numpy as np

from ..compiler.functions import compiled
from ..input.dna import unpack_text
from ..machines.jobs import Cores
from ..machines.progress import Progress
from . import disk
from .build import add_arrays, add_sparse
from .contracts import goes_on, neighbour, position_of
from .disk import part_arrays, part_sizes, part_span
from .fm_index import load_layout, load_sa, reference_of
from .layouts import parse_name
from .plan import IndexOptions
from .positions import SampledSA, is_kept
from .reference import Reference, part_of
from .sparse import sparse_named

_UNKNOWN = 2**32 - 1


def check(path: str | os.PathLike, meta: dict, n_threads: int = 1) -> None:
    """Check every array of an index, and that the arrays agree with each other.  Raises IndexFileError."""
    arrays = disk.read_checked(path, meta, list(meta["arrays"]), n_threads, verify=True)
    reference = reference_of(path, meta, arrays)
    for number in range(len(part_sizes(meta))):
        of_part = {key: arrays[name] for key, name in part_arrays(meta, number).items()}
        part = part_of(reference, *part_span(meta, number))
        for wrong in _contradictions(meta, number, of_part, part, n_threads):
            raise disk.not_whole(path, f"not a valid index ({wrong})")


def _contradictions(meta: dict, number: int, arrays: dict, part: Reference, n_threads: int) -> list:
    wrong, cores, quiet = [], Cores(n_threads), Progress(quiet=True)
    n, words, blocks = part.n_text, arrays["text_words"], part.blocks

    def compare(name: str, array: Any, backend: Any = None) -> None:
        if not np.array_equal(array, arrays[name]):
            wrong.append(f"{name} does not match the text")

    if "sparse" in meta:
        add_sparse(compare, sparse_named(meta["sparse"]), words, part, n_threads, quiet)
    if not meta["layouts"]:
        return wrong
    sa, name = load_sa(meta, number, arrays), meta["layouts"][0]
    positions = sa.positions
    if isinstance(sa, SampledSA):
        positions, walk = np.full(n, _UNKNOWN, np.uint32), np.empty(sa.reach + 1, np.int64)
        if not _locate_all(load_layout(name, arrays), sa, walk, positions):
            return [f"rows of {name} do not lead to positions"]
    seen = np.zeros(n, np.bool_)
    seen[positions] = True
    if not seen.all():
        return ["its suffix array holds a position twice"]
    options = IndexOptions(
        [parse_name(name) for name in meta["layouts"]], meta["sa_rate"], meta["prefix_length"],
        with_lcp="lcp.rank" in arrays, seed_length=meta["seed_length"],
    )  # fmt: skip
    text = unpack_text(words, blocks.text_start + blocks.length, n, n_threads)
    add_arrays(cores, compare, text, positions, blocks.text_start, options, quiet)
    return wrong


@compiled
def _locate_all(layout, sa, walk, positions):
    """Write the position of every row; return False if a walk leaves rows or text, or does not end."""
    n = positions.size
    for first in range(n):
        row, n_steps, step = np.int64(first), 0, np.int64(0)
        while np.int64(positions[row]) == _UNKNOWN:
            if is_kept(sa, row):
                positions[row] = position_of(sa, layout, row)
            elif n_steps == walk.size or not goes_on(layout, row):
                return False
            else:
                walk[n_steps] = row
                n_steps += 1
                row, step = neighbour(layout, row)
                if row < 0 or row >= n:
                    return False
        position = np.int64(positions[row])
        for i in range(n_steps - 1, -1, -1):
            position -= step
            if position < 0 or position >= n:
                return False
            positions[walk[i]] = position
    return True
