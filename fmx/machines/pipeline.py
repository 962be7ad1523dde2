"""The one road that work takes: pulled by unlike workers, given back in order, in bounded memory.

    items     an iterator, advanced by whoever needs work, one at a time
    workers   take an item and with it a ticket, emit pieces of output, and finish with a result
    shares    what a worker may cut its item into: items that stand in its place, for any worker
    caller    gets pieces and results in the order of the tickets, and does nothing else

A slow worker pulls less often: that is all the load balancing there is.  Of pieces that must wait for those
before them, at most ``budget`` bytes are held; the owner of the ticket that is due may always emit one.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Emit: TypeAlias = Callable[[Any], object]  # takes pieces of output (bytes or uint8 arrays)

BUDGET = 64 << 20
AHEAD = 256  # tickets given beyond the one that is due
STOPPING = 1.0  # seconds for a lock that nobody holds so long


class Ticket:
    """The place of one item in the ``order``, and what its worker has handed over so far."""

    __slots__ = ("error", "is_done", "order", "pieces", "result")

    def __init__(self, *order: int) -> None:
        self.order, self.is_done, self.result = order, False, None
        self.pieces: deque = deque()
        self.error: BaseException | None = None


class Shares(list):
    """What an item is cut into: items that any worker may do; each has a result of its own."""


class Stopped(Exception):
    """Nobody waits for this work any more."""


class Road:
    """The work of one run, shared by its workers."""

    def __init__(self, items: Iterable[Any], budget: int = BUDGET, ahead: int = AHEAD) -> None:
        self._items, self._budget, self._ahead = iter(items), budget, ahead
        self._pulling = threading.Lock()  # while an item is made, which may read a file
        lock = threading.Lock()
        self._for_items, self._for_follow_ups = threading.Condition(lock), threading.Condition(lock)
        self._for_pieces, self._lock = threading.Condition(lock), lock
        self._for_room: list = []  # a heap of (order of a ticket, what its worker waits on)
        self._tickets: deque = deque()  # from the one that is due on
        self._follow_ups: list = []  # a heap of (order, ticket, work)
        self._n_pulled = 0
        self._held, self._is_whole, self._is_stopped = 0, False, False
        self._error: BaseException | None = None  # of a worker, not of an item

    def take(
        self, items: bool = True, follow_ups: bool = True, wait: bool = True
    ) -> tuple[Ticket, Any] | None:
        """The next (ticket, item), or what ``follow_up`` was given; None at the end.

        ``items``, ``follow_ups``: which of these are wanted; without ``wait`` None also if none is there now.
        """
        waiting = self._for_follow_ups if follow_ups else self._for_items
        while True:
            with waiting:
                while True:
                    if self._is_stopped:
                        return None
                    if follow_ups and self._follow_ups:
                        return heappop(self._follow_ups)[1:]
                    if self._is_whole and not (follow_ups and self._tickets):
                        return None
                    if items and not self._is_whole and len(self._tickets) < self._ahead:
                        break
                    if not wait:
                        return None
                    waiting.wait()
            if (taken := self._pull()) is not None:
                return taken

    def _pull(self) -> tuple[Ticket, Any] | None:
        with self._pulling:
            if self._is_whole or self._is_stopped:
                return None
            ticket, item, is_over = Ticket(self._n_pulled), None, False
            self._n_pulled += 1
            try:
                item = next(self._items)
            except StopIteration:
                is_over = True
            except BaseException as error:
                ticket.is_done, ticket.error = True, error
            with self._for_pieces:
                if not self._tickets:
                    self._for_pieces.notify()
                if not is_over:
                    self._tickets.append(ticket)
                if is_over or ticket.is_done:
                    self._end()
                    return None
            return ticket, item

    def _end(self) -> None:
        """No item will be taken any more."""
        self._is_whole = True
        self._wake_workers()

    def _wake_workers(self) -> None:
        self._for_items.notify_all()
        self._for_follow_ups.notify_all()

    def follow_up(self, ticket: Ticket, work: Callable[[], Any]) -> None:
        """Leave the rest of an item to whoever takes it: (ticket, work)."""
        with self._for_follow_ups:
            heappush(self._follow_ups, (ticket.order, ticket, work))
            self._for_follow_ups.notify()
            self._let_all_go_on()  # who waits for room may be needed

    def split(self, ticket: Ticket, shares: Sequence[Any]) -> None:
        """Put shares of an item right behind its ticket, each with one of its own, for whoever takes them."""
        with self._for_follow_ups:
            at = self._tickets.index(ticket) + 1
            for number, share in enumerate(shares):
                behind = Ticket(*ticket.order, number)
                self._tickets.insert(at + number, behind)
                heappush(self._follow_ups, (behind.order, behind, share))
            self._for_follow_ups.notify_all()

    def emit(self, ticket: Ticket, piece: "bytes | np.ndarray") -> None:
        """Hand over a piece of output, bytes or what has ``nbytes``; waits while too much is held.

        Raises Stopped.
        """
        size = _size(piece)
        with self._lock:
            while not self._has_room(ticket, size):
                room = threading.Condition(self._lock)
                heappush(self._for_room, (ticket.order, room))
                room.wait()
            if self._is_stopped:
                raise Stopped
            ticket.pieces.append(piece)
            self._held += size
            if self._tickets[0] is ticket:
                self._for_pieces.notify()
            self._let_one_go_on()

    def _has_room(self, ticket: Ticket, size: int) -> bool:
        """May a piece be handed over now?  If not, its worker waits."""
        if self._is_stopped or not self._held or self._held + size <= self._budget or self._is_due_left():
            return True
        return self._tickets[0] is ticket and not ticket.pieces

    def _let_one_go_on(self) -> None:
        """Wake the first of those that wait for room, if there may be some for it, and no others."""
        waiting = self._for_room
        if waiting and (self._held < self._budget or waiting[0][0] == self._tickets[0].order):
            heappop(waiting)[1].notify()

    def _let_all_go_on(self) -> None:
        while self._for_room:
            heappop(self._for_room)[1].notify()

    def _is_due_left(self) -> bool:
        """Does the ticket that is due wait for somebody to take it?"""
        return bool(self._follow_ups) and self._follow_ups[0][1] is self._tickets[0]

    def do(self, ticket: Ticket, work: Callable[..., Any], *arguments: Any) -> None:
        """Do an item: its result is ``work(*arguments)``."""
        try:
            self.finish(ticket, work(*arguments))
        except Stopped:
            pass
        except BaseException as error:
            self.finish(ticket, error=error)

    def finish(self, ticket: Ticket, result: Any = None, error: BaseException | None = None) -> None:
        """Say that an item is done, or how it failed."""
        with self._for_pieces:
            ticket.is_done, ticket.result, ticket.error = True, result, error
            if error is not None:
                self._end()  # what comes later is not wanted
            if error is not None or self._tickets[0] is ticket:
                self._for_pieces.notify()

    def fail(self, error: BaseException) -> None:
        """Say that a worker failed by itself: every item that is under way ends so."""
        with self._for_pieces:
            self._error = error
            self._end()
            self._for_pieces.notify()

    def stop(self) -> None:
        """Send the workers home."""
        # An interrupt of the caller may have come between taking the lock and what would give it back.
        self._lock.acquire(timeout=STOPPING)
        try:
            self._is_stopped = True
            self._wake_workers()
            self._let_all_go_on()
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close what makes the items, unless somebody was left who waits for one."""
        if hasattr(self._items, "close") and self._pulling.acquire(blocking=False):
            self._items.close()

    def results(self, write: Callable[[Any], object] | None) -> Generator[Any, None, None]:
        """Yield the result of each item in order, after ``write`` was given its pieces, by this thread.

        Raises what a worker, or the making of an item, has raised, when its turn comes.
        """
        while (ticket := self._due()) is not None:
            while pieces := self._pieces(ticket):
                for piece in pieces:
                    write(piece)  # type: ignore[misc]  # None only where nothing is emitted
                with self._lock:
                    self._held -= sum(map(_size, pieces))
                    self._let_one_go_on()
            if ticket.error is not None:
                raise ticket.error
            with self._lock:
                was_full = len(self._tickets) == self._ahead
                self._tickets.popleft()
                self._let_one_go_on()  # another ticket is due
                if was_full or not self._tickets:
                    self._wake_workers()
            yield ticket.result

    def _due(self) -> Ticket | None:
        """The first ticket that is not done with; None at the end."""
        with self._lock:  # not by its condition, whose code an interrupt could end after the lock was taken
            while not self._tickets:
                if self._error is not None:
                    raise self._error
                if self._is_whole:
                    return None
                self._for_pieces.wait()
            return self._tickets[0]

    def _pieces(self, ticket: Ticket) -> list:
        """What has been handed over for the ticket that is due; nothing when it is done."""
        with self._lock:
            while not (ticket.pieces or ticket.is_done):
                if self._error is not None:
                    raise self._error
                self._for_pieces.wait()
            pieces = list(ticket.pieces)
            ticket.pieces.clear()
            return pieces


def _size(piece: "bytes | np.ndarray") -> int:
    return piece.nbytes if hasattr(piece, "nbytes") else len(piece)


# The threads of a road (pipeline.py): one for each worker, and what they have done, in order.

# Of the budget, where there are many workers: what one hands over at a time, so that it need not wait.
OF_A_WORKER = 16 << 20
PATIENCE = 1.0  # seconds for threads to end after an interrupt


def travel(
    items: Iterable[Any], workers: Sequence[Callable[..., Any]], write: Callable[[Any], object] | None
) -> Generator[Any, None, None]:
    """Yield the result of ``work(emit, item)`` for each item in order, by one ``work`` of the ``workers``.

    Each of them has a thread.  ``emit`` takes pieces of output, which ``write`` is given in order by the
    caller's thread.  Where the result is Shares, the results of these are yielded in its place.
    """
    road = Road(items, max(BUDGET, OF_A_WORKER * len(workers)))

    def step(work: Callable[..., Any], ticket: Ticket, item: Any) -> Any:
        emit = partial(road.emit, ticket)
        result = work(emit, item)
        if isinstance(result, Shares):
            road.split(ticket, result[1:])
            return work(emit, result[0])
        return result

    def loop(work: Callable[..., Any]) -> None:
        while (taken := road.take()) is not None:
            road.do(taken[0], step, work, *taken)

    yield from run(road, [partial(loop, work) for work in workers], write)


def run(
    road: Road, loops: Sequence[Callable[[], None]], write: Callable[[Any], object] | None
) -> Generator[Any, None, None]:
    """Start a thread for each loop, yield results in order, and end the threads whatever happens.

    After an interrupt a thread is left that waits for input, which may never come.
    """

    def guarded(loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:
            road.fail(error)

    threads = [threading.Thread(target=guarded, args=(loop,), daemon=True) for loop in loops]
    end: float | None = None
    try:
        for thread in threads:
            thread.start()
        yield from road.results(write)
    except KeyboardInterrupt:
        end = time.monotonic() + PATIENCE
        raise
    finally:
        road.stop()
        for thread in threads:
            if thread.ident is not None:  # it could be started
                thread.join(end and max(0, end - time.monotonic()))
        road.close()
