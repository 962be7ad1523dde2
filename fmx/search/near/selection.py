"""Selection of near matches: which matches of a read are hits, and what differs in each.

Matches are sorted by mismatches, contig, position, strand (+ first). The first ``limit`` are reported; with a
seed, those of the stratum that is not reported whole are drawn by the seed and the read's name. None are
reported if there are more than ``at_most``.
"""

from typing import TYPE_CHECKING

import numpy as np

from ...compiler.functions import compiled, inlined
from ...compiler.primitives import prefetch
from ...compiler.sorting import N_DIGITS, ByDigits, sort, sort_keys
from ...index.reference import is_reverse
from ...input.sets import changes_at
from ..hits import draw, hash_name, lay_out
from .matches import KEY_BITS, NearHits, NearMatches, position_in

if TYPE_CHECKING:
    from ...input.reads import ReadBatch
    from ..hits import Hits, SelectionPolicy

_AHEAD = 32  # hits between a prefetch and the access


def exact(hits: "Hits") -> NearHits:
    """Return Hits without mismatches as NearHits."""
    return NearHits(*hits, np.zeros(hits.position.size, np.int64), hits.total << 2)


def filled(hits: NearHits, span: tuple[int, int], more: NearHits, reads: np.ndarray) -> NearHits:
    """Return the NearHits of reads ``span`` (from, to), with those of ``more`` for ``reads`` int64[n]."""
    n_most = hits.position.size + more.position.size
    first, (total, best) = (
        np.empty(span[1] - span[0] + 1, np.int64),
        np.empty((2, span[1] - span[0]), np.int64),
    )
    columns = (np.empty(n_most, array.dtype) for array in (hits.position, hits.reverse, hits.changes))
    position, reverse, changes = columns
    n = _merge(hits, span[0], more, reads, NearHits(first, position, reverse, total, changes, best))
    return NearHits(first, position[:n], reverse[:n], total, changes[:n], best)


@compiled
def _merge(hits, start, more, reads, both):
    """Fill ``both`` for reads from ``start`` on: from ``more`` for ``reads``, otherwise from ``hits``.

    ``reads`` are in order. Return the number of hits; there is room for more.
    """
    i, both.first[0] = 0, 0
    for r in range(both.total.size):
        if i < reads.size and reads[i] == start + r:
            _copy_hits(more, i, both, r)
            i += 1
        else:
            _copy_hits(hits, start + r, both, r)
    return both.first[both.total.size]


@inlined
def _copy_hits(hits, i, both, r):
    to = both.first[r]
    both.first[r + 1] = to + hits.first[i + 1] - hits.first[i]
    both.total[r], both.best[r] = hits.total[i], hits.best[i]
    for hit in range(hits.first[i], hits.first[i + 1]):
        both.position[to], both.reverse[to] = hits.position[hit], hits.reverse[hit]
        both.changes[to] = hits.changes[hit]
        to += 1


def rank(matches: NearMatches, strata: bool) -> tuple[np.ndarray, np.ndarray]:
    """Sort the matches of each read; return (total, best) of NearHits, int64[n_reads] both."""
    total, best = np.empty((2, matches.first.size - 1), np.int64)
    most = _most_of_a_read(matches)
    _rank(matches, strata, np.empty(most, np.int64), np.empty(N_DIGITS, np.int64), total, best)
    return total, best


def select(
    matches: NearMatches, ranks: tuple[np.ndarray, np.ndarray], batch: "ReadBatch", start: int,
    policy: "SelectionPolicy", best_first: bool = True,
) -> NearHits:  # fmt: skip
    """Return the NearHits of reads from ``start`` on in a batch, without changes; ``ranks`` from ``rank``."""
    (total, best), first = ranks, np.empty(ranks[0].size + 1, np.int64)
    n_hits, _ = lay_out(total, policy.at_most, policy.limit, first)
    position, changes = np.empty((2, n_hits), np.int64)
    hits = NearHits(first, position, np.empty(n_hits, np.bool_), total, changes, best)
    _choose(matches, batch, start, hits, policy.seed, best_first)
    return hits


@compiled
def _most_of_a_read(matches):
    """Return the largest number of matches of a read, or 1."""
    most = np.int64(1)
    for r in range(matches.first.size - 1):
        most = max(most, matches.first[r + 1] - matches.first[r])
    return most


@compiled
def _rank(matches, strata, spare, counts, total, best):
    """Sort the matches of each read. ``total``: their number, or with ``strata`` that of the best stratum.

    ``spare`` and ``counts``: as in ByDigits, for the most matches of a read.
    """
    for r in range(total.size):
        n, own = matches.first[r + 1] - matches.first[r], matches.keys[matches.first[r] :]
        best[r] = rank_matches(ByDigits(own, spare, counts), n)
        total[r] = best[r] >> 2 if strata else n


@inlined
def rank_matches(room, n):
    """Sort the n keys of a read's matches (``room``: as for sort_keys); return its ``best`` of NearHits."""
    sort_keys(room, n)
    return _stratum_end(room.keys, 0, n) << 2 | (room.keys[0] >> KEY_BITS if n else 0)


@inlined
def _stratum_end(keys, j, n):
    """Return the end of the matches with as many mismatches as match j."""
    end = j
    while end < n and keys[end] >> KEY_BITS == keys[j] >> KEY_BITS:
        end += 1
    return end


@compiled
def _choose(matches, batch, start, hits, seed, best_first):
    for r in range(hits.total.size):
        choose_matches(matches.keys[matches.first[r] :], batch, start, hits, r, seed, best_first)


@inlined
def choose_matches(keys, batch, start, hits, r, seed, best_first):
    """Fill in the hits of read start + r of the batch, except changes, by the sorted ``keys`` of its matches.

    The order of ``keys`` changes.
    """
    out, n, total = hits.first[r], hits.first[r + 1] - hits.first[r], hits.total[r]
    if seed >= 0 and 0 < n < total:
        begin, end = np.int64(0), _stratum_end(keys, 0, total)
        while end < n:
            begin, end = end, _stratum_end(keys, end, total)
        draw(keys[begin:], end - begin, n - begin, hash_name(batch, start + r, seed))
    if not best_first:
        for j in range(n):
            keys[j] &= (np.int64(1) << KEY_BITS) - 1
        sort(keys, n)
    for j in range(n):
        hits.position[out + j], hits.reverse[out + j] = position_in(keys[j]), is_reverse(keys[j])


@compiled
def note_totals(reads, hits, total, fewest):
    """Store the number of matches, and their fewest mismatches, of NearHits of ``reads`` int64[n]."""
    for i in range(reads.size):
        total[reads[i]], fewest[reads[i]] = hits.total[i], hits.best[i] & 3


@compiled
def count_reverse(matches, total, reverse):
    """Count in ``reverse`` how many of the first ``total`` int64[n_reads] matches of each read are on -."""
    for r in range(total.size):
        for j in range(matches.first[r], matches.first[r] + total[r]):
            reverse[r] += matches.keys[j] & 1


@compiled
def fill_changes(words, span, sets, first_pattern, most, hits):
    """Fill in the changes of hits in a part with packed ``words``, at ``span`` (start, stop) of the text.

    Read 0 of ``hits`` has pattern ``first_pattern``.
    """
    n_hits = hits.position.size
    for r in range(hits.total.size):
        for hit in range(hits.first[r], hits.first[r + 1]):
            ahead = hits.position[hit + _AHEAD] - span[0] if hit + _AHEAD < n_hits else np.int64(-1)
            if 0 <= ahead < span[1] - span[0]:
                prefetch(words, ahead >> 5)
            position = hits.position[hit] - span[0]
            if 0 <= position < span[1] - span[0]:
                i = first_pattern + 2 * r + hits.reverse[hit]
                hits.changes[hit] = changes_at(words, position, sets, i, most)
