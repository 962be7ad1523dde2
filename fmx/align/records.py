"""Alignments of a list of pairs, as arrays."""

from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from .band import DELETE, INSERT, MATCH, MISMATCH, align_pair
from .bounds import identity, most_gaps


class Records(NamedTuple):
    """One row a pair: ``query``, ``target`` int64 indices; ``h`` int64 (scoring.py); ``identity`` float64;
    ``length``, ``matches`` int64; path runs[first_run[r] : first_run[r + 1]], int64 length * 4 + operation,
    in order from the start."""

    query: np.ndarray
    target: np.ndarray
    h: np.ndarray
    identity: np.ndarray
    length: np.ndarray
    matches: np.ndarray
    first_run: np.ndarray
    runs: np.ndarray


def empty_records(n, n_runs):
    """Room for n pairs and n_runs runs."""
    return Records(
        *(np.empty(n, np.int64) for _ in range(3)),
        np.empty(n, np.float64),
        *(np.empty(n, np.int64) for _ in range(2)),
        np.zeros(n + 1, np.int64),
        np.empty(n_runs, np.int64),
    )


@inlined
def _measure(runs, n_runs, definition, m, n):
    """(identity, length, matches) of a path given last run first."""
    matches = mismatches = length = openings = terminal = 0
    for r in range(n_runs):
        operation, count = runs[r] & 3, runs[r] >> 2
        length += count
        if operation == MATCH:
            matches += count
        elif operation == MISMATCH:
            mismatches += count
        else:
            openings += 1
    for end in range(2):
        r = 0
        while r < n_runs:
            run = runs[n_runs - 1 - r] if end else runs[r]
            if run & 3 != INSERT and run & 3 != DELETE:
                break
            terminal += run >> 2
            r += 1
    if terminal > length:  # a path of gaps only was counted from both ends
        terminal = length
    return identity(definition, m, n, matches, mismatches, length, terminal, openings), length, matches


@compiled
def align_list(queries, targets, pairs, known, start, work, scoring, definition, p, records, n_records):
    """Align pairs from ``start`` on and keep those of identity >= p; stops early if ``records`` is full.

    ``pairs`` (query int64[n], target int64[n]); ``known`` (h, least): H of each pair from a score pass, or no
    row, and the least score worth a path; ``scoring`` (gains, diagonal, scores, divisor).  Returns
    (next pair, number of records).
    """
    gains, diagonal, scores, divisor = scoring
    for at in range(start, pairs[0].size):
        query, target = pairs[0][at], pairs[1][at]
        m = queries.starts[query + 1] - queries.starts[query]
        n = targets.starts[target + 1] - targets.starts[target]
        n_used = records.first_run[n_records]
        if n_records == records.h.size or records.runs.size - n_used < m + n + 1:
            return at, n_records
        least = known[1][at]
        score = known[0][at] * divisor + (m + n) * scores[2] if known[0].size else least
        if score < least:
            continue
        gaps = most_gaps(definition, p, m, n, score, scores)
        spare = (gaps - abs(m - n)) // 2 + 1
        low, high = min(0, m - n) - spare, max(0, m - n) + spare
        least_h = np.int64(np.ceil((least - (m + n) * scores[2]) / divisor))
        h, n_runs = align_pair(queries, query, targets, target, work, gains, diagonal, low, high, least_h)
        if h < least_h:
            continue
        value, length, matches = _measure(work.runs, n_runs, definition, m, n)
        if value < p:
            continue
        records.query[n_records], records.target[n_records] = query, target
        records.h[n_records], records.identity[n_records] = h, value
        records.length[n_records], records.matches[n_records] = length, matches
        for r in range(n_runs):
            records.runs[n_used + r] = work.runs[n_runs - 1 - r]
        n_records += 1
        records.first_run[n_records] = n_used + n_runs
    return pairs[0].size, n_records
