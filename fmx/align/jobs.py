"""What is to be done, and how it is cut into chunks, the same whatever machine does the work (worker.py)."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..compiler.functions import inlined
from .bounds import count_grams
from .scoring import Scoring, Weights
from .sequences import Sequences

N_CHUNKS = 64  # at least so many where there are enough pairs, so that workers share evenly
CLOSE_PAIRS, ALL_PAIRS = 1 << 20, 1 << 14  # pairs in a chunk at most, with and without the filter
CELLS = 1 << 36  # matrix cells in a chunk at most (unless one query has more)


class Pairs(NamedTuple):
    """Pairs of indices, int64[n] each, ordered by query, then target."""

    query: np.ndarray
    target: np.ndarray


class Task(NamedTuple):
    """A Job as compiled code takes it; ``grams_query``, ``grams_target``: counts of q-grams (bounds.py), flat
    uint8, or nothing where no pair is ruled out by them."""

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
def first_target(job, query):
    """The first target of a query, of a Job or a Task."""
    return query + (0 if job.diagonal else 1) if job.half else 0


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

    def first_target(self, query: int) -> int:
        """The first target that ``query`` is paired with."""
        return first_target(self, query)

    def n_pairs(self, first: int, last: int) -> int:
        """Pairs of queries first..last-1."""
        n_queries, firsts = last - first, first_target(self, first) + first_target(self, last - 1)
        return n_queries * self.targets.n - firsts * n_queries // 2

    @property
    def filtered(self) -> bool:
        """Is any pair ruled out before its score is known?"""
        return self.prefilter and self.paths and self.identity > 0

    @cached_property
    def task(self) -> Task:
        """This for compiled code; the q-grams are counted at the first call."""
        queries = targets = np.empty(0, np.uint8)
        if self.filtered:
            queries = count_grams(self.queries)
            targets = queries if self.half else count_grams(self.targets)
        return Task(
            self.queries, self.targets, self.half, self.diagonal, self.definition, float(self.identity),
            self.scoring.weights, queries, targets,
        )  # fmt: skip

    def totals(self, pairs: Pairs, h: np.ndarray) -> np.ndarray:
        """Scores, int64[n], of pairs whose H is known."""
        letters = self.queries.lengths()[pairs.query] + self.targets.lengths()[pairs.target]
        return self.scoring.score(h, letters)

    @cached_property
    def _place(self) -> np.ndarray:
        """Of each target by length."""
        return np.argsort(np.argsort(self.targets.lengths()))

    def order(self, pairs: Pairs) -> np.ndarray:
        """The order of pairs by query, then by length of the target, so that neighbours take as long."""
        return np.argsort(pairs.query * self._place.size + self._place[pairs.target])

    def digest(self) -> str:
        """Names the job: the sequences and every option that can change a record."""
        state = hashlib.sha256(repr((self.half, self.diagonal, self.paths, self.scoring)).encode())
        state.update(repr((self.definition, self.identity)).encode())
        for sequences in (self.queries, self.targets):
            state.update(sequences.codes.tobytes())
            state.update(sequences.starts.tobytes())
        return state.hexdigest()


def cut(job: Job) -> list:
    """The chunks of a job, as (first query, last query + 1); the same on every machine."""
    n_queries, n_letters = job.queries.n, int(job.targets.starts[-1])
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
