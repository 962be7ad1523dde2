"""The work queue: workers of different speed take items, and output comes back in order, in bounded memory.

    items     an iterator; whichever worker needs work takes the next item
    workers   take an item and its slot, emit pieces of output, and finish with a result
    parts     what a worker may split its item into, for any worker to take
    caller    receives pieces and results in slot order, and does nothing else

A slow worker takes fewer items: there is no other load balancing.  At most ``budget`` bytes of pieces wait
for earlier ones; the worker of the slot that is due may always emit one.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias

from .progress import Progress

if TYPE_CHECKING:
    import numpy as np


Emit: TypeAlias = Callable[[Any], object]  # takes pieces of output (bytes or uint8 arrays)

_BUDGET = 64 << 20
_AHEAD = 256  # slots taken beyond the one that is due
_STOPPING = 1.0  # seconds to wait for a lock that is never held that long


class Slot:
    """The place of one item in the ``order``, and what its worker has emitted so far."""

    __slots__ = ("errors", "is_done", "order", "pieces", "result")

    def __init__(self, *order: int) -> None:
        self.order, self.is_done, self.result = order, False, None
        self.pieces: deque = deque()
        self.errors: list[BaseException] = []  # one; taken out to be raised, as its traceback refers to this


class Parts(list):
    """What an item is split into; any worker may do each part, and each has its own result."""


class _QueueStopped(Exception):
    """Nobody waits for this work any more."""


class OrderedQueue:
    """The work of one run, shared by its workers."""

    def __init__(self, items: Iterable[Any], budget: int = _BUDGET, ahead: int = _AHEAD) -> None:
        self._items, self._budget, self._ahead = iter(items), budget, ahead
        self._pulling = threading.Lock()  # held while an item is made, which may read a file
        lock = threading.RLock()
        self._for_items, self._for_continuations = threading.Condition(lock), threading.Condition(lock)
        self._lock = lock
        # What the caller waits for between two pieces: a lock that workers release. Signals interrupt the
        # caller, and within the Python code of a Condition they would leave its lock in a wrong state.
        self._news = threading.Lock()
        self._news.acquire()
        self._for_room: list = []  # a heap of (order of a slot, what its worker waits on)
        self._slots: deque = deque()  # the slot that is due and those after it
        self._continuations: list = []  # a heap of (order, slot, work)
        self._n_pulled = 0
        self._held, self._is_whole, self._is_stopped = 0, False, False
        self._errors: list[BaseException] = []  # of a worker, not of an item

    def get(self, items: bool = True, continuations: bool = True, wait: bool = True) -> Any:
        """Return the next (slot, item), or (slot, work) left by ``continue_later``; None at the end.

        ``items``, ``continuations``: whether to take these; without ``wait``, None if there is none yet.
        """
        waiting = self._for_continuations if continuations else self._for_items
        while True:
            with waiting:
                while True:
                    if self._is_stopped:
                        return None
                    if continuations and self._continuations:
                        return heappop(self._continuations)[1:]
                    if self._is_whole and not (continuations and self._slots):
                        return None
                    if items and not self._is_whole and len(self._slots) < self._ahead:
                        break
                    if not wait:
                        return None
                    waiting.wait()
            if (taken := self._pull()) is not None:
                return taken

    def _pull(self) -> tuple[Slot, Any] | None:
        with self._pulling:
            if self._is_whole or self._is_stopped:
                return None
            slot, item, is_over = Slot(self._n_pulled), None, False
            self._n_pulled += 1
            try:
                item = next(self._items)
            except StopIteration:
                is_over = True
            except BaseException as error:
                slot.is_done, slot.errors = True, [error]
            with self._lock:
                if not self._slots:
                    self._wake_caller()
                if not is_over:
                    self._slots.append(slot)
                if is_over or slot.is_done:
                    self._is_whole = True
                    self._wake_workers()
                    return None
            return slot, item

    def _wake_workers(self) -> None:
        self._for_items.notify_all()
        self._for_continuations.notify_all()

    def _wake_caller(self) -> None:
        if self._news.locked():
            self._news.release()

    def continue_later(self, slot: Slot, work: Callable[[], Any]) -> None:
        """Leave the rest of an item to the next worker that is free, as (slot, work)."""
        with self._for_continuations:
            heappush(self._continuations, (slot.order, slot, work))
            self._for_continuations.notify()
            self._let_all_go_on()  # a worker that waits for room may be needed

    def split(self, slot: Slot, parts: Sequence[Any]) -> None:
        """Insert parts of an item immediately after its slot, each with its own slot, for any worker."""
        with self._for_continuations:
            at = self._slots.index(slot) + 1
            for number, part in enumerate(parts):
                behind = Slot(*slot.order, number)
                self._slots.insert(at + number, behind)
                heappush(self._continuations, (behind.order, behind, part))
            self._for_continuations.notify_all()

    def emit(self, slot: Slot, piece: "bytes | np.ndarray") -> None:
        """Hand over a piece of output, bytes or an object with ``nbytes``; wait while too much is held.

        Raises _QueueStopped.
        """
        size = _size(piece)
        with self._lock:
            while not self._has_room(slot, size):
                room = threading.Condition(self._lock)
                heappush(self._for_room, (slot.order, room))
                room.wait()
            if self._is_stopped:
                raise _QueueStopped
            slot.pieces.append(piece)
            self._held += size
            if self._slots[0] is slot:
                self._wake_caller()
            self._let_one_go_on()

    def _has_room(self, slot: Slot, size: int) -> bool:
        """Return whether a piece may be handed over now; if not, its worker waits."""
        if self._is_stopped or not self._held or self._held + size <= self._budget:
            return True
        due = self._slots[0]
        # Or the slot that is due still has to be taken by a worker.
        return (due is slot and not slot.pieces) or due in [first for _, first, _ in self._continuations[:1]]

    def _let_one_go_on(self) -> None:
        """Wake the first worker that waits for room, if there may be enough, and no others."""
        waiting = self._for_room
        if waiting and (self._held < self._budget or waiting[0][0] == self._slots[0].order):
            heappop(waiting)[1].notify()

    def _let_all_go_on(self) -> None:
        while self._for_room:
            heappop(self._for_room)[1].notify()

    def do(self, slot: Slot, work: Callable[..., Any], *arguments: Any) -> None:
        """Process an item: its result is ``work(*arguments)``."""
        try:
            self.finish(slot, work(*arguments))
        except _QueueStopped:
            pass
        except BaseException as error:
            self.finish(slot, error=error)

    def finish(self, slot: Slot, result: Any = None, error: BaseException | None = None) -> None:
        """Mark an item as done, or as failed with an error."""
        with self._lock:
            slot.is_done, slot.result = True, result
            if error is not None:
                slot.errors = [error]
                self._is_whole = True  # later items are not needed
                self._wake_workers()
            if error is not None or self._slots[0] is slot:
                self._wake_caller()

    def fail(self, error: BaseException) -> None:
        """Record that a worker failed outside an item; every item in progress fails with its error."""
        with self._lock:
            self._errors, self._is_whole = [error], True
            self._wake_workers()
            self._wake_caller()

    def stop(self) -> None:
        """Stop all workers."""
        # An interrupt of the caller may have come after the lock was taken and before the code that
        # releases it.
        self._lock.acquire(timeout=_STOPPING)
        try:
            self._is_stopped = True
            self._wake_workers()
            self._let_all_go_on()
        finally:
            with suppress(RuntimeError):  # until this thread holds it no more
                while True:
                    self._lock.release()

    def close(self) -> None:
        """Close the iterator of items, unless a worker is still waiting for one; forget unraised errors."""
        for slot in self._slots:
            slot.errors.clear()
        if hasattr(self._items, "close") and self._pulling.acquire(blocking=False):
            self._items.close()

    def results(self, write: Callable[[Any], object] | None) -> Generator[Any, None, None]:
        """Pass the pieces of each item to ``write`` in this thread, then yield its result; all in order.

        Raises the error of a worker, or of making an item, when its slot is due.
        """
        while (due := self._next()) is not None:
            slot, pieces = due
            if pieces:
                assert write, "pieces are emitted, but there is no write function"
                for piece in pieces:
                    write(piece)
                with self._lock:
                    self._held -= sum(map(_size, pieces))
                    self._let_one_go_on()
                continue
            if slot.errors:
                raise slot.errors.pop()
            with self._lock:
                was_full = len(self._slots) == self._ahead
                self._slots.popleft()
                self._let_one_go_on()  # another slot is due
                if was_full or not self._slots:
                    self._wake_workers()
            yield slot.result

    def _next(self) -> tuple[Slot, list] | None:
        """Return (the slot that is due, what it emitted; nothing once it is done); None at the end."""
        while True:
            with self._lock:
                slot = self._slots[0] if self._slots else None
                if slot and (slot.pieces or slot.is_done):
                    pieces = list(slot.pieces)
                    slot.pieces.clear()
                    return slot, pieces
                if self._errors:
                    raise self._errors.pop()
                if not slot and self._is_whole:
                    return None
            self._news.acquire()


def _size(piece: "bytes | np.ndarray") -> int:
    return piece.nbytes if hasattr(piece, "nbytes") else len(piece)


# Threads for a queue: one for each worker; results in order.

_PATIENCE = 1.0  # seconds for threads to end after an interrupt


def run_ordered(
    items: Iterable[Any],
    workers: Sequence[Callable[..., Any]],
    write: Callable[[Any], object] | None,
    budget: int = _BUDGET,
    ahead: int = _AHEAD,
) -> Generator[Any, None, None]:
    """Yield the result of ``work(emit, item)`` for each item in order; ``workers`` has one ``work`` each.

    Each worker has a thread.  ``emit`` takes pieces of output, which the caller's thread passes to ``write``
    in order; up to ``budget`` bytes of these wait, with many workers a quarter of it for each.  If a result
    is Parts, the results of these are yielded instead.
    """
    queue = OrderedQueue(items, max(budget, budget // 4 * len(workers)), ahead)

    def step(work: Callable[..., Any], slot: Slot, item: Any) -> Any:
        emit = partial(queue.emit, slot)
        result = work(emit, item)
        if isinstance(result, Parts):
            queue.split(slot, result[1:])
            return work(emit, result[0])
        return result

    def loop(work: Callable[..., Any]) -> None:
        while (taken := queue.get()) is not None:
            queue.do(taken[0], step, work, *taken)

    yield from run(queue, [partial(loop, work) for work in workers], write)


def add_up(
    results: Generator[Any, None, None], total: Any, progress: Progress, say: Callable[[Any, float], str]
) -> Any:
    """Add results to a ``total`` as they come, show ``say(total, seconds)``, and return the total."""
    start = time.monotonic()
    with closing(results):
        for result in results:
            total.add(result)
            progress.show(say(total, max(time.monotonic() - start, 1e-9)))
    return total


def run(
    queue: OrderedQueue, loops: Sequence[Callable[[], None]], write: Callable[[Any], object] | None
) -> Generator[Any, None, None]:
    """Start a thread for each loop, yield results in order, and end the threads in any case.

    After an interrupt, a thread that waits for input may be left running, because the input may never come.
    """

    def guarded(loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:
            queue.fail(error)

    threads = [threading.Thread(target=guarded, args=(loop,), daemon=True) for loop in loops]
    end: float | None = None
    try:
        for thread in threads:
            thread.start()
        yield from queue.results(write)
    except KeyboardInterrupt:
        end = time.monotonic() + _PATIENCE
        raise
    finally:
        queue.stop()
        for thread in threads:
            if thread.ident is not None:  # only if it was started
                thread.join(end and max(0, end - time.monotonic()))
        queue.close()
