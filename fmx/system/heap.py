"""What the C library keeps of freed memory."""

import ctypes
from contextlib import suppress

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


def _set(options):
    with suppress(OSError, AttributeError):  # another C library
        for name, value in options.items():
            ctypes.CDLL(None).mallopt(name, value)
