"""Threads that run compiled functions in parallel, without Python's global lock."""

import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Generic, TypeVar

from ..system import process

T = TypeVar("T")


def available_cores() -> int:
    """Return the cores this process may use, by its affinity and the quota of a container or batch job."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = process.cores()
    return own if quota > own else max(math.ceil(quota), 1)


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


class Pool(Generic[T]):
    """Objects such as buffers, each used by one thread at a time; ``make()`` creates one if none is idle."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self.idle: deque[T] = deque()

    def take(self) -> T:
        """Take an object that nobody uses."""
        try:
            return self.idle.pop()
        except IndexError:
            return self._make()

    def give_back(self, thing: T) -> None:
        """Return an object to the pool."""
        self.idle.append(thing)


# Futures that pass a result from one piece of an input to the next, possibly in another thread.


def settled(result: Any) -> Future:
    """Return a Future that has a result."""
    future: Future = Future()
    future.set_result(result)
    return future


def settle(future: Future, result: Any = None) -> None:
    """Set the result of a Future unless it has one; None means that its waiter need not go on."""
    if not future.done():
        future.set_result(result)
