"""The board: every chunk once, results in order, errors heard."""

import threading

import pytest

from fmx.align.dispatch import Board, cpu_loop, run


class Squares:
    """A worker that knows who did what."""

    def __init__(self, done):
        self.done = done

    def chunk(self, chunk):
        self.done.append(chunk)
        return chunk * chunk


def test_workers_share_chunks_and_results_keep_their_order():
    done = [[], [], []]
    board = Board(list(enumerate(range(500))))
    loops = [lambda d=d: cpu_loop(board, Squares(d), lambda x: x) for d in done]
    assert list(run(board, loops)) == [(i, i * i) for i in range(500)]
    assert sorted(chunk for part in done for chunk in part) == list(range(500))


def test_scores_of_a_gpu_are_traced_by_cpu_workers():
    board, tracing = Board(list(enumerate(range(40)))), []

    def gpu():
        while work := board.take(traces=False):
            number, chunk = work[1]
            board.add_trace((number, lambda worker, chunk=chunk: worker.chunk(chunk)))

    loops = [gpu, lambda: cpu_loop(board, Squares(tracing), lambda x: x, chunks=False)]
    assert list(run(board, loops)) == [(i, i * i) for i in range(40)]
    assert sorted(tracing) == list(range(40))


def test_an_error_in_a_worker_ends_the_run():
    class Broken:
        def chunk(self, chunk):
            raise ValueError("no")

    board = Board(list(enumerate(range(9))))
    with pytest.raises(ValueError, match="no"):
        list(run(board, [lambda: cpu_loop(board, Broken(), lambda x: x)] * 2))
    assert threading.active_count() == 1 or not [t for t in threading.enumerate() if "guarded" in t.name]


def test_nobody_runs_far_ahead_of_the_writer():
    from fmx.align.dispatch import AHEAD

    board = Board([(i, i) for i in range(AHEAD + 5)])
    taken = 0
    while board.take(wait=False):
        taken += 1
    assert taken == AHEAD


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_nobody_sleeps_through_a_chunk_or_a_trace(ahead, monkeypatch):
    """Two GPUs that take chunks only, a worker that takes traces only and two that take both, held back by a
    writer that nobody may run far ahead of."""
    monkeypatch.setattr("fmx.align.dispatch.AHEAD", ahead)
    board = Board(list(enumerate(range(300))))

    def gpu():
        while work := board.take(traces=False):
            number, chunk = work[1]
            board.add_trace((number, lambda worker, chunk=chunk: worker.chunk(chunk)))

    tracer = [lambda: cpu_loop(board, Squares([]), lambda x: x, chunks=False)]
    both = [lambda: cpu_loop(board, Squares([]), lambda x: x)] * 2
    assert list(run(board, [gpu, gpu, *tracer, *both])) == [(i, i * i) for i in range(300)]
