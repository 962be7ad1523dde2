"""Compiling ahead: entry points, the functions that Python calls, with the kinds of their arguments.

tests/entry_points.py runs commands and writes two lists of what they call.  The first line of
entry_points.txt names the modules that have bodies of contracts.  Each other line has the kB of machine code;
"usual" if a common command needs it, else "-"; and its object_cache.plain_name.
kernels.txt has such lines for kernels, which are compiled for each kind of GPU.

Numba compiles one function at a time in a process, so the functions are shared out to several processes.
"""

import functools
import gc
import json
import os
import subprocess
import sys
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import n_of
from . import object_cache

PATH = Path(__file__).with_name("entry_points.txt")
KERNELS = Path(__file__).with_name("kernels.txt")


class Entry(NamedTuple):
    """A line of a list; for a kernel, with the kind of GPU, such as "sm_90"."""

    size: int
    is_usual: bool
    name: str
    gpu: str = ""


@functools.cache
def functions() -> list[Entry]:
    """Return the entries of functions of the CPU."""
    return _entries(PATH.read_text().splitlines()[1:])


def kernels_for(gpu: str) -> list[Entry]:
    """Return the entries of kernels for a kind of GPU."""
    return _entries(KERNELS.read_text().splitlines(), gpu)


def _entries(lines: list[str], gpu: str = "") -> list[Entry]:
    parts = (line.split(" ", 2) for line in lines)
    return [Entry(int(size), word == "usual", name, gpu) for size, word, name in parts]


@functools.cache
def import_bodies() -> None:
    """Import all bodies of contracts, as commands do before they call an entry.  Raises ImportError."""
    for module in PATH.read_text().split("\n", 1)[0].split():
        import_module(module)


def function_of(entry: Entry) -> tuple:
    """Return the function, or kernel, of an entry, then the arguments of its methods ``code`` and ``name``.

    These are the kinds of its arguments and, for a kernel, the compute capability.  Raises ImportError,
    AttributeError or TypeError if there is no such function.
    """
    name, *words = entry.name.split()
    capability = [(int(entry.gpu[3:-1]), int(entry.gpu[-1]))] if entry.gpu else []
    return _named(name), tuple(map(_kind, words)), *capability


def _named(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def _kind(word: str) -> Any:
    """Return the kind of argument that a word of a name denotes (object_cache.plain_name)."""
    if word == "None":
        return None
    if word.startswith("'"):
        return word[1:-1]
    if word.isdigit():
        return int(word)
    return _named(word) if "." in word else np.dtype(word)


def is_kept(entry: Entry) -> bool:
    """Return whether the code of an entry is on disk."""
    function, *what = function_of(entry)
    return object_cache.load(function.name(*what), object_cache.GPUS if entry.gpu else "") is not None


def compile_all(entries: list[Entry], n: int, listener: Any = None) -> list[Entry]:
    """Compile entries in at most ``n`` processes, for this processor or the level in FMX_COMPILE_FOR.

    ``listener``, a Progress, shows how many are compiled.  Returns the entries whose code is not on disk
    afterwards: it could not be compiled or stored, or the process ended.
    """
    largest_first = sorted(entries, key=lambda entry: -entry.size)
    left = {str(number): entry for number, entry in enumerate(largest_first)}
    n = max(1, min(n, len(entries)))

    def message() -> str:
        return f"{len(entries) - len(left):,} of {n_of(len(entries), 'function')} compiled"

    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import work; work()"
    results, outlet = os.pipe()
    how: dict = {"stdin": subprocess.PIPE, "stdout": outlet, "stderr": subprocess.DEVNULL, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", program], **how) for _ in range(n)]
    os.close(outlet)
    try:
        with open(results) as lines, listener.kept_up(message) if listener else nullcontext():
            for i, process in enumerate(processes):
                assert process.stdin
                with suppress(OSError), process.stdin as stdin:  # the process ended
                    json.dump(list(left.items())[i::n], stdin)
            for line in lines:
                left.pop(line.strip(), None)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return list(left.values())


def work() -> None:
    """Compile the entries in standard input; print the numbers of those whose code is on disk then."""
    gc.disable()
    import_bodies()
    for number, fields in json.load(sys.stdin):
        with suppress(Exception):  # ignore any error: the command that needs the function reports it
            entry = Entry(*fields)
            function, *what = function_of(entry)
            function.code(*what)
            if is_kept(entry):
                print(number, flush=True)
    os._exit(0)  # LLVM takes 0.3 s to clean up
