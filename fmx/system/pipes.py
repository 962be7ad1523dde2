"""How much a pipe holds."""

import fcntl
from contextlib import suppress

_MOST = 1 << 20  # bytes: what Linux lets any user have


def widen(file) -> None:
    """Let a pipe, if that is what a file is, hold 1 MB in the place of 64 kB.

    Who writes and who reads it then wait for each other, and wake each other, less often.
    """
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # no pipe, or no more allowed
            fcntl.fcntl(file.fileno(), fcntl.F_SETPIPE_SZ, _MOST)
