"""The standard streams: words to standard error, one line each; streams that are closed."""

import os
import sys
from contextlib import suppress

from ..errors import LINE, brief


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
