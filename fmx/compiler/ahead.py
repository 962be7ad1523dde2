"""Compiling ahead: entry points, the functions that commands call, with the kinds of their arguments.

entry_points.txt is written by tests/entry_points.py, which runs the commands.  Its first line names the
modules with bodies of contracts.  Each other line has the kB of machine code; the commands that need it
without any option, and "usual" if a usual option needs it, comma-separated (- for none); and the name from
object_cache.py without the fingerprint.

kernels.txt, written by the same script, has such lines for kernels, which are compiled for each kind of GPU.

Numba compiles one function at a time in a process, so several processes receive one name after another,
compile the function and store it on disk.
"""

import functools
import gc
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import n_of
from . import native, object_cache

PATH = Path(__file__).with_name("entry_points.txt")
KERNELS = Path(__file__).with_name("kernels.txt")
GPUS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")  # A100 to Blackwell


class Entry(NamedTuple):
    """A line of a list; for a kernel, with the kind of GPU, such as "sm_90"."""

    size: int
    commands: frozenset
    name: str
    gpu: str = ""


@functools.cache
def known() -> dict:
    """Return the Entry of each name."""
    return {entry.name: entry for entry in _entries(PATH.read_text().splitlines()[1:])}


def usual() -> list[Entry]:
    """Return the entries that commands need without options, or with usual ones: those of a plain install."""
    return [entry for entry in known().values() if "-" not in entry.commands]


def kernels_for(gpu: str) -> list[Entry]:
    """Return the Entry of each kernel for a kind of GPU."""
    return list(_entries(KERNELS.read_text().splitlines(), gpu))


def _entries(lines: list, gpu: str = "") -> Iterator[Entry]:
    for line in lines:
        size, words, name = line.split(" ", 2)
        yield Entry(int(size), frozenset(words.split(",")), name, gpu)


def beside(name: str) -> list:
    """Return the entries that the running command needs without options, if it needs the one of this name."""
    first = known().get(name)
    running = (
        {word for word in first.commands if f"fmx.cli.commands.{word}" in sys.modules} if first else set()
    )
    return [entry for entry in known().values() if entry.commands & running and _is_loaded(entry)]


def _is_loaded(entry: Entry) -> bool:
    """Return whether this process has imported everything that an entry names."""
    named = (word.rpartition(".") for word in entry.name.split() if word.startswith("fmx."))
    return all(hasattr(sys.modules.get(module), name) for module, _, name in named)


@functools.cache
def import_bodies() -> None:
    """Import all bodies of contracts, as the commands that need an entry have done.  Raises ImportError."""
    for module in PATH.read_text().split("\n", 1)[0].split():
        import_module(module)


def function_of(entry: Entry) -> tuple[Any, tuple]:
    """Return the function or kernel of an entry, and the kinds of its arguments.

    The kinds are those of native.spread or kernels.spread.  Raises ImportError, AttributeError or TypeError
    if there is none.
    """
    name, *words = entry.name.split()
    return _named(name), tuple(map(_kind, words))


def _capability(gpu: str) -> tuple[int, int]:
    return int(gpu[3:-1]), int(gpu[-1])


def _named(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def _kind(word: str) -> Any:
    """Return the kind of argument that a word of a name denotes, as in native.spread."""
    if word == "None":
        return None
    if word.startswith("'"):
        return word[1:-1]
    if word.isdigit():
        return int(word)
    return _named(word) if "." in word else np.dtype(word)


class Workers:
    """Processes that compile, started at once, for a native.Level of that name, or for this processor."""

    def __init__(self, n: int, level: str) -> None:
        call = f"from {__name__} import work; work({level!r})"
        program = f"import sys; sys.path[:] = {sys.path!r}; {call}"
        how: dict = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-c", program]
        self._processes = [subprocess.Popen(command, text=True, **how) for _ in range(n)]

    def compile(self, entries: list[Entry], listener: object_cache.Listener | None = None) -> list[Entry]:
        """Compile entries, those with most code first, and show the progress.

        Returns those that were not compiled: a process ended, or the code cannot be called.
        """
        waiting = deque(sorted(entries, key=lambda entry: -entry.size))
        total = sum(entry.size for entry in entries)
        done: list = []
        failed: list = []

        def share() -> float:
            return sum(entry.size for entry in done) / total

        def message() -> str:
            return f"{len(done):,} of {n_of(len(entries), 'function')} compiled"

        def feed(process: Any) -> None:
            while waiting:
                try:
                    entry = waiting.popleft()
                except IndexError:
                    return
                try:
                    print(entry.gpu, entry.name, file=process.stdin, flush=True)
                    answer = process.stdout.readline().strip()
                except OSError:  # the process ended
                    answer = ""
                if answer == "kept":
                    done.append(entry)
                else:
                    failed.append(entry)
                    if not answer:
                        return

        threads = [threading.Thread(target=feed, args=(process,)) for process in self._processes]
        with listener.alone(message, share) if listener else nullcontext():
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
def workers(n: int, level: str = "") -> Iterator[Workers]:
    """Start ``n`` Workers, which end with the context."""
    started = Workers(n, level)
    try:
        yield started
    finally:
        started.end()


def n_processes(entries: list[Entry]) -> int:
    """Return how many processes are worthwhile."""
    return max(1, min(len(os.sched_getaffinity(0)), len(entries)))


_may_start_others = [True]  # once per process


def work_alone() -> None:
    """Compile in this process only."""
    _may_start_others.clear()


def compile_beside(name: str, report: Callable[[str], bool]) -> None:
    """Compile what a command that lacks the function of this name is likely to need, in several processes.

    ``report``: states that functions are compiled, and returns whether their code can be called.
    """
    if not _may_start_others:
        return
    wanted = [entry for entry in beside(name) if not is_kept(entry)]
    n = n_processes(wanted)
    if n == 1 or not object_cache.is_kept():
        return
    work_alone()
    with workers(n) as started:
        if report(f": {len(wanted)} functions"):
            started.compile(wanted, *object_cache.listeners)


def work(level: str) -> None:
    """Compile each name read from standard input, one per line, and answer with a line."""
    gc.disable()
    work_alone()
    if level:
        native.compile_for(level)
    for line in sys.stdin:
        try:
            import_bodies()
            gpu, _, name = line.strip("\n").partition(" ")
            kept = _is_made(Entry(0, frozenset(), name, gpu)) and object_cache.is_kept()
        except Exception as error:  # any error: the command that needs the function will report it
            kept = False
            print(repr(error).replace("\n", " "), flush=True)
        else:
            print("kept" if kept else "not callable", flush=True)


def _is_made(entry: Entry) -> bool:
    """Return whether the code of an entry, compiled if it is not on disk, can be called."""
    function, kinds = function_of(entry)
    if entry.gpu:
        return bool(function.compile(kinds, _capability(entry.gpu)))
    return function.code(kinds) is not None


def is_kept(entry: Entry) -> bool:
    """Return whether the code of an entry is on disk."""
    function, kinds = function_of(entry)
    if entry.gpu:
        return function.kept(kinds, _capability(entry.gpu)) is not None
    return object_cache.load(object_cache.name_of(function.function, kinds)) is not None
