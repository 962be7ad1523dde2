"""Matches -> hits: which near matches of a read are reported, and what is changed in each.

The rule: matches are ordered by mismatches, contig, position, strand (+ first); of these the first ``limit``,
or drawn by a seed and the read's name among those of the stratum that is not reported whole; none if there
are more than ``at_most``.
"""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.sorting import sort
from ..input.sets import changes_at, changes_of, n_changes, peers_of
from .candidates import KEY_BITS, position_in
from .hits import draw, hash_name


class NearHits(NamedTuple):
    """Hits (hits.py) with ``changes`` int64[n_hits] of each (input/sets.py).

    ``best`` int64[n_reads]: how many matches of a read have the fewest mismatches, times 4, and these.
    """

    first: np.ndarray
    position: np.ndarray
    reverse: np.ndarray
    total: np.ndarray
    changes: np.ndarray
    best: np.ndarray


class Matches(NamedTuple):
    """Those of read r: ``keys`` int64 (candidates.py) from ``first[r]`` to ``first[r + 1]``."""

    first: np.ndarray
    keys: np.ndarray


@changes_of.register(NearHits)
def _changes_of(hits, hit):
    return hits.changes[hit]


@peers_of.register(NearHits)
def _peers_of(hits, i, hit):
    best = hits.best[i]
    return best >> 2 if n_changes(hits.changes[hit]) == best & 3 else np.int64(0)


def matches_of(found, n_reads) -> Matches:
    """The matches of n_reads by what each part has: (read, key), int64 both, by read."""
    read, key = (np.concatenate(columns) for columns in zip(*found, strict=True))
    if len(found) > 1:
        order = np.argsort(read, kind="stable")
        read, key = read[order], key[order]
    first = np.append(0, np.cumsum(np.bincount(read, minlength=n_reads)))
    return Matches(first, key)


def select(matches, batch, start, policy, near) -> NearHits:
    """The hits of reads start, start + 1, ... of a batch, whose changes are not known yet (fill_changes).

    ``near`` a mapper.Near.
    """
    n = matches.first.size - 1
    total, best = np.empty(n, np.int64), np.empty(n, np.int64)
    _rank(matches, near.strata, total, best)
    first = np.append(0, np.cumsum(policy.reported(total)))
    hits = NearHits(
        first,
        np.empty(first[-1], np.int64),
        np.empty(first[-1], np.bool_),
        total,
        np.empty(first[-1], np.int64),
        best,
    )
    _choose(matches, batch, start, hits, policy.seed, near.best_first)
    return hits


@compiled
def _rank(matches, strata, total, best):
    """Sort the matches of each read; ``total``: how many there are, or, with ``strata``, of the best."""
    for r in range(total.size):
        n, own = matches.first[r + 1] - matches.first[r], matches.keys[matches.first[r] :]
        sort(own, n)
        n_best = _stratum_end(own, 0, n)
        total[r] = n_best if strata else n
        best[r] = n_best << 2 | (own[0] >> KEY_BITS if n else 0)


@inlined
def _stratum_end(keys, j, n):
    """The end of the matches with as many mismatches as number j has."""
    end = j
    while end < n and keys[end] >> KEY_BITS == keys[j] >> KEY_BITS:
        end += 1
    return end


@compiled
def _choose(matches, batch, start, hits, seed, best_first):
    for r in range(hits.total.size):
        out, n = hits.first[r], hits.first[r + 1] - hits.first[r]
        own, total = matches.keys[matches.first[r] :], hits.total[r]
        if seed >= 0 and 0 < n < total:
            begin, end = np.int64(0), _stratum_end(own, 0, total)
            while end < n:
                begin, end = end, _stratum_end(own, end, total)
            draw(own[begin:], end - begin, n - begin, hash_name(batch, start + r, seed))
        if not best_first:
            for j in range(n):
                own[j] &= (np.int64(1) << KEY_BITS) - 1
            sort(own, n)
        for j in range(n):
            hits.position[out + j], hits.reverse[out + j] = position_in(own[j]), own[j] & 1


@compiled
def count_reverse(matches, total, reverse):
    """How many of the first ``total`` int64[n_reads] Matches of each read are on -, into ``reverse``."""
    for r in range(total.size):
        for j in range(matches.first[r], matches.first[r] + total[r]):
            reverse[r] += matches.keys[j] & 1


@compiled
def fill_changes(words, span, sets, first_pattern, most, hits):
    """The changes of the hits in a part with packed ``words``, of the text's ``span`` (start, stop).

    Read 0 of ``hits`` has pattern ``first_pattern``.
    """
    for r in range(hits.total.size):
        for hit in range(hits.first[r], hits.first[r + 1]):
            position = hits.position[hit] - span[0]
            if 0 <= position < span[1] - span[0]:
                i = first_pattern + 2 * r + hits.reverse[hit]
                hits.changes[hit] = changes_at(words, position, sets, i, most)
