"""Work in stretches: the steps that make an index's arrays, written once, done by CPU cores or by a GPU.

A job is a NamedTuple of arrays; a body of ``do`` for its type does the things [start, stop) of it, and the
stretches of a job do not know of each other.  A backend says how large they are and who does them: Cores
gives one to each thread of the CPU, gpu_jobs.Gpu one to each thread of the GPU.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..compiler.functions import by_type, compiled
from .threads import run_all


@by_type
def do(job, stretch, start, stop):
    """Do the things [start, stop) of a job, which are its stretch number ``stretch``."""


@by_type
def choose(choice, i):
    """What is kept of thing i, a number from 0 to 2^32 - 1, or -1 if it is not chosen."""


class CountChosen(NamedTuple):
    """``totals`` int64[stretches]: how many things of each stretch are chosen."""

    choice: Any
    totals: Any


class PickChosen(NamedTuple):
    """``picked`` uint32: what is kept, that of a stretch from ``starts`` int64[stretches] on."""

    choice: Any
    starts: Any
    picked: Any


@do.register(CountChosen)
def _count(job, stretch, start, stop):
    n = np.int64(0)
    for i in range(start, stop):
        if choose(job.choice, i) >= 0:
            n += 1
    job.totals[stretch] = n


@do.register(PickChosen)
def _pick(job, stretch, start, stop):
    to = job.starts[stretch]
    for i in range(start, stop):
        kept = choose(job.choice, i)
        if kept >= 0:
            job.picked[to] = kept
            to += 1


class Backend:
    """What both backends can do; a backend's arrays lie in its own memory."""

    serial = False  # whether one thread may well pass over a whole text
    n_threads = 1
    memory = 0  # bytes that a GPU's arrays may take
    errors: Callable[[], AbstractContextManager]  # within it, what a GPU reports becomes DeviceError
    empty: Callable[..., Any]  # (shape, dtype): an array of the backend
    zeros: Callable[..., Any]
    take: Callable[[Any], Any]  # an array of the host, or a NamedTuple of them, to the backend
    to_host: Callable[[Any], np.ndarray]
    # (array, n): its elements on the host, n at a time, one piece at least; each is valid until the next
    pieces: Callable[[Any, int], Iterator[np.ndarray]]
    run: Callable[..., None]  # (job, n, size): do all n things of a job
    stretch_size: Callable[..., int]  # (n, multiple): things of a stretch that keep every thread busy
    sort_pairs: Callable[..., tuple[Any, Any]]
    synchronize: Callable[[], None]

    def select(self, choice: Any, n: int) -> Any:
        """uint32: what is kept of the chosen among n things, in their order."""
        ends = self.count(choice, n)
        return self.pick(choice, n, ends, self.empty(int(ends[-1]), np.uint32))

    def count(self, choice: Any, n: int, multiple: int = 1) -> np.ndarray:
        """int64 on the host: 0, then the number of the chosen up to the end of each stretch."""
        size = self.stretch_size(n, multiple)
        totals = self.zeros(-(-n // size), np.int64)
        self.run(CountChosen(choice, totals), n, size)
        return np.concatenate([[0], np.cumsum(self.to_host(totals))])

    def pick(self, choice: Any, n: int, ends: np.ndarray, into: Any, multiple: int = 1) -> Any:
        """What is kept of the chosen, at the beginning of ``into``; ``ends`` is their ``count``."""
        if ends[-1]:
            self.run(PickChosen(choice, self.take(ends[:-1]), into), n, self.stretch_size(n, multiple))
        return into[: ends[-1]]


class Cores(Backend):
    """Some threads of the CPU."""

    empty, zeros, serial = staticmethod(np.empty), staticmethod(np.zeros), True
    errors = nullcontext

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads

    def take(self, value: Any) -> Any:
        return value

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def pieces(self, array: np.ndarray, n: int) -> Iterator[np.ndarray]:
        flat = np.ascontiguousarray(array).reshape(-1)
        for i in range(0, max(flat.size, 1), n):
            yield flat[i : i + n]

    def synchronize(self) -> None:
        pass

    def stretch_size(self, n: int, multiple: int = 1) -> int:
        """Things of a stretch, a multiple of ``multiple``, such that every thread has one of n things."""
        return max(-(-n // self.n_threads // multiple), 1) * multiple

    def run(self, job: Any, n: int, size: int | None = None) -> None:
        """Do all n things of a job, ``size`` in a stretch; without it, in stretches of any size."""
        size = size or self.stretch_size(n)
        stretches = [
            (job, stretch, start, min(start + size, n)) for stretch, start in enumerate(range(0, n, size))
        ]
        run_all(_do_stretch, stretches, self.n_threads)

    def sort_pairs(
        self,
        keys: np.ndarray,
        values: np.ndarray,
        spare_keys: np.ndarray,
        spare_values: np.ndarray,
        n_bits: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(keys, values), uint64 and uint32, sorted by keys below 2^n_bits: in these arrays or the spare."""
        order = np.argsort(keys, kind="stable")
        spare_keys[:], spare_values[:] = keys[order], values[order]
        return spare_keys, spare_values


ONE_CORE = Cores()


@compiled
def _do_stretch(job, stretch, start, stop):
    do(job, stretch, start, stop)


# Things that have sizes, a portion at a time.


def runs(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of runs of things: sizes int64[n] of a run are ``most`` in all, or it is one.

    A thing of no size counts as if it were 1.
    """
    start = 0
    while start < sizes.size:
        stop = _stop_of_run(sizes, start, most)
        yield start, stop
        start = stop


@compiled
def _stop_of_run(sizes, start, most):
    done, i = max(sizes[start], 1), start + 1
    while i < sizes.size and done + max(sizes[i], 1) <= most:
        done += max(sizes[i], 1)
        i += 1
    return i


def cuts(sizes: np.ndarray, most: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (i, start, stop): things i, i + 1, ..., each from start[j] to stop[j], ``most`` in all.

    Things have ``sizes`` int64[n], and are cut where need be; start, stop int64.
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if ends.size else 0
    for begin in range(0, total, most):
        end = min(begin + most, total)
        a, b = int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(ends, end)) + 1
        start, stop = np.zeros(b - a, np.int64), sizes[a:b].copy()
        start[0], stop[-1] = begin - (ends[a] - sizes[a]), end - (ends[b - 1] - sizes[b - 1])
        yield a, start, stop
