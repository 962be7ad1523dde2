"""What the C library keeps of freed memory."""

import ctypes
from contextlib import suppress

_M_MMAP_THRESHOLD = -3  # glibc's malloc.h
_LARGE = 1 << 20


def give_back_large() -> None:
    """Let this process give freed pieces of 1 MB and more back to the system at once.

    By itself glibc keeps them for reuse, up to 32 MB each, once one of that size was freed.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
