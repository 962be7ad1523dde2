"""This process: when it was started, signals, standard streams, cores and memory that it may have."""

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
from typing import Any

from ..errors import LINE, brief

# When this thread's command was started, on the clock of time.monotonic; None where there is none.
started: ContextVar[float | None] = ContextVar("started", default=None)


# Signals that end a run: an exception on its way out, wherever they come.

PATIENCE = 2.0  # seconds in which a further signal does not cut short the cleaning up after the first
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_came = (0, -PATIENCE)  # the last signal heeded, and when


class Stopped(KeyboardInterrupt):
    """A signal that ends us; its number is the argument."""


def run(function: Callable[..., int | None], *arguments: Any) -> None:
    """Exit with what a function returns; signals raise Stopped in it, but those ignored, as HUP by nohup."""
    try:  # from here on, for a signal may come as soon as the first one is caught
        for number in _ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _stop)
        sys.unraisablehook = _raise_again
        _leave(function(*arguments))
    except BaseException:
        if not _came[0]:
            raise
        _leave(128 + _came[0])  # libraries make other errors of it


def _leave(code: int | None) -> None:
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)  # too late
    sys.exit(code)


def _stop(number: int, _: FrameType | None) -> None:
    global _came
    now = time.monotonic()
    if now - _came[1] > PATIENCE:
        _came = number, now
        raise Stopped(number)


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Called for what Python cannot raise, as in a callback of C: a signal is raised again, in a moment."""
    if not issubclass(lost.exc_type, Stopped):
        sys.__unraisablehook__(lost)
        return

    def again(*_: object) -> None:
        raise Stopped(_came[0])

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.01)


# The standard streams: words to standard error, one line each; streams that are closed.


def tell(text: str, end: str = "\n") -> None:
    """Write a message, not too long, on a terminal in place of the line of progress that stands there.

    Where standard error takes none it is lost, which must not cost the work.
    """
    with suppress(OSError):
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}{brief(text, LINE)}", end=end, file=sys.stderr, flush=True)


def open_closed_streams() -> None:
    """Open each closed standard descriptor on /dev/null, lest a file get its number and the words for it.

    Input and output are opened the wrong way round: to use them still fails.
    """
    closed = [("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)]
    for number, (name, mode, access) in enumerate(closed):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


# What a control group of Linux (a container, a batch job) lets this process have: cores and memory.
#
# A limit may stand at the process's group or at any above it; both versions of control groups are read.

ROOT = ""  # of the file system


def cores() -> float:
    """Cores by the least quota; infinity without one."""
    found = [math.inf]
    for folder in _folders("cpu"):
        quota = _numbers(f"{folder}/cpu.cfs_quota_us") + _numbers(f"{folder}/cpu.cfs_period_us")
        for share in (_numbers(f"{folder}/cpu.max"), quota):
            if len(share) == 2 and min(share) > 0:
                found.append(share[0] / share[1])
    return min(found)


def memory() -> float:
    """Bytes that are left, with what files hold in the cache; infinity without a limit."""
    found = [math.inf]
    for folder in _folders("memory"):
        for limit, used, cached in (("max", "current", ""), ("limit_in_bytes", "usage_in_bytes", "total_")):
            for most in _numbers(f"{folder}/memory.{limit}"):
                taken = sum(_numbers(f"{folder}/memory.{used}"))
                found.append(max(most - taken + min(_cache(folder, cached), taken), 0))
    return min(found)


def _folders(controller: str) -> Iterator[str]:
    """The process's group of a controller and all above it, in each version."""
    for line in _read(f"{ROOT}/proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if not controllers or controller in controllers.split(","):
            names = [f"{ROOT}/sys/fs/cgroup", controller] if controllers else [f"{ROOT}/sys/fs/cgroup"]
            top = len(names)
            names += [name for name in path.split("/") if name not in ("", "..")]
            yield from ("/".join(names[:n]) for n in range(top, len(names) + 1))


def _cache(folder: str, prefix: str) -> float:
    """Bytes of files that the group holds in memory."""
    wanted = (f"{prefix}active_file", f"{prefix}inactive_file")
    words = _read(f"{folder}/memory.stat").split()
    return sum(float(n) for name, n in zip(words[::2], words[1::2], strict=False) if name in wanted)


def _numbers(path: str) -> list:
    """The numbers of a file, max as infinity; none if it cannot be read."""
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


# What the C library keeps of freed memory.

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
_LARGE = 1 << 20
_MOST = 1 << 25  # bytes of a piece that it can keep


def give_back_large() -> None:
    """Let this process give freed pieces of 1 MB and more back to the system at once.

    By itself glibc keeps them for reuse, up to 32 MB each, once one of that size was freed.
    """
    _set({_M_MMAP_THRESHOLD: _LARGE})


def keep_freed() -> None:
    """Let this process keep what it frees: the kernel clears each page that it gives out anew.

    For one that does the same again and again, as a worker of a cluster does shards.
    """
    _set({_M_MMAP_THRESHOLD: _MOST, _M_TRIM_THRESHOLD: 2**31 - 1})


def _set(options: dict[int, int]) -> None:
    with suppress(OSError, AttributeError):  # another C library
        for name, value in options.items():
            ctypes.CDLL(None).mallopt(name, value)
