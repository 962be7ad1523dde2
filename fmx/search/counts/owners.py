"""Owners: the contigs or groups that reads are counted for, and the positions of reads, one run at a time.

Patterns with many occurrences are short, so few of them differ: reads that occur at the same rows are located
once. A part of the text that has a single owner is not located at all.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compiler.functions import compiled
from ...index.arrays import part_span
from ...index.reference import Blocks, blocks_by_group, groups_of
from ...machines.jobs import cuts, runs
from ..hits import text_position

if TYPE_CHECKING:
    from ...index.fm_index import FMIndex, JoinedIndex
    from ..hits import Candidates, Intervals

N_LOCATED = 1 << 17  # positions located at a time
_MANY = 64  # number of occurrences from which equal reads are looked for
_NOWHERE = np.empty(0, np.int64)


class Owners(NamedTuple):
    """Contigs or groups.

    ``names``; ``lengths`` int64[n]: bases. ``blocks``: Blocks, with numbers of owners instead of contigs.
    ``of_part`` int64[n_parts]: the owner of a whole part of the text, or -1. ``of_contig`` int64[n_contigs].
    """

    names: Sequence[str]
    lengths: np.ndarray
    blocks: Blocks
    of_part: np.ndarray
    of_contig: np.ndarray


def owners_of(index: "FMIndex | JoinedIndex", by_group: bool = False) -> Owners:
    """Return the contigs of an FMIndex or JoinedIndex, or its groups.

    Raises UnsupportedError if there are no groups.
    """
    reference = index.reference
    blocks, names, lengths = reference.blocks, reference.names, reference.lengths
    of_contig = np.arange(len(names))
    if by_group:
        groups = groups_of(index)
        names, lengths = groups.names, np.zeros(len(groups.names), np.int64)
        of_contig = np.asarray(groups.of_contig, np.int64)
        np.add.at(lengths, of_contig, reference.lengths)
        blocks = blocks_by_group(reference)
    of_part = np.full(len(index.parts), -1, np.int64)
    for number in range(of_part.size):
        own = blocks.contig[slice(*np.searchsorted(blocks.text_start, part_span(index.meta, number)))]
        of_part[number] = own[0] if (own == own[0]).all() else -1
    return Owners(names, lengths, blocks, of_part, of_contig)


class Counted(NamedTuple):
    """Reads to be counted: ``weight`` reads have the same occurrences, ``total`` of them; int64[n]."""

    weight: np.ndarray
    total: np.ndarray


class Placed(NamedTuple):
    """Occurrences of a run of reads, from read ``first`` on.

    ``size`` int64[n_parts, 2 * n_reads]: number of occurrences per part, forward and reverse. ``of_part``: as
    in Owners; where it is -1, ``positions`` int64 has those in the part from ``begins`` int64[n_parts] on, by
    read.
    """

    first: int
    size: np.ndarray
    of_part: np.ndarray
    begins: np.ndarray
    positions: np.ndarray


def _placed(first: int, size: np.ndarray, of_part: np.ndarray, positions: np.ndarray) -> Placed:
    n = size.sum(axis=1) * (of_part < 0)
    begins = np.cumsum(n) - n
    return Placed(first, np.ascontiguousarray(size), of_part, begins, positions)


def placed(
    owners: Owners,
    locators: Sequence,
    intervals: tuple[np.ndarray, np.ndarray],
    n_located: int = N_LOCATED,
) -> Iterator[Placed]:
    """Yield Placed for runs of reads with ``intervals`` (lo, hi) int64[n_parts, 2 * n_reads].

    Each has at most ``n_located`` positions; a read with more is split into ranges of one part at a time.
    """
    lo, size = intervals[0], intervals[1] - intervals[0]
    of_part, to_locate = owners.of_part, np.flatnonzero(owners.of_part < 0).tolist()
    of_strands = sum((size[number] for number in to_locate), np.zeros(size.shape[1], np.int64))
    of_reads = of_strands[::2] + of_strands[1::2]
    for a, b in runs(of_reads, n_located):
        own = slice(2 * a, 2 * b)
        if of_reads[a:b].sum() <= n_located:
            found = [_NOWHERE]
            for number in to_locate:
                found.append(locators[number].locate(lo[number, own], size[number, own]))
            yield _placed(a, size[:, own], of_part, np.concatenate(found) if found[2:] else found[-1])
            continue
        for part, owner in enumerate(of_part):
            here, begin = of_part[part : part + 1], lo[part, own]
            if owner >= 0:
                yield _placed(a, size[part : part + 1, own], here, _NOWHERE)
                continue
            for i, start, stop in cuts(size[part, own], n_located):
                n = np.zeros((1, 2), np.int64)
                n[0, i : i + start.size] = stop - start
                positions = locators[part].locate(begin[i : i + start.size] + start, stop - start)
                yield _placed(a, n, here, positions)


def placed_matches(matches: "Candidates", n: np.ndarray) -> Placed:
    """Return the first ``n[r]`` Candidates of each read r as Placed; ``n`` int64[n_reads]."""
    positions, size = np.empty(n.sum(), np.int64), np.zeros((n.size, 2), np.int64)
    _positions_of(matches, n, positions)
    size[:, 0] = n
    return _placed(0, size.reshape(1, -1), np.full(1, -1, np.int64), positions)


def distinct(intervals: "Intervals", eligible: np.ndarray, weight: np.ndarray) -> tuple:
    """Return ((lo, hi), Counted): distinct intervals, int64[n_parts, 2 * n], and how many reads have each.

    ``intervals``: Intervals [n_parts, 2 * n_reads] of reads with ``eligible`` int64[n_reads] occurrences;
    ``weight`` int64[n_reads]: number of copies of each read.
    """
    many = np.flatnonzero(eligible >= _MANY)
    columns = [row.reshape(-1, 2)[many] for array in intervals for row in array]
    rows, which = np.unique(np.concatenate(columns, axis=1), axis=0, return_inverse=True)
    n_few, n_parts = np.count_nonzero(eligible) - many.size, len(intervals.lo)
    bounds = np.empty((2, n_parts, 2 * (n_few + len(rows))), np.int64)
    reads = Counted(*(np.zeros(n_few + len(rows), np.int64) for _ in Counted._fields))
    _gather(intervals, eligible, weight, bounds, reads)
    bounds[:, :, 2 * n_few :] = rows.reshape(-1, 2, n_parts, 2).transpose(1, 2, 0, 3).reshape(2, n_parts, -1)
    np.add.at(reads.weight[n_few:], which.ravel(), weight[many])
    reads.total[n_few + which.ravel()] = eligible[many]
    return (bounds[0], bounds[1]), reads


@compiled
def _gather(intervals, eligible, weight, bounds, reads):
    """Fill in the intervals of reads with fewer than _MANY occurrences, one after the other."""
    n = 0
    for r in range(eligible.size):
        if 0 < eligible[r] < _MANY:
            reads.weight[n], reads.total[n] = weight[r], eligible[r]
            for part in range(bounds.shape[1]):
                for i in range(2):
                    bounds[0, part, 2 * n + i] = intervals.lo[part, 2 * r + i]
                    bounds[1, part, 2 * n + i] = intervals.hi[part, 2 * r + i]
            n += 1


@compiled
def _positions_of(matches, n, positions):
    """Write the positions of the first n[r] matches of each read, one after the other."""
    k = 0
    for r in range(n.size):
        for j in range(matches.first[r], matches.first[r] + n[r]):
            positions[k] = text_position(matches.keys[j])
            k += 1
