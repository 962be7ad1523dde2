"""Words to standard error: one line each, whatever a path or a name holds."""

import sys
from contextlib import suppress

from .errors import shown


def tell(text: str, end: str = "\n") -> None:
    """Write a message, on a terminal in place of the line of progress that stands there.

    Where standard error takes none it is lost, which must not cost the work.
    """
    with suppress(OSError):
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}{shown(text)}", end=end, file=sys.stderr, flush=True)
