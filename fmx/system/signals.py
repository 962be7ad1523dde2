"""Signals that end a run: an exception on its way out, wherever they come."""

import signal
import sys
import time

PATIENCE = 2.0  # seconds in which a further signal does not cut short the cleaning up after the first
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_came = (0, -PATIENCE)  # the last signal heeded, and when


class Stopped(KeyboardInterrupt):
    """A signal that ends us; its number is the argument."""


def run(function, *arguments) -> None:
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


def _leave(code) -> None:
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)  # too late
    sys.exit(code)


def _stop(number, _) -> None:
    global _came
    now = time.monotonic()
    if now - _came[1] > PATIENCE:
        _came = number, now
        raise Stopped(number)


def _raise_again(lost) -> None:
    """Called for what Python cannot raise, as in a callback of C: a signal is raised again, in a moment."""
    if not issubclass(lost.exc_type, Stopped):
        sys.__unraisablehook__(lost)
        return

    def again(*_):
        raise Stopped(_came[0])

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
