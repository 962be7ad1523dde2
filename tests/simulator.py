"""Numba's CUDA simulator for tests: the threads of a block take turns, or run as Python's threads do.

By turns each thread runs to its next barrier before another goes on, first to last and
then last to first: the same each time, and in half the time that numba takes to poll all threads.
Threads that run freely may meet anywhere; ``make nightly`` runs them so.
"""

import sys
import threading

import numpy as np


def take_turns() -> None:
    """Let one thread of a block run at a time."""
    from numba.cuda.simulator.kernel import BlockManager, BlockThread

    run = BlockThread.run

    def run_and_pass_on(thread):
        run(thread)
        thread.is_done = True
        thread._manager.pass_on.release()

    def syncthreads(thread):
        thread._manager.pass_on.release()
        thread.turn.acquire()
        if thread.abort:
            raise RuntimeError("another thread of the block has failed")

    BlockThread.run, BlockThread.syncthreads, BlockManager.run = run_and_pass_on, syncthreads, _run_block


def _run_block(manager, grid_point, *arguments) -> None:
    from numba.cuda.simulator.kernel import BlockThread

    def work():
        thread = threading.current_thread()
        thread.turn.acquire()
        if not thread.abort:
            manager._f(*arguments)

    manager.pass_on = _taken()
    threads = [
        BlockThread(work, manager, grid_point, place, manager._debug)
        for place in np.ndindex(*manager._block_dim)
    ]
    for thread in threads:
        thread.turn, thread.is_done = _taken(), False
        thread.start()
    if sum(grid_point) % 2 == 0:
        threads.reverse()
    failed = None
    while threads:
        for thread in threads:
            thread.abort = failed is not None
            thread.turn.release()
            manager.pass_on.acquire()
            failed = failed or thread.exception
        threads = [thread for thread in reversed(threads) if not thread.is_done]
    if failed:
        raise failed[0].with_traceback(failed[1])


def _taken() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def run_freely() -> None:
    """Let threads of a block run at once, and change places often."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared as Shared

    make = Shared.__init__

    def init(shared, *arguments):
        make(shared, *arguments)
        shared._allocations = MadeOnce()

    Shared.__init__ = init
    sys.setswitchinterval(1e-5)


class MadeOnce(dict):
    """A dict in which ``get`` of a key that is missing makes other threads wait until it is set.

    Two threads that ask for a shared array at the same time may get one each otherwise.
    """

    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def get(self, key):
        self._lock.acquire()
        found = super().get(key)
        if found is not None:
            self._lock.release()
        return found

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self._lock.release()
