"""Work spread over threads: compiled pieces run without Python's global lock."""

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
    """Cores this process may use: by its affinity, and by the quota of a container or a batch job."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = process.cores()
    return own if quota > own else max(math.ceil(quota), 1)


def spans(n: int, n_parts: int, multiple: int = 1) -> list:
    """Cut range(n) into at most n_parts (start, stop) whose borders are multiples of ``multiple``."""
    n_units = -(-n // multiple)
    cuts = sorted({n_units * part // n_parts * multiple for part in range(n_parts)} | {n})
    return [(start, min(stop, n)) for start, stop in pairwise(cuts)]


def run_all(function: Callable[..., Any], arguments: Sequence[Sequence[Any]], n_threads: int) -> list:
    """``[function(*a) for a in arguments]``, by n_threads threads."""
    if n_threads == 1 or len(arguments) == 1:
        return [function(*a) for a in arguments]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(lambda a: function(*a), arguments))


def start(n_threads: int, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Start a function beside the caller if a thread is free; call what is returned for its value."""
    if n_threads == 1:
        return lambda: function(*arguments)
    pool = ThreadPoolExecutor(1)
    future = pool.submit(function, *arguments)
    pool.shutdown(wait=False)
    return future.result


class Pool(Generic[T]):
    """Things that a thread uses alone, as buffers are; ``make()`` gives another where none is ``idle``."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self.idle: deque[T] = deque()

    def take(self) -> T:
        """One that nobody uses, until it is given back."""
        try:
            return self.idle.pop()
        except IndexError:
            return self._make()

    def give_back(self, thing: T) -> None:
        """Let another thread use it."""
        self.idle.append(thing)


# What one piece of an input passes on to the next one, which another thread may have: a Future.


def settled(result: Any) -> Future:
    """A Future whose result is known."""
    future: Future = Future()
    future.set_result(result)
    return future


def settle(future: Future, result: Any = None) -> None:
    """Give a Future a result unless it has one; None: whoever waits for it need not go on."""
    if not future.done():
        future.set_result(result)
