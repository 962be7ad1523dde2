"""Scores of the lanes kernel: the definition, and parasail; PTX of the kernels for GPUs."""

import numpy as np
import pytest
from cover import examples
from hypothesis import given
from hypothesis import strategies as st
from ptx import check_lean, code_of

from fmx.align.jobs import AlignmentJob, PairList, Worker
from fmx.align.sequences import LIMIT, Scoring
from fmx.errors import UnsupportedError

from . import naive_nw
from .families import AWKWARD, encode

SCORINGS = [
    Scoring(),
    Scoring(1, -1, -1),
    Scoring(5, -1000, -600),  # gains beyond a byte: 32-bit differences
    Scoring(100, -55, -78),  # gains of 256: the first that a byte cannot hold
    Scoring(99, -55, -78),  # gains of 255: the last that it can
    Scoring(2, -9, -1),  # mismatches never pay
    Scoring(-3, 2, 1),
    Scoring(0, 0, 0),
]


def scores(sequences, scoring):
    s = encode(sequences)
    job = AlignmentJob(s, s, half=False, scoring=scoring, paths=False)
    n = len(sequences)
    pairs = PairList(np.repeat(np.arange(n), n), np.tile(np.arange(n), n))
    return job.totals(pairs, Worker(job).score(pairs)).reshape(n, n)


@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_scores_are_those_of_the_definition(scoring):
    got = scores(AWKWARD, scoring)
    assert (got == got.T).all()
    for i, a in enumerate(AWKWARD):
        for j, b in enumerate(AWKWARD[: i + 1]):
            assert got[i, j] == naive_nw.score(a, b, scoring.match, scoring.mismatch, scoring.gap), (a, b)


@examples(60)
@given(
    st.lists(st.text("ACGTN", max_size=40), min_size=1, max_size=5),
    st.integers(-8, 8),
    st.integers(-8, 8),
    st.integers(-8, 4),
)
def test_any_integers_may_be_scores(sequences, match, mismatch, gap):
    got = scores(sequences, Scoring(match, mismatch, gap))
    want = [[naive_nw.score(a, b, match, mismatch, gap) for b in sequences] for a in sequences]
    assert got.tolist() == want


def test_bytes_are_used_exactly_while_they_hold_the_larger_gain():
    for match, gain, dtype in ((99, 255, np.uint8), (100, 256, np.int32)):
        scoring = Scoring(match, -55, -78)
        assert (scoring.gains[0], scoring.dtype) == (gain, dtype)
    with pytest.raises(UnsupportedError, match="divide"):
        Scoring(match=LIMIT)


def test_scores_equal_parasail(peers, genes):
    sequences = genes[:16]
    matrix = peers.matrix_create("ACGT", 4, -5)
    got = scores(sequences, Scoring())
    for i, a in enumerate(sequences):
        for j, b in enumerate(sequences[: i + 1]):
            scan = peers.nw_scan_16(a, b, 10, 10, matrix)
            assert not scan.saturated
            assert got[i, j] == scan.score
        assert got[i, 0] == peers.nw(a, sequences[0], 10, 10, matrix).score


def signatures():
    """(name, kernel, arguments) of every kernel."""
    import paper_kernels

    from fmx.align import gpu
    from fmx.align.gpu import Batch

    byte, word, number, index = (np.zeros(1, t) for t in (np.uint8, np.uint32, np.int32, np.int64))
    batch = Batch(byte, index, byte, index, number, number, number)
    doubles, n = gpu.Doubles(word, index, byte, index, number, number, number), 1
    return {
        "tiled": (paper_kernels.tiled_kernel, (batch, index, number, n, n, n, n)),
        "dscan": (paper_kernels.dscan_kernel, (batch, index, number, n)),
        "rscan": (paper_kernels.rscan_kernel, (batch, index, number, n, n)),
        "lazy": (gpu.lazy_kernel, (batch, number, number, n, n)),
        "packed": (gpu.packed_kernel(), (doubles, np.uint32(1), word, word, n)),
    }


@pytest.mark.parametrize("name", ["tiled", "dscan", "rscan", "lazy", "packed"])
def test_kernels_compile_to_ptx(name):
    ptx = code_of(*signatures()[name], (9, 0))
    assert ".visible .entry" in ptx
    check_lean(ptx)  # rows and selectors stay in registers
    if name == "packed":
        assert ptx.count("prmt.b32") == ptx.count("add.u16x2") == 48
        assert ptx.count("max.u16x2") == 96
