"""The kernels of fmx pairwise against the definition, and the command against that of the CPU."""

import threading

import cases
import numpy as np
import pytest
from align import naive_nw
from align.families import encode, family
from paper_kernels import ColumnBatch, MatrixBatch, run_dscan, run_rscan, run_tiled
from texts import random_letters

from fmx.align import gpu as worker
from fmx.align.gpu import Scorer, fits, lazy_kernel, run_lazy, shared_bytes
from fmx.align.jobs import AlignmentJob, PairList
from fmx.align.pipeline import compute
from fmx.align.sequences import Scoring
from fmx.compiler import SIMULATED
from fmx.errors import DeviceError
from fmx.machines import gpu
from fmx.machines.gpu import GpuSession

LONG = random_letters(2 * worker.SLICE + 9, "several slices")
SEQUENCES = ["ACGTACGTAC", "ACGNTACG", "A", "", "TTGACGTACgtT", "ACGTTCGTAC", "CATG", LONG]
PAIRS = [(0, 1), (1, 4), (4, 0), (2, 5), (0, 5), (6, 2), (3, 0), (0, 3), (5, 4), (7, 1), (4, 7)]
SCORINGS = [Scoring(), Scoring(2, -9, -1)]


def setting(kind, scoring):
    """MatrixBatch or ColumnBatch of the pairs."""
    s = encode(SEQUENCES)
    query, target = np.array(PAIRS).T
    return kind(s, s, query, target, scoring.gains)


def naive_h(a, b, scoring):
    """H without its first row and column, from the definition."""
    full = naive_nw.matrix(a, b, scoring.match, scoring.mismatch, scoring.gap)
    rows = [
        [(x - (i + j) * scoring.gap) // scoring.divisor for j, x in enumerate(r)] for i, r in enumerate(full)
    ]
    return [value for row in rows[1:] for value in row[1:]]


MATRIX_KERNELS = {
    "tiled k=4": lambda m: run_tiled(m, k=4),
    "tiled k=5": lambda m: run_tiled(m, k=5),
    "dscan": lambda m: run_dscan(m, block=4),
    "dscan in strips": lambda m: run_dscan(m, block=3, rows=4),
    "dscan in rows": lambda m: run_dscan(m, block=2, rows=1),
    "rscan": lambda m: run_rscan(m, block=4, k=4),
    "rscan k=5": lambda m: run_rscan(m, block=2, k=5),
}


@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
@pytest.mark.parametrize("name", MATRIX_KERNELS)
def test_whole_matrices_are_those_of_the_definition(name, scoring):
    m = setting(MatrixBatch, scoring)
    m.matrix = gpu.to_device(np.full(m.matrix.size, -7, np.int32))
    MATRIX_KERNELS[name](m)
    got, starts = gpu.to_host(m.matrix).tolist(), gpu.to_host(m.starts).tolist()
    for (a, b), first, last in zip(PAIRS, starts, starts[1:], strict=False):
        assert got[first:last] == naive_h(SEQUENCES[a], SEQUENCES[b], scoring), (a, b)
    assert got[-1] == -7


def scores(h, scoring, pairs=PAIRS):
    letters = [len(SEQUENCES[a]) + len(SEQUENCES[b]) for a, b in pairs]
    return scoring.score(h.astype(np.int64), np.array(letters, np.int64)).tolist()


def wanted(scoring, pairs=PAIRS):
    s = scoring
    return [naive_nw.score(SEQUENCES[a], SEQUENCES[b], s.match, s.mismatch, s.gap) for a, b in pairs]


@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
@pytest.mark.parametrize(("block", "k"), [(4, 4), (3, 5), (2, 16)])
def test_lazy_scores_are_those_of_the_definition(block, k, scoring):
    columns = setting(ColumnBatch, scoring)
    columns.out = gpu.to_device(np.full(len(PAIRS), -7, np.int32))
    columns.run(block, k)
    assert scores(gpu.to_host(columns.out), scoring) == wanted(scoring)
    columns.out = gpu.to_device(np.full(len(PAIRS), -7, np.int32))
    run_lazy(
        columns.batch, columns.column, columns.out, len(PAIRS), (1, block), k
    )  # several pairs per thread
    assert scores(gpu.to_host(columns.out), scoring) == wanted(scoring)


@pytest.mark.parametrize("scoring", [Scoring(), Scoring(5000, -3, -7)], ids=["packed", "wide"])
def test_stream_bytes_scores_any_list_of_pairs(scoring):
    s = encode(SEQUENCES)
    job = AlignmentJob(s, s, half=False, scoring=scoring)
    assert fits(s, s, scoring.gains) == (scoring.match == 4)
    scorer = Scorer(job, session := GpuSession())
    stream = gpu.GpuStream(session.clock)
    for n in (len(PAIRS), 0, 3):  # a stream is used again and again
        pairs = np.array(sorted(PAIRS)[:n], np.int64).reshape(-1, 2)
        scorer.start(stream, PairList(pairs[:, 0].copy(), pairs[:, 1].copy()))
        assert scores(scorer.finish(stream), scoring, pairs) == wanted(scoring, pairs)


@pytest.mark.parametrize("paths", [False, True], ids=["scores", "paths"])
def test_sessions_share_a_job_and_nothing_else(paths, monkeypatch):
    """Two threads, each with a session: as of two GPUs, or both of the one that is there."""
    both, started = threading.Barrier(2), {}
    start = Scorer.start

    def counted(scorer, stream, pairs):
        if scorer.session not in started:
            both.wait()
        started.setdefault(scorer.session, set()).add(stream)
        start(scorer, stream, pairs)

    monkeypatch.setattr(Scorer, "start", counted)
    monkeypatch.setattr(worker, "PAIRS", 1)  # a chunk a stream
    s = encode([*SEQUENCES, *family(4, 3, 3, 12, 0.3)])
    job = AlignmentJob(s, s, half=True, paths=paths)
    todo = [(number, number + 1) for number in range(s.n - 1)]
    number = 1 if not SIMULATED and gpu.n_devices() > 1 else 0
    sessions = [GpuSession(0), GpuSession(number)]
    found = list(compute(job, todo, 2, gpus=sessions))
    for ours, wanted in zip(found, compute(job, todo), strict=True):
        for a, b in zip(ours, wanted, strict=True) if paths else [(ours, wanted)]:
            assert (a == b).all()
    assert started.keys() == set(sessions)
    assert not started[sessions[0]] & started[sessions[1]]
    clocks = [session.clock for session in sessions]
    assert all("score" in clock.seconds for clock in clocks)
    assert clocks[0] is not clocks[1]


def test_sixteen_bits_are_used_only_where_they_are_exact():
    just, over = encode(["A" * 8191]), encode(["A" * 8192])
    assert fits(just, over, (8, 5))
    assert not fits(over, over, (8, 5))
    assert not fits(encode(["A"]), just, (256, 5))


@pytest.mark.parametrize("length", [5000, 9000], ids=["packed", "wide"])
def test_columns_take_no_more_memory_than_there_is(length):
    s, session = encode(["A" * length]), GpuSession()
    job = AlignmentJob(s, s, half=False)
    session.memory = 1
    with pytest.raises(DeviceError, match="the set of sequences needs"):
        Scorer(job, session)
    session.memory = 48 << 20
    assert 0 < Scorer(job, session).n_blocks < 10


@pytest.mark.skipif(not SIMULATED, reason="only the simulator checks every access to shared memory")
def test_shared_memory_is_needed_to_the_last_byte():
    c = setting(ColumnBatch, Scoring())
    with pytest.raises(IndexError):
        lazy_kernel[5, 2, 0, shared_bytes(4, 2) - 4](c.batch, c.column, c.out, 4, 9)


@pytest.mark.parametrize(
    "options", [["--id", "0.8"], ["--id", "0.8", "--no-prefilter"], ["--matrix", "score"]]
)
def test_devices_write_the_same_bytes(options, folder, command):
    sequences = ["ACGTACGTACGTAAGT", "ACGTACGTACGTAGT", "TTTTACGACG", "", "ACGTACNTACGTAAGT"]
    (folder / "s.fa").write_bytes(cases.fasta(zip("abcde", sequences, strict=True)))
    engines = ("cpu", "cuda", "both", "auto --device 0")
    done = [command("pairwise", "s.fa", *options, "--engine", *engine.split()) for engine in engines]
    assert [each.code for each in done] == [0] * 4, [each.err for each in done]
    assert len({each.out for each in done}) == 1
    assert done[0].out.count(b"\n") > 3
