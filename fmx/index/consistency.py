"""Consistency checks between the arrays of an index, which take too long for every open.

Opening checks shapes and ranges (disk.py).  Here the counts of layouts are recounted, every row of a sampled
suffix array is followed to its position, and positions must be a permutation.  Whether the suffix array is
sorted, and belongs to the text, is not checked: the builder of an index is trusted with that.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..compiler.functions import compiled
from ..machines.jobs import run_all, spans
from . import disk
from .bwt import LARGE
from .contracts import first_wrong, goes_on, neighbour, position_of, units
from .disk import part_arrays, part_sizes, part_span
from .fm_index import lcp_of, load_layout, load_sa, reference_of
from .layouts import parse_name
from .positions import FullSA, SampledSA, is_kept, marks_hold
from .reference import Reference, part_of
from .sparse import sparse_named
from .sparse_build import build_sparse

_UNKNOWN = 2**32 - 1
_STRETCH = 1 << 20  # rows checked together


def verify(path: str | os.PathLike, meta: dict, n_threads: int = 1) -> None:
    """Check every array of an index, and that they agree with each other.  Raises IndexFileError."""
    arrays = disk.read_checked(path, meta, list(meta["arrays"]), n_threads, verify=True)
    reference = reference_of(path, meta, arrays)
    for number in range(len(part_sizes(meta))):
        of_part = {key: arrays[name] for key, name in part_arrays(meta, number).items()}
        part = part_of(reference, *part_span(meta, number))
        for wrong in _contradictions(meta, number, of_part, part, n_threads):
            raise disk.not_whole(path, f"not a valid index ({wrong})")


def _contradictions(meta: dict, number: int, arrays: dict, part: Reference, n_threads: int) -> Iterator[str]:
    sparse, layouts = meta.get("sparse"), {name: load_layout(name, arrays) for name in meta["layouts"]}
    n = part.n_text
    if sparse:
        rows, starts, *_ = build_sparse(arrays["text_words"], part.blocks, n, sparse_named(sparse), n_threads)
        stored = sparse_named(sparse).table(arrays)
        if not (np.array_equal(rows, stored.rows) and np.array_equal(starts, stored.starts)):
            yield f"{sparse} does not match its text"
    if not layouts:
        return
    sa = load_sa(meta, number, arrays)
    if isinstance(sa, SampledSA) and not marks_hold(sa):
        yield "its marks and kept positions differ in number"
        return
    if isinstance(sa, FullSA) and not _is_permutation(sa.positions):
        yield "its suffix array holds a position twice"
    for name, layout in layouts.items():
        if not _counts_hold(layout, parse_name(name).d or 1, n, n_threads):
            yield f"{name} contradicts itself"
        elif isinstance(sa, SampledSA):
            positions, walk = np.full(n, _UNKNOWN, np.uint32), np.empty(sa.reach + 1, np.int64)
            if not (_locate_all(layout, sa, walk, positions) and _is_permutation(positions)):
                yield f"rows of {name} do not lead to positions"
    if "lcp.rank" in arrays:
        (small, rows, values), rank = lcp_of(arrays)
        holds = np.array_equal(np.flatnonzero(small == LARGE), rows) and bool((values >= LARGE).all())
        for i in range(0, n if holds else 0, _STRETCH):
            some = rank[sa.positions[i : i + _STRETCH]]
            holds = holds and np.array_equal(some, np.arange(i, i + some.size))
        if not holds:
            yield "its LCP and rank arrays do not match its suffix array"


def _is_permutation(positions: np.ndarray) -> bool:
    seen = np.zeros(positions.size, np.bool_)
    for i in range(0, positions.size, _STRETCH):
        seen[positions[i : i + _STRETCH]] = True
    return bool(seen.all())


def _counts_hold(layout: Any, d: int, n: int, n_threads: int) -> bool:
    """Return whether each column begins where the one before ends, and every row is counted once."""
    if units(layout) == 0:
        columns = spans(4**layout.k, n_threads)
        return all(
            run_all(_agree, [(layout, d, *span, np.empty((2, 0), np.int64)) for span in columns], n_threads)
        )
    cuts = spans(n, n_threads, d)
    counts = [np.empty((2, 4**layout.k), np.int64) for _ in cuts]
    work = [(layout, d, *span, of_span) for span, of_span in zip(cuts, counts, strict=True)]
    if not all(run_all(_agree, work, n_threads)):
        return False
    first, last = counts[0][0], counts[-1][1]
    return first[0] >= 0 and last[-1] <= n and bool((last[:-1] <= first[1:]).all())


@compiled
def _agree(layout, d, start, stop, counts):
    return first_wrong(layout, d, start, stop, counts) < 0


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
