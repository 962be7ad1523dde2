"""Compiling by several processes: numba compiles one function at a time in each.

A process is handed one name after the other (entries.py), compiles it and keeps it on disk.
"""

import gc
import os
import subprocess
import sys
import threading
from collections import deque
from contextlib import contextmanager

from . import functions, object_cache
from .entries import Entry, function_of, import_bodies, known

_SECONDS_OF_KB, _SECONDS_TO_START = 0.025, 1.5


class Workers:
    """Processes that compile, started at once; ``shared``: for all who run this fmx."""

    def __init__(self, n: int, shared: bool):
        program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import work; work({shared})"
        how: dict = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-c", program]
        self._processes = [subprocess.Popen(command, text=True, **how) for _ in range(n)]

    def compile(self, entries: list[Entry], done=lambda entry: None) -> list[Entry]:
        """Compile entries, those with most code first; ``done(entry)`` is called after each.

        Returns those that were not compiled: a process ended, or the code cannot be called.
        """
        waiting = deque(sorted(entries, key=lambda entry: -entry.size))
        failed: list = []

        def feed(process) -> None:
            while waiting:
                try:
                    entry = waiting.popleft()
                except IndexError:
                    return
                try:
                    print(entry.name, file=process.stdin, flush=True)
                    answer = process.stdout.readline().strip()
                except OSError:  # it ended
                    answer = ""
                if answer == "kept":
                    done(entry)
                else:
                    failed.append(entry)
                    if not answer:
                        return

        threads = [threading.Thread(target=feed, args=(process,)) for process in self._processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [*failed, *waiting]

    def end(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            process.communicate()


@contextmanager
def workers(n: int, shared: bool = False):
    """``n`` Workers, which end with the block."""
    started = Workers(n, shared)
    try:
        yield started
    finally:
        started.end()


def n_processes(entries: list[Entry]) -> int:
    """How many processes are of use."""
    return max(1, min(len(os.sched_getaffinity(0)), len(entries)))


def seconds(entries: list[Entry], n: int) -> float:
    """About how long ``n`` processes take."""
    return _SECONDS_TO_START + _SECONDS_OF_KB * sum(entry.size for entry in entries) / n


def work(shared: bool) -> None:
    """Compile each name that a line of standard input holds, and answer by a line."""
    gc.disable()
    functions.work_alone()
    if shared:
        object_cache.keep_for_all()
    for line in sys.stdin:
        try:
            import_bodies()
            function, kinds = function_of(known()[line.strip()])
            kept = function.code(kinds) is not None and object_cache.is_kept()
        except Exception as error:  # whatever it is: the command that needs the function will tell
            kept = False
            print(repr(error).replace("\n", " "), flush=True)
        else:
            print("kept" if kept else "not callable", flush=True)


def is_kept(entry: Entry) -> bool:
    """Whether the code of an entry is on disk."""
    function, kinds = function_of(entry)
    return object_cache.load(object_cache.name_of(function.function, kinds)) is not None
