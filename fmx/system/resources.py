"""What a control group of Linux (a container, a batch job) lets this process have: cores and memory.

A limit may stand at the process's group or at any above it; both versions of control groups are read.
"""

import ctypes
import math
from collections.abc import Iterator
from contextlib import suppress

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
