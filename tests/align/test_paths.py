"""Paths, identities and bounds: the definition, whatever the band, the element or the memory."""

import functools
import random

import numpy as np
import pytest
from cover import examples
from hypothesis import given
from hypothesis import strategies as st

from fmx.align.band import make_work
from fmx.align.bounds import least_score
from fmx.align.jobs import UNKNOWN, AlignmentJob, PairList, Worker, plan
from fmx.align.sequences import Scoring

from . import naive_nw
from .families import AWKWARD, encode, family, mutate
from .test_scores import SCORINGS


def path(records, r):
    runs = records.runs[records.first_run[r] : records.first_run[r + 1]].tolist()
    return "".join("=XID"[run & 3] * (run >> 2) for run in runs)


def align_all(sequences, scoring=None, definition=1, p=0.0, known=False, work=None, only=None):
    """{(i, j): (path, score, identity)} of all pairs at or above p; ``known``: after a score pass."""
    s = encode(sequences)
    job = AlignmentJob(s, s, half=False, scoring=scoring or Scoring(), definition=definition, identity=p)
    n = len(sequences)
    both = np.array(only or [(i, j) for i in range(n) for j in range(n)])
    pairs = PairList(both[:, 0].copy(), both[:, 1].copy())
    worker = Worker(job, work)
    least, _ = plan(job, pairs)
    records = worker.align(pairs, least, worker.score(pairs) if known else np.full(least.size, UNKNOWN))
    totals = job.scoring.score(records.h, s.lengths()[records.query] + s.lengths()[records.target])
    columns = records.query, records.target, totals, records.identity, records.length, records.matches
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(i, j): (path(records, r), *values) for r, (i, j, *values) in enumerate(rows)}


@functools.lru_cache(1 << 14)
def aligned(a, b, *costs) -> tuple:
    """(path, score) by the definition; each is asked for by many tests."""
    m = naive_nw.matrix(a, b, *costs)
    return naive_nw.align(a, b, *costs, m), m[-1][-1]


def wanted(sequences, scoring, definition, p):
    found = {}
    for i, a in enumerate(sequences):
        for j, b in enumerate(sequences):
            way, score = aligned(a, b, scoring.match, scoring.mismatch, scoring.gap)
            identity = naive_nw.identity(way, len(a), len(b), definition)
            if identity >= p:
                found[i, j] = (way, score, identity, len(way), way.count("="))
    return found


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("definition", range(5))
@pytest.mark.parametrize("scoring", SCORINGS[:3] + SCORINGS[5:7], ids=str)
def test_paths_scores_and_identities_are_those_of_the_definition(scoring, definition, known):
    sequences = AWKWARD[::3]
    for p in (0.0, 0.6, 0.9):
        found = align_all(sequences, scoring, definition, p, known)
        assert found == wanted(sequences, scoring, definition, p)


@pytest.mark.parametrize("scoring", SCORINGS[:3], ids=str)
def test_a_few_sequences_of_each_kind_are_aligned_as_defined(scoring):
    few = ["", "TTTT", "ACGTNACGTTAC", "ACGTNCGTTA", *family(8, 1, 3, 40, 0.1)]
    small = make_work(60, 60, scoring.dtype, step=32, n_bits=1)
    for definition in range(5):
        for known, work in ((False, None), (True, None), (False, small)):
            found = align_all(few, scoring, definition, 0.9, known, work)
            assert found == wanted(few, scoring, definition, 0.9)


@examples(60)
@given(
    st.randoms(use_true_random=False),
    st.integers(0, 4),
    st.sampled_from([0.3, 0.5, 0.8, 0.9, 0.95, 0.97, 1.0]),
    st.sampled_from(SCORINGS),
)
def test_no_pair_at_or_above_the_identity_is_lost(random_, definition, p, scoring):
    root = "".join(random_.choices("ACGT", k=random_.choice([3, 10, 50, 90])))
    sequences = [mutate(random_, root, random_.randrange(8), "ACGTN") for _ in range(4)]
    assert align_all(sequences, scoring, definition, p) == wanted(sequences, scoring, definition, p)


def test_long_sequences_stay_in_bounded_memory():
    random_ = random.Random(100)
    a = "".join(random_.choices("ACGT", k=100_000))
    b = "".join(random_.choices("ACGT", k=2_000)) + a[7_000:]
    work = make_work(len(a), len(a), np.uint8)
    assert sum(array.nbytes for array in work) < 100e6
    way, score, *_ = align_all([a, b], work=work, only=[(0, 1)])[0, 1]
    assert rescored(way, Scoring()) == score
    assert way.replace("D", "").count("") - 1 == len(a)
    assert way.count("=") >= 93_000


def rescored(way, scoring):
    gaps = way.count("I") + way.count("D")
    return way.count("=") * scoring.match + way.count("X") * scoring.mismatch + gaps * scoring.gap


def test_paths_of_genes_rescore_to_parasail(peers, genes):
    matrix = peers.matrix_create("ACGT", 4, -5)
    found = align_all(genes[:10])
    assert len(found) == 100
    for (i, j), (way, score, *_) in found.items():
        assert rescored(way, Scoring()) == score == peers.nw_scan_16(genes[i], genes[j], 10, 10, matrix).score
        assert len(way) - way.count("D") == len(genes[i])
        assert len(way) - way.count("I") == len(genes[j])


def test_our_bound_is_never_below_the_papers():
    """The bound L of Truong et al. 2014, section 5.4, which holds for identities 1 and 4 where two gaps cost
    no less than a mismatch."""
    for m in (1, 10, 333, 1536):
        for n in (m, m + 1, m + m // 40):
            for p in (0.5, 0.9, 0.97, 0.99):
                reachable, least = least_score(1, p, m, n, (4, -5, -10))
                assert not reachable or least >= n * p * 4 + 2 * n * -10 * (1 - p) - 1
