"""The journey: sequences -> chunks of pairs -> records, the same whatever machine does the work.

chunk (some queries x all later targets)
  1 close      lengths and q-grams: which pairs can reach the identity           qgrams.py
  2 plan       the score each must have, and how wide a band that leaves          bounds.py
  3 score      H of the pairs whose band is wide; the others skip this            lanes.py or cuda/
  4 align      band and path of those whose score suffices; identity decides      band.py
"""

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..compiler.functions import compiled
from .band import make_work
from .bounds import least_score, most_gaps
from .lanes import score_lanes, work_arrays
from .qgrams import N_GRAMS, close_pairs, count_grams
from .records import Records, align_list, empty_records
from .scoring import Scoring
from .sequences import Sequences

N_CHUNKS = 64  # at least so many where there are enough pairs, so that workers share evenly
CLOSE_PAIRS, ALL_PAIRS = 1 << 20, 1 << 14  # pairs in a chunk at most, with and without the filter
CELLS = 1 << 36  # matrix cells in a chunk at most (unless one query has more)
DIRECT_BLOCKS = 4  # a band of up to 128 rows is aligned without a score pass
FOREVER = 1 << 62  # a score nobody reaches


class Pairs(NamedTuple):
    """Pairs of indices, int64[n] each, ordered by query, then target."""

    query: np.ndarray
    target: np.ndarray


@dataclass(frozen=True)
class Job:
    """What is to be done.  ``half``: all pairs i < j of one set (``targets`` is ``queries``), with
    ``diagonal`` also i = j.  ``identity`` p keeps pairs at or above it; ``paths`` False: scores suffice.
    ``prefilter`` False: no pair is ruled out before its score is known."""

    queries: Sequences
    targets: Sequences
    half: bool
    scoring: Scoring = field(default_factory=Scoring)
    definition: int = 1
    identity: float = 0.0
    diagonal: bool = False
    paths: bool = True
    prefilter: bool = True

    def first_target(self, query) -> int:
        return query + (0 if self.diagonal else 1) if self.half else 0

    def n_pairs(self, first, last) -> int:
        """Pairs of queries first..last-1."""
        n_targets = self.targets.starts.size - 1
        if not self.half:
            return (last - first) * n_targets
        return sum(n_targets - self.first_target(q) for q in range(first, last))

    @property
    def filtered(self) -> bool:
        return self.prefilter and self.paths and self.identity > 0

    def digest(self) -> str:
        """Names the job: the sequences and every option that can change a record."""
        state = hashlib.sha256(repr((self.half, self.diagonal, self.paths, self.scoring)).encode())
        state.update(repr((self.definition, self.identity)).encode())
        for sequences in (self.queries, self.targets):
            state.update(sequences.codes.tobytes())
            state.update(sequences.starts.tobytes())
        return state.hexdigest()


def cut(job) -> list:
    """The chunks of a job, as (first query, last query + 1); the same on every machine."""
    n_queries, n_letters = job.queries.starts.size - 1, int(job.targets.starts[-1])
    lengths = job.queries.lengths().tolist()
    goal = -(-job.n_pairs(0, n_queries) // N_CHUNKS)
    goal = max(64, min(goal, CLOSE_PAIRS if job.filtered else ALL_PAIRS))
    chunks, first, pairs, cells = [], 0, 0, 0
    for query in range(n_queries):
        pairs += job.n_pairs(query, query + 1)
        cells += lengths[query] * n_letters
        if pairs >= goal or cells >= CELLS or query == n_queries - 1:
            chunks.append((first, query + 1))
            first, pairs, cells = query + 1, 0, 0
    return chunks


class Shared:
    """What all workers read: counts of q-grams, empty where they are not used."""

    def __init__(self, job):
        self.grams_q = self.grams_t = np.empty(0, np.uint8)
        if job.filtered:
            self.grams_q = _grams(job.queries)
            self.grams_t = self.grams_q if job.half else _grams(job.targets)


def _grams(sequences):
    counts = np.empty((sequences.starts.size - 1, N_GRAMS), np.uint8)
    count_grams(sequences, counts)
    return counts.reshape(-1)


def select(job, shared, chunk) -> Pairs:
    """Step 1: the pairs of a chunk, without those that cannot reach the identity."""
    first, last = chunk
    n = job.n_pairs(first, last)
    if not job.filtered:
        n_targets = job.targets.starts.size - 1
        begins = [job.first_target(q) for q in range(first, last)]
        query = np.repeat(np.arange(first, last), [n_targets - b for b in begins])
        target = np.concatenate([np.arange(b, n_targets) for b in begins] or [np.empty(0, np.int64)])
        return Pairs(query, target)
    query, target = np.empty(n, np.int64), np.empty(n, np.int64)
    n = close_pairs(
        job.queries,
        job.targets,
        first,
        last,
        job.half,
        shared.grams_q,
        shared.grams_t,
        job.definition,
        job.identity,
        query,
        target,
    )
    order = np.lexsort((target[:n], query[:n]))
    return Pairs(query[:n][order], target[:n][order])


@compiled
def _plan(queries, targets, pairs, definition, p, scores, least, blocks):
    """Step 2: least score of each pair, and blocks of 32 rows in its band."""
    for k in range(pairs.query.size):
        query, target = pairs.query[k], pairs.target[k]
        m = queries.starts[query + 1] - queries.starts[query]
        n = targets.starts[target + 1] - targets.starts[target]
        reachable, least[k] = least_score(definition, p, m, n, scores)
        blocks[k] = 0
        if not reachable:
            least[k] = FOREVER
        elif m > 0 and n > 0:
            gaps = most_gaps(definition, p, m, n, least[k], scores)
            blocks[k] = (gaps // 2 + 64) // 32


def plan(job, pairs):
    """(least score, blocks of 32 rows in the band), int64[n] each."""
    scores = (job.scoring.match, job.scoring.mismatch, job.scoring.gap)
    least, blocks = np.empty(pairs.query.size, np.int64), np.empty(pairs.query.size, np.int64)
    _plan(job.queries, job.targets, pairs, job.definition, float(job.identity), scores, least, blocks)
    return least, blocks


class Worker:
    """One CPU thread's scratch and the steps it does."""

    def __init__(self, job, shared):
        self.job, self.shared = job, shared
        m, n = _longest(job.queries), _longest(job.targets)
        self._lanes = work_arrays(m, job.scoring.dtype)
        self._work = None
        self._sizes = (m, n, job.scoring.dtype)
        self._target_lengths = job.targets.lengths()

    def chunk(self, chunk):
        """All steps of one chunk: Records, or (no ``paths``) scores in the order of its pairs."""
        pairs = select(self.job, self.shared, chunk)
        if not self.job.paths:
            return self.totals(pairs, self.score(pairs))
        least, blocks = plan(self.job, pairs)
        wide = blocks > DIRECT_BLOCKS
        if not wide.any():
            return self.align(pairs, least)
        far = Pairs(pairs.query[wide], pairs.target[wide])
        records = self.align(far, least[wide], self.score(far))
        if wide.all():
            return records
        near = Pairs(pairs.query[~wide], pairs.target[~wide])
        return merge(records, self.align(near, least[~wide]))

    def totals(self, pairs, h):
        """Scores of pairs whose H is known."""
        letters = self.job.queries.lengths()[pairs.query] + self._target_lengths[pairs.target]
        return self.job.scoring.score(h, letters)

    def score(self, pairs):
        """Step 3: H of each pair."""
        order = np.lexsort((self._target_lengths[pairs.target], pairs.query))
        query, target = pairs.query[order], pairs.target[order]
        edges = np.flatnonzero(np.diff(query)) + 1
        h, out = np.empty(query.size, np.int64), np.empty(query.size, np.int64)
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), query.size], strict=True):
            if begin < end:
                score_lanes(
                    self.job.queries,
                    self.job.targets,
                    query[begin],
                    target[begin:end],
                    self.job.scoring.gains,
                    *self._lanes,
                    out[begin:end],
                )
        h[order] = out
        return h

    def align(self, pairs, least, h=None) -> Records:
        """Step 4: paths of the pairs whose score (of H, where known) suffices; of those, identity >= p."""
        job, scoring = self.job, self.job.scoring
        if self._work is None:
            self._work = make_work(*self._sizes)
        known = (np.empty(0, np.int64) if h is None else h, least)
        options = (
            scoring.gains,
            scoring.diagonal,
            (scoring.match, scoring.mismatch, scoring.gap),
            scoring.divisor,
        )
        room = self._sizes[0] + self._sizes[1] + 1
        parts: list = []
        start = 0
        while start < pairs.query.size or not parts:
            n = min(pairs.query.size - start, 4096)
            records = empty_records(n, room + 256 * n)
            start, n = align_list(
                job.queries,
                job.targets,
                (pairs.query, pairs.target),
                known,
                start,
                self._work,
                options,
                job.definition,
                float(job.identity),
                records,
                0,
            )
            parts.append(_trim(records, n))
        result = parts[0]
        for part in parts[1:]:
            result = _join(result, part)
        return result


def _longest(sequences) -> int:
    return int(sequences.lengths().max(initial=0))


def _trim(records, n) -> Records:
    """The first n records, copied so that the room they did not need is given back."""
    columns = [column[:n].copy() for column in records[:6]]
    first_run = records.first_run[: n + 1].copy()
    return Records._make([*columns, first_run, records.runs[: first_run[n]].copy()])


def _join(a, b) -> Records:
    columns = [np.concatenate(both) for both in zip(a[:6], b[:6], strict=True)]
    first_run = np.concatenate([a.first_run, b.first_run[1:] + a.first_run[-1]])
    return Records._make([*columns, first_run, np.concatenate([a.runs, b.runs])])


def merge(a, b) -> Records:
    """The records of both, ordered by query, then target."""
    joined = _join(a, b)
    order = np.lexsort((joined.target, joined.query))
    n_runs = np.diff(joined.first_run)[order]
    first_run = np.zeros(order.size + 1, np.int64)
    np.cumsum(n_runs, out=first_run[1:])
    pick = np.arange(first_run[-1]) + np.repeat(joined.first_run[:-1][order] - first_run[:-1], n_runs)
    return Records._make([*(column[order] for column in joined[:6]), first_run, joined.runs[pick]])
