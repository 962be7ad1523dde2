"""Compiling ahead: entry points, the functions that commands call, with the kinds of their arguments.

entry_points.txt is written by tests/entry_points.py, which runs the commands.  Its first line names the
modules with bodies of contracts.  Each other line has the kB of machine code; the commands that need it
without any option, and "usual" if a usual option needs it, comma-separated (- for none); and the name from
object_cache.py without the fingerprint.

kernels.txt, written by the same script, has such lines for kernels, which are compiled for each kind of GPU.

Numba compiles one function at a time in a process, so several processes get a part of the names each.
"""

import functools
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import n_of
from . import native, object_cache

PATH = Path(__file__).with_name("entry_points.txt")
KERNELS = Path(__file__).with_name("kernels.txt")


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


def needed_with(name: str) -> list:
    """Return the entries that the running command needs without options, if it needs the one of this name.

    Only those of which this process has imported everything that they name.
    """
    words = known()[name].commands if name in known() else ()
    running = {word for word in words if f"fmx.cli.commands.{word}" in sys.modules}

    def is_imported(dotted: str) -> bool:
        module, _, name = dotted.rpartition(".")
        return not dotted.startswith("fmx.") or hasattr(sys.modules.get(module), name)

    entries = [entry for entry in known().values() if entry.commands & running]
    return [entry for entry in entries if all(map(is_imported, entry.name.split()))]


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


def _code(entry: Entry, makes: bool) -> Any:
    """Return the code of an entry on disk, compiled if it ``makes``; None if there is none."""
    function, kinds = function_of(entry)
    what = (kinds, (int(entry.gpu[3:-1]), int(entry.gpu[-1]))) if entry.gpu else (kinds,)
    if makes:
        return function.code(*what)
    return object_cache.load(function.name(*what), object_cache.GPUS if entry.gpu else "")


def is_kept(entry: Entry) -> bool:
    """Return whether the code of an entry is on disk."""
    return _code(entry, makes=False) is not None


def compile_all(entries: list[Entry], n: int, level: str = "", listener: Any = None) -> list[Entry]:
    """Compile entries in at most ``n`` processes, for a native.Level of that name, or for this processor.

    ``listener`` is a Progress.  Returns those that were not compiled: a process ended, or the code cannot be
    called.
    """
    largest_first = sorted(entries, key=lambda entry: -entry.size)
    left = {str(number): entry for number, entry in enumerate(largest_first)}
    total, n = sum(entry.size for entry in entries), max(1, min(n, len(entries)))

    def message() -> str:
        return f"{len(entries) - len(left):,} of {n_of(len(entries), 'function')} compiled"

    def share() -> float:
        return 1 - sum(entry.size for entry in list(left.values())) / total

    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import work; work({level!r})"
    results, outlet = os.pipe()
    how: dict = {"stdin": subprocess.PIPE, "stdout": outlet, "stderr": subprocess.DEVNULL, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", program], **how) for _ in range(n)]
    os.close(outlet)
    try:
        with open(results) as lines, listener.alone(message, share) if listener else nullcontext():
            for i, process in enumerate(processes):
                part = [(number, entry.gpu, entry.name) for number, entry in list(left.items())[i::n]]
                assert process.stdin
                with suppress(OSError), process.stdin as stdin:  # the process ended
                    stdin.write(json.dumps(part))
            for line in lines:
                left.pop(line.strip(), None)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return list(left.values())


def work(level: str) -> None:
    """Compile the entries in standard input; print the numbers of those whose code can be called."""
    gc.disable()
    _may_start_others.clear()
    if level:
        native.compile_for(level)
    entries = json.load(sys.stdin)
    import_bodies()
    for number, gpu, name in entries:
        try:
            _code(Entry(0, frozenset(), name, gpu), makes=True)
            if object_cache.is_kept():
                print(number, flush=True)
        except Exception:  # any error: the command that needs the function will report it
            continue
    os._exit(0)  # LLVM takes 0.3 s to clean up


_may_start_others = [True]  # once per process


def work_alone() -> None:
    """Compile in this process only."""
    _may_start_others.clear()


def compile_others(name: str) -> None:
    """Compile what a command that lacks the function of this name is likely to need, in several processes."""
    if not _may_start_others:
        return
    missing = [entry for entry in needed_with(name) if not is_kept(entry)]
    n = min(len(os.sched_getaffinity(0)), len(missing))
    if n > 1 and object_cache.is_kept():
        work_alone()
        object_cache.report_compiling(f": {len(missing)} functions")
        compile_all(missing, n, "", *object_cache.listeners)
