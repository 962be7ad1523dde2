"""Workers pull chunks from one board, as the paper's node-level dispatcher does; results leave in order.

    board        chunks not yet taken (ascending)        paths still to be traced (from a GPU)
                   ^ pulled by CPU workers and GPUs         ^ pulled first, by CPU workers
    results      a chunk waits until all before it have left; nobody runs more than AHEAD chunks in front

A slow worker pulls less often: that is all the load balancing there is.  Whoever waits is woken only by what
it waits for: with many workers, waking all of them for each chunk would cost more than a GPU's scores.
"""

import threading
from collections import deque

AHEAD = 256


class Board:
    """The work of one run, shared by its threads."""

    def __init__(self, chunks):
        lock = threading.RLock()
        self._for_traces, self._for_chunks, self._for_results = (threading.Condition(lock) for _ in range(3))
        self._chunks, self._traces = deque(chunks), deque()
        self._results, self._next = {}, 0
        self._expected = [number for number, _ in self._chunks]
        self._error = None
        self._stopped = False

    def take(self, traces=True, chunks=True, wait=True):
        """The next piece of work: ('trace', piece), ('chunk', (number, chunk)), or None at the end (or where
        none is there now and ``wait`` is False)."""
        condition = self._for_traces if traces else self._for_chunks
        with condition:
            while not (self._stopped or self._next >= len(self._expected)):
                if traces and self._traces:
                    return "trace", self._traces.popleft()
                if chunks and self._near():
                    return "chunk", self._chunks.popleft()
                if not wait:
                    return None
                condition.wait()
            return None

    def _near(self) -> bool:
        """Whether there is a chunk that may be taken."""
        return bool(self._chunks) and self._chunks[0][0] - self._expected[self._next] < AHEAD

    def add_trace(self, piece):
        with self._for_traces:
            self._traces.append(piece)
            self._for_traces.notify()

    def put(self, number, result):
        """Hand in the result of a chunk."""
        with self._for_results:
            self._results[number] = result
            self._for_results.notify()

    def fail(self, error):
        with self._for_results:
            self._error = self._error or error
        self.stop()

    def stop(self):
        with self._for_results:
            self._stopped = True
            self._wake()
            self._for_results.notify()

    def _wake(self):
        self._for_traces.notify_all()
        self._for_chunks.notify_all()

    def results(self):
        """(number, result) in order; raises what a worker raised."""
        for number in self._expected:
            with self._for_results:
                while number not in self._results and self._error is None:
                    self._for_results.wait(0.2)  # wakes up, so that Ctrl-C is heard
                if self._error is not None:
                    raise self._error
                result, was_near = self._results.pop(number), self._near()
                self._next += 1
                if self._next == len(self._expected) or (self._near() and not was_near):
                    self._wake()
            yield number, result


def cpu_loop(board, worker, pack, chunks=True):
    """One CPU worker, which also packs its results; without ``chunks`` it only traces what a GPU scored."""
    while work := board.take(chunks=chunks):
        kind, piece = work
        if kind == "chunk":
            number, chunk = piece
            board.put(number, pack(worker.chunk(chunk)))
        else:
            number, finish = piece
            board.put(number, pack(finish(worker)))


def run(board, loops):
    """Start one thread a loop; yields the board's results in order and ends the threads."""

    def guarded(loop):
        try:
            loop()
        except BaseException as error:
            board.fail(error)

    threads = [threading.Thread(target=guarded, args=(loop,), daemon=True) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield from board.results()
    finally:
        board.stop()
        for thread in threads:
            thread.join()
