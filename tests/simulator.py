"""Numba's CUDA simulator for tests: the threads of a block take turns.

By turns each thread of a block runs to its next barrier before another goes on, last to first and then first
to last (in every other block the reverse): the same each time.  A Python thread that comes to the end of a
thread of a block goes on with the next one, and is used again for other blocks, so that threads are started
and changed only for barriers.  Kernels get arrays as they are, not wrapped.
"""

import os
import sys
import threading
from typing import Any, ClassVar

import numpy as np


def take_turns() -> None:
    """Let one thread of a block run at a time."""
    from numba.cuda.simulator.kernel import FakeCUDAKernel
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    launch = FakeCUDAKernel.__call__
    FakeCUDAKernel.__call__ = lambda kernel, *given: (launch if kernel._device else _launch)(kernel, *given)
    FakeCUDAShared.array = _shared_array
    os.register_at_fork(after_in_child=_Worker.free.clear)


def _launch(kernel: Any, *arguments: Any) -> None:
    from numba.cuda.simulator.kernel import BlockManager, _push_kernel_context
    from numba.cuda.simulator.kernelapi import FakeCUDAModule, swapped_cuda_module

    module = FakeCUDAModule(kernel.grid_dim, kernel.block_dim, kernel.dynshared_size)
    with _push_kernel_context(module), swapped_cuda_module(kernel.fn, module):
        for point in np.ndindex(*kernel.grid_dim):
            _Block(BlockManager(kernel.fn, kernel.grid_dim, kernel.block_dim, False), point, arguments).run()


def _shared_array(shared: Any, shape: Any, dtype: Any) -> np.ndarray:
    """The shared array that a line of a kernel asks for: by file and line, as numba tells them apart, or by
    ``shape`` 0 what its launch has asked for."""
    if shape == 0:
        return shared._dynshared[: shared._dynshared_size // dtype.itemsize * dtype.itemsize].view(dtype)
    frame = sys._getframe(1)
    place = frame.f_code.co_filename, frame.f_lineno
    if place not in shared._allocations:
        shared._allocations[place] = np.empty(shape, dtype)
    return shared._allocations[place]


class _Block:
    """The threads of a block: indices of those that have not begun, and workers that wait at a barrier."""

    def __init__(self, manager: Any, point: tuple, arguments: tuple) -> None:
        self.manager, self.point, self.arguments = manager, point, arguments
        self.turn: list = list(np.ndindex(*manager._block_dim))  # the last one is the next
        if sum(point) % 2:
            self.turn.reverse()
        self.waiting: list[_Worker] = []
        self.failed: BaseException | None = None
        self.is_over = _taken()

    def run(self) -> None:
        """Run all threads.  Raises what one of them raises."""
        _Worker.of(self, self.turn.pop())
        self.is_over.acquire()
        if self.failed:
            raise self.failed

    def next(self) -> Any:
        """What goes on: an index, a worker at a barrier, or None at the end."""
        if self.failed:  # no other thread begins
            self.turn = [one for one in self.turn if isinstance(one, _Worker)]
        if not self.turn:
            self.turn, self.waiting = self.waiting, []
        return self.turn.pop() if self.turn else None


class _Worker(threading.Thread):
    """A Python thread as one thread of a block after the other: numba's BlockThread, for kernels."""

    free: ClassVar[list] = []

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._baton = _taken()

    @classmethod
    def of(cls, block: _Block, index: tuple) -> None:
        """Let a worker that is free, or a new one, begin with a thread of a block."""
        worker = cls.free.pop() if cls.free else cls()
        worker.block, worker.index = block, index
        worker._baton.release() if worker.ident else worker.start()

    def run(self) -> None:
        from numba.cuda.simulator.kernelapi import Dim3

        while True:
            done = self._run_threads(Dim3)
            self.free.append(self)
            done.release()
            self._baton.acquire()

    def _run_threads(self, dim3: Any) -> threading.Lock:
        """Run threads of the block until one that waits goes on, or none is left: the lock to release."""
        block, following = self.block, self.index
        self._manager, self.blockIdx = block.manager, dim3(*block.point)
        while isinstance(following, tuple):
            self.threadIdx = dim3(*following)
            try:
                block.manager._f(*block.arguments)
            except BaseException as error:
                block.failed = block.failed or error
            following = block.next()
        self.block = self._manager = None
        return following._baton if following else block.is_over

    def syncthreads(self) -> None:
        """Let the others run to this barrier, or to their ends."""
        block = self.block
        block.waiting.append(self)
        following = block.next()
        if isinstance(following, tuple):
            self.of(block, following)
        else:
            following._baton.release()
        self._baton.acquire()
        if block.failed:
            raise RuntimeError("another thread of the block has failed")


def _taken() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
