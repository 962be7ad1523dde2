"""Alignment jobs: what is aligned, in chunks, and the steps from a chunk of pairs to records.

output/lines.py reads the columns of Records by their names.

chunk (some queries x all targets, or with ``half`` the later ones)
  1 close      lengths and q-grams: which pairs can reach the identity           bounds.py
  2 plan       the score each must have, and how wide a band that leaves          bounds.py
  3 score      H of the pairs whose band is wide; the others skip this            _score_lanes or gpu.py
  4 align      band and path of those whose score suffices; identity decides      band.py
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled, inlined
from ..compiler.simd import LANES, load, maximum, minus, store
from .band import DELETE, INSERT, MATCH, MISMATCH, Work, align_pair, make_work
from .bounds import (
    BLOCK,
    AlignmentCounts,
    Q,
    count_grams,
    distance,
    identity,
    least_score,
    most_differing_grams,
    most_gaps,
)
from .sequences import Scoring, Sequences, Weights, extent

_N_CHUNKS = 64  # at least, if there are enough pairs, so that workers share evenly
_CLOSE_PAIRS, _ALL_PAIRS = 1 << 20, 1 << 14  # most pairs of a chunk, with and without the filter
_CELLS = 1 << 36  # most matrix cells of a chunk (unless one query has more)


class PairList(NamedTuple):
    """Pairs of indices, int64[n] each, ordered by query, then target."""

    query: np.ndarray
    target: np.ndarray


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


class Task(NamedTuple):
    """An AlignmentJob for compiled code.

    ``grams_query``, ``grams_target``: counts of q-grams (bounds.py), flat uint8; empty if not used.
    """

    queries: Sequences
    targets: Sequences
    half: bool
    diagonal: bool
    definition: int
    identity: float
    weights: Weights
    grams_query: np.ndarray
    grams_target: np.ndarray


@inlined
def _first_target(job, query):
    """Return the first target of a query, of an AlignmentJob or a Task."""
    return query + (0 if job.diagonal else 1) if job.half else 0


@dataclass(frozen=True)
class AlignmentJob:
    """What is aligned.

    ``half``: all pairs i < j of one set (``targets`` is ``queries``), with ``diagonal`` also i = j.
    ``identity`` p keeps pairs at or above it, by ``definition`` 0 to 4 (bounds.identity). ``paths`` False:
    only scores are needed. ``prefilter`` False: score every pair.
    """

    queries: Sequences
    targets: Sequences
    half: bool
    scoring: Scoring = field(default_factory=Scoring)
    definition: int = 1
    identity: float = 0.0
    diagonal: bool = False
    paths: bool = True
    prefilter: bool = True

    def n_pairs(self, first: int, last: int) -> int:
        """Return the number of pairs of queries first to last - 1."""
        n_queries, firsts = last - first, _first_target(self, first) + _first_target(self, last - 1)
        return n_queries * self.targets.n - firsts * n_queries // 2

    @property
    def filtered(self) -> bool:
        """Whether pairs may be excluded before they are scored."""
        return self.prefilter and self.paths and self.identity > 0

    @cached_property
    def task(self) -> Task:
        """This job for compiled code; the first call counts the q-grams."""
        queries = targets = np.empty(0, np.uint8)
        if self.filtered:
            queries = count_grams(self.queries)
            targets = queries if self.half else count_grams(self.targets)
        return Task(
            self.queries, self.targets, self.half, self.diagonal, self.definition, float(self.identity),
            self.scoring.weights, queries, targets,
        )  # fmt: skip

    def totals(self, pairs: PairList | Records, h: np.ndarray) -> np.ndarray:
        """Return scores, int64[n], of pairs whose H is known."""
        letters = self.queries.lengths()[pairs.query] + self.targets.lengths()[pairs.target]
        return self.scoring.score(h, letters)

    @cached_property
    def _place(self) -> np.ndarray:
        """The rank of each target by length, int64[n_targets]."""
        return np.argsort(np.argsort(self.targets.lengths()))

    def order(self, pairs: PairList) -> np.ndarray:
        """Return the order of pairs by query, then by target length, so that neighbours take equally long."""
        return np.argsort(pairs.query * self._place.size + self._place[pairs.target])


def cut(job: AlignmentJob) -> list:
    """Return the chunks of a job, as (first query, last query + 1); they do not depend on the machine."""
    n_queries, n_letters = job.queries.n, int(job.targets.starts[-1])
    lengths = job.queries.lengths().tolist()
    goal = -(-job.n_pairs(0, n_queries) // _N_CHUNKS)
    goal = max(64, min(goal, _CLOSE_PAIRS if job.filtered else _ALL_PAIRS))
    chunks, first, pairs, cells = [], 0, 0, 0
    for query in range(n_queries):
        pairs += job.n_pairs(query, query + 1)
        cells += lengths[query] * n_letters
        if pairs >= goal or cells >= _CELLS or query == n_queries - 1:
            chunks.append((first, query + 1))
            first, pairs, cells = query + 1, 0, 0
    return chunks


# The steps, and a CPU thread that does them.


_DIRECT_BLOCKS = 4  # a band of up to 128 rows is aligned without a score pass
_FOREVER = 1 << 62  # a score that no pair reaches
UNKNOWN = -1  # instead of H
_AT_A_TIME = 4096  # pairs whose records are allocated together


@compiled
def _close_pairs(task, first, last, out):
    """Write the pairs of queries first to last - 1 that can reach the identity to ``out``, a PairList.

    Return their number. Targets come in blocks whose counts of q-grams stay in the cache.
    """
    n_out, n_targets, filtered = 0, task.targets.starts.size - 1, task.grams_query.size > 0
    for block in range(0, n_targets, BLOCK):
        for query in range(first, last):
            m = extent(task.queries, query)[1]
            for target in range(max(block, _first_target(task, query)), min(block + BLOCK, n_targets)):
                n = extent(task.targets, target)[1]
                if filtered:
                    most = most_differing_grams(task.definition, task.identity, m, n, Q)
                    if most < 0:
                        continue
                    if distance(task.grams_query, task.grams_target, query, target) > most:
                        continue
                out.query[n_out], out.target[n_out] = query, target
                n_out += 1
    return n_out


def select(job: "AlignmentJob", chunk: tuple[int, int]) -> PairList:
    """Step 1: return the pairs of a chunk, without those that cannot reach the identity."""
    n = job.n_pairs(*chunk)
    query, target = pairs = PairList(np.empty(n, np.int64), np.empty(n, np.int64))
    n = _close_pairs(job.task, *chunk, pairs)
    order = np.lexsort((target[:n], query[:n]))
    return PairList(query[order], target[order])


@compiled
def _plan(task, pairs, least, blocks):
    """Step 2: fill ``least`` and ``blocks``, int64[n], the results of ``plan``."""
    scores = task.weights.scores
    for k in range(pairs.query.size):
        m, n = extent(task.queries, pairs.query[k])[1], extent(task.targets, pairs.target[k])[1]
        reachable, least[k] = least_score(task.definition, task.identity, m, n, scores)
        blocks[k] = 0
        if not reachable:
            least[k] = _FOREVER
        elif m > 0 and n > 0:
            gaps = most_gaps(task.definition, task.identity, m, n, least[k], scores)
            blocks[k] = (gaps // 2 + 64) // 32


def plan(job: "AlignmentJob", pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
    """Return (least score, blocks of 32 rows in the band), int64[n] each."""
    least, blocks = np.empty(pairs.query.size, np.int64), np.empty(pairs.query.size, np.int64)
    _plan(job.task, pairs, least, blocks)
    return least, blocks


class Worker:
    """Scratch of one CPU thread, and the steps that it does; ``work`` is that of paths, made when needed."""

    def __init__(self, job: "AlignmentJob", work: Work | None = None) -> None:
        self.job, self._task, self._work = job, job.task, work
        self._longest = job.queries.longest, job.targets.longest
        sizes = self._longest[0] + 4, _SLICE, _N_CODES * _SLICE
        self._lanes = Lanes(*(np.empty(n * LANES, job.scoring.dtype) for n in sizes))

    def chunk(self, chunk: tuple[int, int]) -> "Records | np.ndarray":
        """Do all steps of a chunk: return Records, or without ``paths`` scores in the order of its pairs."""
        pairs = select(self.job, chunk)
        if not self.job.paths:
            return self.job.totals(pairs, self.score(pairs))
        least, blocks = plan(self.job, pairs)
        h, wide = np.full(least.size, UNKNOWN), blocks > _DIRECT_BLOCKS
        if wide.any():
            h[wide] = self.score(PairList(pairs.query[wide], pairs.target[wide]))
        return self.align(pairs, least, h)

    def score(self, pairs: PairList) -> np.ndarray:
        """Step 3: return H of each pair, int64[n]."""
        h, order = np.empty((2, pairs.query.size), np.int64), self.job.order(pairs)
        _score_lanes(self._task, PairList(pairs.query[order], pairs.target[order]), self._lanes, h[0])
        h[1, order] = h[0]
        return h[1]

    def align(self, pairs: PairList, least: np.ndarray, h: np.ndarray) -> "Records":
        """Step 4: return Records of the pairs with identity >= p.

        ``h`` int64[n]: H or UNKNOWN. Only pairs whose score may be at least ``least``, int64[n], are aligned.
        """
        if self._work is None:
            self._work = make_work(*self._longest, self.job.scoring.dtype)
        start, parts = 0, []  # type: ignore[var-annotated]
        while start < pairs.query.size or not parts:
            n = min(pairs.query.size - start, _AT_A_TIME)
            columns = [np.empty(n, dtype) for dtype in (*[np.int64] * 3, np.float64, *[np.int64] * 2)]
            n_runs = sum(self._longest) + 1 + 256 * n  # enough for any one pair
            columns += [np.zeros(n + 1, np.int64), np.empty(n_runs, np.int64)]
            start, n = _align_list(self._task, pairs, (h, least), start, self._work, Records._make(columns))
            ends = *[n] * 6, n + 1, columns[6][n]
            part = (column[:end].copy() for column, end in zip(columns, ends, strict=True))
            parts.append(Records._make(part))
        return _joined(parts)


# Scores of one sequence (the query) against many, 32 at a time, one pair per lane.
#
# The matrix of differences of H (sequences.py) is computed in slices of _SLICE columns, like LazyRScan-mNW of
# Truong et al. 2014. A slice keeps its bottom row ``across`` (difference from the left neighbour) and passes
# only its last column ``down`` (difference from the neighbour above) to the next slice.
#
#     columns      0 .. 31 | 32 .. 63 |         arrays, lane last (32 bytes per cell)
#     row i        . . . . down[i] . .          down     rows x 32
#     row i + 1    . . . . down[i+1] .          across   _SLICE x 32
#     last row     across                       profile  5 letters x _SLICE x 32: gain of letter and column
#
# With t = max(gain, left, above) a cell passes on  across' = t - left,  down' = t - above. The sum of
# ``across`` along the last row up to a lane's own length is H, so lanes of unequal length need no padding
# value.

_SLICE = 32
_N_CODES = 5


class Lanes(NamedTuple):
    """Scratch of one thread: flat arrays of Scoring.dtype, lane last, as in the picture above."""

    down: np.ndarray
    across: np.ndarray
    profile: np.ndarray


@inlined
def _fill_profile(targets, chosen, column, gains, profile):
    """Write the gain of each code against _SLICE columns of the ``chosen`` targets, one per lane."""
    profile[:] = gains[1]
    for lane in range(chosen.size):
        start, length = extent(targets, chosen[lane])
        for j in range(min(_SLICE, length - column)):
            code = targets.codes[start + column + j]
            if code < 4:
                profile[(np.intp(code) * _SLICE + j) * LANES + lane] = gains[0]


@inlined
def _cell(gain, left, above):
    best = maximum(maximum(gain, above), left)
    return minus(best, left), minus(best, above)


@inlined
def _run_slice(codes, down, across, profile):
    """Compute all rows of one slice, four at a time: their cells stay in registers, column by column."""
    across[:] = 0
    n, i = codes.size, 0
    while i + 3 < n:
        p0, p1 = np.intp(codes[i]) * _SLICE * LANES, np.intp(codes[i + 1]) * _SLICE * LANES
        p2, p3 = np.intp(codes[i + 2]) * _SLICE * LANES, np.intp(codes[i + 3]) * _SLICE * LANES
        d0, d1 = load(down, i * LANES), load(down, (i + 1) * LANES)
        d2, d3 = load(down, (i + 2) * LANES), load(down, (i + 3) * LANES)
        for j in range(_SLICE):
            o = j * LANES
            x = load(across, o)
            x, d0 = _cell(load(profile, p0 + o), d0, x)
            x, d1 = _cell(load(profile, p1 + o), d1, x)
            x, d2 = _cell(load(profile, p2 + o), d2, x)
            x, d3 = _cell(load(profile, p3 + o), d3, x)
            store(across, o, x)
        store(down, i * LANES, d0)
        store(down, (i + 1) * LANES, d1)
        store(down, (i + 2) * LANES, d2)
        store(down, (i + 3) * LANES, d3)
        i += 4
    while i < n:
        p0, d0 = np.intp(codes[i]) * _SLICE * LANES, load(down, i * LANES)
        for j in range(_SLICE):
            o = j * LANES
            x, d0 = _cell(load(profile, p0 + o), d0, load(across, o))
            store(across, o, x)
        store(down, i * LANES, d0)
        i += 1


@compiled
def _score_lanes(task, pairs, work, out):
    """Write H of each pair of a Task to ``out`` int64[n]; ``pairs`` in the order of AlignmentJob.order."""
    begin, n = 0, pairs.query.size
    while begin < n:
        query, end = pairs.query[begin], begin + 1
        while end < min(begin + LANES, n) and pairs.query[end] == query:
            end += 1
        chosen, h = pairs.target[begin:end], out[begin:end]  # at most one target per lane
        start, m = extent(task.queries, query)
        codes, longest = task.queries.codes[start : start + m], 0
        for lane in range(chosen.size):
            h[lane] = 0
            longest = max(longest, extent(task.targets, chosen[lane])[1])
        work.down[: m * LANES] = 0
        for column in range(0, longest, _SLICE):
            _fill_profile(task.targets, chosen, column, task.weights.gains, work.profile)
            _run_slice(codes, work.down, work.across, work.profile)
            for lane in range(chosen.size):
                for j in range(min(_SLICE, extent(task.targets, chosen[lane])[1] - column)):
                    h[lane] += np.int64(work.across[j * LANES + lane])
        begin = end


# Alignments of a list of pairs, as arrays.


def _joined(parts: Sequence[Records]) -> Records:
    """Return the records of all parts, one after the other."""
    *columns, _, runs = (np.concatenate(column) for column in zip(*parts, strict=True))
    n_runs = np.concatenate([np.diff(part.first_run) for part in parts])
    return Records._make([*columns, np.append(0, np.cumsum(n_runs)), runs])


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
def _align_list(task, pairs, known, start, work, records):
    """Align pairs of a Task from ``start`` on and keep those whose identity is at least the Task's.

    Stops early if ``records``, empty at first, is full. ``known`` (h, least), int64: H of each pair from a
    score pass, or UNKNOWN, and the least score that needs a path. ``work``: band.Work. Return (next pair,
    number of records).
    """
    (h_known, least), (_, _, gap), n_records = known, task.weights.scores, 0
    for at in range(start, pairs.query.size):
        query, target = pairs.query[at], pairs.target[at]
        m, n = extent(task.queries, query)[1], extent(task.targets, target)[1]
        n_used = records.first_run[n_records]
        if n_records == records.h.size or records.runs.size - n_used < m + n + 1:
            return at, n_records
        score = h_known[at] * task.weights.divisor + (m + n) * gap if h_known[at] != UNKNOWN else least[at]
        if score < least[at]:
            continue
        gaps = most_gaps(task.definition, task.identity, m, n, score, task.weights.scores)
        spare = (gaps - abs(m - n)) // 2 + 1
        low, high = min(0, m - n) - spare, max(0, m - n) + spare  # diagonals of the band
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
