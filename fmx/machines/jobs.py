"""Threads of the CPU, and jobs: the steps of building an index, written once, for CPU cores or a GPU.

A job is a NamedTuple of arrays.  An overload of ``do`` for its type processes the things [start, stop), a
stretch; stretches are independent of each other.  A backend chooses their size and runs them: Cores gives one
to each CPU thread, gpu_jobs.Gpu one to each GPU thread.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..compiler.functions import by_type, compiled

# An array in the memory of a Backend: NumPy's, or a gpu.DeviceArray.
Array: TypeAlias = Any


# Threads run compiled functions in parallel, without Python's global lock.


def spans(n: int, n_parts: int, multiple: int = 1) -> list:
    """Cut range(n) into at most n_parts (start, stop) at multiples of ``multiple``."""
    n_units = -(-n // multiple)
    cuts = sorted({n_units * part // n_parts * multiple for part in range(n_parts)} | {n})
    return [(start, min(stop, n)) for start, stop in pairwise(cuts)]


def run_all(function: Callable[..., Any], arguments: Sequence[Sequence[Any]], n_threads: int) -> list:
    """Return ``[function(*a) for a in arguments]``, computed by n_threads threads."""
    if n_threads == 1 or len(arguments) == 1:
        return [function(*a) for a in arguments]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(lambda a: function(*a), arguments))


def start(n_threads: int, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Start a function in a second thread if n_threads allows it; call what it returns for the result."""
    if n_threads == 1:
        return lambda: function(*arguments)
    pool = ThreadPoolExecutor(1)
    future = pool.submit(function, *arguments)
    pool.shutdown(wait=False)
    return future.result


class Pool:
    """Objects such as buffers, each used by one thread at a time; ``make()`` creates one if none is idle."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self.idle: deque = deque()

    def get(self) -> Any:
        """Return an object that nobody uses."""
        try:
            return self.idle.pop()
        except IndexError:
            return self._make()

    def put(self, thing: Any) -> None:
        """Give an object back to the pool."""
        self.idle.append(thing)


# Futures that pass a result from one piece of an input to the next, possibly in another thread.


def future_of(result: Any) -> Future:
    """Return a Future that has a result."""
    future: Future = Future()
    future.set_result(result)
    return future


_thread = threading.local()  # ``queue``: what a thread still has to do of ``when_done``


def when_done(future: Future, work: Callable[[Any], None]) -> None:
    """Call ``work(result)`` once a Future has a result: now, or in the thread that sets it.

    If it sets the result of another Future, what waits for that follows, at the same depth of calls.
    """
    works = [work]  # the Future keeps the list, but not the work

    def do_in_turn(future: Future) -> None:
        queue = getattr(_thread, "queue", None)
        if queue is not None:
            queue.append((works.pop(), future))
            return
        _thread.queue = queue = deque([(works.pop(), future)])
        try:
            while queue:
                work, future = queue.popleft()
                work(future.result())
        finally:
            _thread.queue = None

    future.add_done_callback(do_in_turn)


def set_once(future: Future, result: Any = None) -> None:
    """Set the result of a Future unless it has one; None means that its waiter need not go on."""
    if not future.done():
        future.set_result(result)


def pass_on(before: Future, behind: Future, work: Callable[[Any], Any]) -> Any:
    """Set the result of ``behind`` to ``work(result of before)``, or None if that is None; return it.

    The thread that sets the result of ``before`` works for all that wait for it.  If each thread waited for
    the one before, an item would take as long as Python's lock to change threads.  Raises the errors of
    ``work``.
    """
    errors: list[BaseException] = []

    def go_on(result: Any) -> None:
        try:
            set_once(behind, None if result is None else work(result))
        except BaseException as error:
            errors.append(error)
            set_once(behind)

    when_done(before, go_on)
    result = behind.result()
    if errors:
        raise errors.pop()
    return result


# Jobs.


@by_type
def do(job, stretch, start, stop):
    """Process the things [start, stop) of a job, its stretch number ``stretch``."""


@by_type
def choose(choice, i):
    """Return the value to keep for thing i, from 0 to 2^32 - 1, or -1 if it is not chosen."""


@do.of("choice totals")
def CountChosen(job, stretch, start, stop):
    """Set ``totals`` int64[stretches] to how many things of each stretch are chosen."""
    n = np.int64(0)
    for i in range(start, stop):
        if choose(job.choice, i) >= 0:
            n += 1
    job.totals[stretch] = n


@do.of("choice starts picked")
def PickChosen(job, stretch, start, stop):
    """Write the kept values to ``picked`` uint32; those of a stretch begin at ``starts`` int64[stretches]."""
    to = job.starts[stretch]
    for i in range(start, stop):
        kept = choose(job.choice, i)
        if kept >= 0:
            job.picked[to] = kept
            to += 1


class Cores:
    """A backend: a number of CPU threads.  The arrays of a backend are in its own memory.

    ``serial``: whether one thread may scan a whole text in reasonable time; ``memory``: bytes that arrays on
    a GPU may take; ``errors``: a context in which errors of a GPU become DeviceError; ``empty``, ``zeros``:
    (shape, dtype), allocate an array; ``from_host`` copies a host array, or a NamedTuple of arrays, to the
    backend, ``to_host`` an array to the host.
    """

    serial, memory = True, 0
    errors: Callable[[], AbstractContextManager] = nullcontext
    empty: Callable[..., Any] = staticmethod(np.empty)
    zeros: Callable[..., Any] = staticmethod(np.zeros)
    from_host: Callable[[Any], Any] = staticmethod(lambda array: array)
    to_host: Callable[[Any], np.ndarray] = staticmethod(lambda array: array)
    sort_pairs: Callable[..., tuple[Any, Any]]  # kernels.sort_pairs, on a GPU alone

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads

    def pieces(self, array: Array, n: int) -> Iterator[np.ndarray]:
        """Yield the elements of an array on the host, n at a time, at least one piece, in any thread.

        Each piece is valid until the next.
        """
        flat = np.ascontiguousarray(array).reshape(-1)
        for i in range(0, max(flat.size, 1), n):
            yield flat[i : i + n]

    def stretch_size(self, n: int, multiple: int = 1) -> int:
        """Return the things per stretch, a multiple of ``multiple``, that keep every thread busy."""
        return max(-(-n // self.n_threads // multiple), 1) * multiple

    def run(self, job: NamedTuple, n: int, size: int | None = None) -> None:
        """Process all n things of a job, ``size`` per stretch."""
        size = size or self.stretch_size(n)
        starts = enumerate(range(0, n, size))
        stretches = [(job, stretch, start, min(start + size, n)) for stretch, start in starts]
        run_all(_do_stretch, stretches, self.n_threads)

    def select(self, choice: NamedTuple, n: int) -> Array:
        """Return the kept values of the chosen among n things, in order, as uint32."""
        ends = self.count(choice, n)
        return self.pick(choice, n, ends, self.empty(int(ends[-1]), np.uint32))

    def count(self, choice: NamedTuple, n: int, multiple: int = 1) -> np.ndarray:
        """Return int64 on the host: 0, then the number of chosen things up to the end of each stretch."""
        size = self.stretch_size(n, multiple)
        totals = self.zeros(-(-n // size), np.int64)
        self.run(CountChosen(choice, totals), n, size)
        return np.concatenate([[0], np.cumsum(self.to_host(totals))])

    def pick(self, choice: NamedTuple, n: int, ends: np.ndarray, into: Array, multiple: int = 1) -> Array:
        """Write the kept values to the start of ``into`` and return them; ``ends`` comes from ``count``."""
        if ends[-1]:
            self.run(PickChosen(choice, self.from_host(ends[:-1]), into), n, self.stretch_size(n, multiple))
        return into[: ends[-1]]


Backend: TypeAlias = Cores  # or gpu_jobs.Gpu, its subclass
ONE_CORE = Cores()


@compiled
def _do_stretch(job, stretch, start, stop):
    do(job, stretch, start, stop)


# Split things that have sizes into portions.


def runs(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of runs of things whose ``sizes`` (int64[n]) total at most ``most``, or of one.

    A thing of size 0 counts as 1.
    """
    ends, start, done = np.cumsum(np.maximum(sizes, 1), dtype=np.int64), 0, 0
    while start < sizes.size:
        stop = max(int(np.searchsorted(ends, done + most, "right")), start + 1)
        yield start, stop
        start, done = stop, int(ends[stop - 1])


def cuts(sizes: np.ndarray, most: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (i, start, stop): things i, i + 1, ..., each from start[j] to stop[j], with a total of ``most``.

    ``sizes`` is int64[n]; things are cut where necessary; start and stop are int64 arrays.
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if ends.size else 0
    for begin in range(0, total, most):
        end = min(begin + most, total)
        a, b = int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(ends, end)) + 1
        start, stop = np.zeros(b - a, np.int64), sizes[a:b].copy()
        start[0], stop[-1] = begin - (ends[a] - sizes[a]), end - (ends[b - 1] - sizes[b - 1])
        yield a, start, stop
