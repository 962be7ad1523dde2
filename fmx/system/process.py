"""When this thread's command was started, on the clock of time.monotonic; None where there is none."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType
from typing import Any

from ..errors import LINE, brief

started: ContextVar[float | None] = ContextVar("started", default=None)


# Signals that end a run: an exception on its way out, wherever they come.

PATIENCE = 2.0  # seconds in which a further signal does not cut short the cleaning up after the first
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_came = (0, -PATIENCE)  # the last signal heeded, and when


class Stopped(KeyboardInterrupt):
    """A signal that ends us; its number is the argument."""


def run(function: Callable[..., int | None], *arguments: Any) -> None:
    """Exit with what a function returns; signals raise Stopped in it, but those ignored, as HUP by nohup."""
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    sys.unraisablehook = _raise_again
    try:
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
