"""This process: its start time, signals, standard streams, and limits of cores and memory."""

import ctypes
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn

from ..errors import LINE, brief

# When this thread's command was started, on the clock of time.monotonic; None if there is no command.
started: ContextVar[float | None] = ContextVar("started", default=None)


# Signals that end a run raise an exception, wherever the program is.

PATIENCE = 2.0  # seconds in which a further signal does not interrupt the cleanup after the first
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_came = (0, -PATIENCE)  # the last signal acted on, and its time
# Removes unfinished outputs as the process ends: a signal may arrive after __enter__, but before an ExitStack
# knows of it.  A fork does not remove those of its parent.
unfinished: set[Callable[[], None]] = set()
os.register_at_fork(after_in_child=unfinished.clear)


class Stopped(KeyboardInterrupt):
    """A signal that ends the process; the argument is its number."""


def run(function: Callable[..., int | None], *arguments: Any) -> None:
    """Exit with a function's return value; signals raise Stopped in it, unless ignored (as HUP by nohup)."""
    try:  # from here on: a signal may arrive as soon as the first handler is set
        for number in _ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _stop)
        sys.unraisablehook = _raise_again
        _leave(function(*arguments))
    except BaseException:
        if not _came[0]:
            raise
        _leave(128 + _came[0])  # libraries may have turned the signal into another error


def _leave(code: int | None) -> NoReturn:
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)  # the process is ending
    for remove in tuple(unfinished):
        remove()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)  # Python would take 0.06 s to end: it takes down all modules


def _stop(number: int, _: FrameType | None) -> None:
    global _came
    now = time.monotonic()
    if now - _came[1] > PATIENCE:
        _came = number, now
        raise Stopped(number)


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Handle an exception that Python cannot raise, as in a C callback: raise a signal again soon."""
    if not issubclass(lost.exc_type, Stopped):
        sys.__unraisablehook__(lost)
        return

    def again(*_: object) -> None:
        raise Stopped(_came[0])

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.01)


# Messages on standard error, one line each, and standard streams that are closed.


def tell(text: str, end: str = "\n") -> None:
    """Write a message, shortened if too long; on a terminal, it replaces the progress line.

    If standard error cannot be written, the message is lost, and the run continues.
    """
    with suppress(OSError):
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}{brief(text, LINE)}", end=end, file=sys.stderr, flush=True)


def open_closed_streams() -> None:
    """Open closed standard descriptors on /dev/null, so that no other file gets their numbers.

    Input is opened for writing and output for reading, so using them still fails.
    """
    closed = [("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)]
    for number, (name, mode, access) in enumerate(closed):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


# Limits of Linux control groups (a container, a batch job) on cores and memory.
#
# A limit may be set on the group of the process or any group above it; versions 1 and 2 are read.

ROOT = ""  # of the file system


def cores() -> float:
    """Return the smallest quota, in cores; infinity without one."""
    found = [math.inf]
    for folder in _folders("cpu"):
        quota = _numbers(f"{folder}/cpu.cfs_quota_us") + _numbers(f"{folder}/cpu.cfs_period_us")
        for share in (_numbers(f"{folder}/cpu.max"), quota):
            if len(share) == 2 and min(share) > 0:
                found.append(share[0] / share[1])
    return min(found)


def available_cores() -> int:
    """Return the cores this process may use, by its affinity and the quota of a container or batch job."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cores()
    return own if quota > own else max(math.ceil(quota), 1)


def memory() -> float:
    """Return the bytes left under the limit, file cache included; infinity without a limit."""
    found = [math.inf]
    for folder in _folders("memory"):
        for limit, used, cached in (("max", "current", ""), ("limit_in_bytes", "usage_in_bytes", "total_")):
            for most in _numbers(f"{folder}/memory.{limit}"):
                taken = sum(_numbers(f"{folder}/memory.{used}"))
                found.append(max(most - taken + min(_cache(folder, cached), taken), 0))
    return min(found)


def _folders(controller: str) -> Iterator[str]:
    """Yield the process's group of a controller and all groups above it, for each version."""
    for line in _read(f"{ROOT}/proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if not controllers or controller in controllers.split(","):
            names = [f"{ROOT}/sys/fs/cgroup", controller] if controllers else [f"{ROOT}/sys/fs/cgroup"]
            top = len(names)
            names += [name for name in path.split("/") if name not in ("", "..")]
            yield from ("/".join(names[:n]) for n in range(top, len(names) + 1))


def _cache(folder: str, prefix: str) -> float:
    """Return the bytes of file cache of a group."""
    wanted = (f"{prefix}active_file", f"{prefix}inactive_file")
    words = _read(f"{folder}/memory.stat").split()
    return sum(float(n) for name, n in zip(words[::2], words[1::2], strict=False) if name in wanted)


def _numbers(path: str) -> list:
    """Return the numbers in a file, with max as infinity; none if it cannot be read."""
    try:
        return [math.inf if word == "max" else float(word) for word in _read(path).split()]
    except ValueError:
        return []


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except (OSError, ValueError):
        return ""


# How much freed memory the C library keeps.

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
_LARGE = 1 << 20
_MOST = 1 << 25  # bytes of the largest piece that it can keep
_HEAP = 1 << 26  # bytes of a heap of a thread


def give_back_large() -> None:
    """Return freed pieces of 1 MB and more to the system at once.

    glibc would keep pieces of up to 32 MB for reuse once one of that size was freed.
    """
    _set({_M_MMAP_THRESHOLD: _LARGE})


def keep_freed() -> None:
    """Keep freed memory: the kernel clears each page that it hands out again.

    Heaps get their full size at once, because each change of size stops the page faults of all threads, and
    NumPy holds Python's lock meanwhile.

    This suits a process that repeats its work, such as a cluster worker that runs shards, or a search for
    near matches.
    """
    _set({_M_MMAP_THRESHOLD: _MOST, _M_TRIM_THRESHOLD: 2**31 - 1, _M_TOP_PAD: _HEAP})


def _set(options: dict[int, int]) -> None:
    with suppress(OSError, AttributeError):  # not glibc
        for name, value in options.items():
            ctypes.CDLL(None).mallopt(name, value)
