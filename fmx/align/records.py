"""Alignments of a list of pairs, as arrays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from .band import DELETE, INSERT, MATCH, MISMATCH, align_pair
from .bounds import AlignmentCounts, identity, most_gaps
from .sequences import extent


class Records(NamedTuple):
    """Alignments of pairs, one row per pair.

    ``query``, ``target`` int64: indices. ``h`` int64 (sequences.py). ``identity`` float64. ``length``,
    ``matches`` int64. The path of row r is runs[first_run[r] : first_run[r + 1]], int64 length * 4 +
    operation, from the start.
    """

    query: np.ndarray
    target: np.ndarray
    h: np.ndarray
    identity: np.ndarray
    length: np.ndarray
    matches: np.ndarray
    first_run: np.ndarray
    runs: np.ndarray


def empty_records(n: int, n_runs: int) -> Records:
    """Return room for n pairs and n_runs runs."""
    dtypes = (*[np.int64] * 3, np.float64, *[np.int64] * 2)
    columns = (np.empty(n, dtype) for dtype in dtypes)
    return Records(*columns, np.zeros(n + 1, np.int64), np.empty(n_runs, np.int64))  # type: ignore[call-arg]


def first_of(records: Records, n: int) -> Records:
    """Return a copy of the first n records, so that the rest of the arrays is freed."""
    columns = [column[:n].copy() for column in records[:6]]
    runs = records.runs[: records.first_run[n]].copy()
    return Records._make([*columns, records.first_run[: n + 1].copy(), runs])


def joined(parts: Sequence[Records]) -> Records:
    """Return the records of all parts, one after the other."""
    *columns, _, runs = (np.concatenate(column) for column in zip(*parts, strict=True))
    n_runs = np.concatenate([np.diff(part.first_run) for part in parts])
    return Records._make([*columns, np.append(0, np.cumsum(n_runs)), runs])


def by_pair(records: Records) -> Records:
    """Return the records sorted by pair."""
    order, n_runs = np.lexsort((records.target, records.query)), np.diff(records.first_run)
    begins = np.repeat(records.first_run[:-1][order], n_runs[order])
    first_run = np.append(0, np.cumsum(n_runs[order]))
    pick = begins + np.arange(begins.size) - np.repeat(first_run[:-1], n_runs[order])
    return Records._make([*(column[order] for column in records[:6]), first_run, records.runs[pick]])


@inlined
def _measure(task, runs, n_runs, m, n):
    """Return (identity, length, matches) of a path, last run first, of sequences of lengths m and n."""
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
    terminal = min(terminal, length)  # a path with gaps only was counted from both ends
    counts = AlignmentCounts(matches, mismatches, length, terminal, openings)
    return identity(task.definition, m, n, counts), length, matches


@compiled
def align_list(task, pairs, known, start, work, records):
    """Align pairs of a Task from ``start`` on and keep those with its identity.

    Stops early if ``records``, empty at first, is full. ``known`` (h, least), int64: H of each pair from a
    score pass, or empty, and the least score that needs a path. ``work``: band.Work. Return (next pair,
    number of records).
    """
    (h_known, least), (_, _, gap), n_records = known, task.weights.scores, 0
    for at in range(start, pairs.query.size):
        query, target = pairs.query[at], pairs.target[at]
        m, n = extent(task.queries, query)[1], extent(task.targets, target)[1]
        n_used = records.first_run[n_records]
        if n_records == records.h.size or records.runs.size - n_used < m + n + 1:
            return at, n_records
        score = h_known[at] * task.weights.divisor + (m + n) * gap if h_known.size else least[at]
        if score < least[at]:
            continue
        gaps = most_gaps(task.definition, task.identity, m, n, score, task.weights.scores)
        spare = (gaps - abs(m - n)) // 2 + 1
        low, high = min(0, m - n) - spare, max(0, m - n) + spare
        least_h = np.int64(np.ceil((least[at] - (m + n) * gap) / task.weights.divisor))
        h, n_runs = align_pair(task, query, target, work, low, high, least_h)
        if h < least_h:
            continue
        value, length, matches = _measure(task, work.runs, n_runs, m, n)
        if value < task.identity:
            continue
        records.query[n_records], records.target[n_records] = query, target
        records.h[n_records], records.identity[n_records] = h, value
        records.length[n_records], records.matches[n_records] = length, matches
        for r in range(n_runs):
            records.runs[n_used + r] = work.runs[n_runs - 1 - r]
        n_records += 1
        records.first_run[n_records] = n_used + n_runs
    return pairs.query.size, n_records


# Records as an array; output/ writes them as text.

PAIR = np.dtype(
    [("query", "i8"), ("target", "i8"), ("score", "i8"), ("identity", "f8"), ("length", "i8"),
     ("matches", "i8")]
)  # fmt: skip


def as_rows(records: Records, scores: np.ndarray) -> np.ndarray:
    """Return Records and their ``scores`` int64[n] as an array of PAIR."""
    rows = np.empty(records.h.size, PAIR)
    rows["query"], rows["target"], rows["identity"] = records.query, records.target, records.identity
    rows["score"], rows["length"], rows["matches"] = scores, records.length, records.matches
    return rows
