"""Messages and progress on stderr: a line that is replaced on a terminal, elsewhere a line a minute."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..system.process import tell
from .watch import Wall

OFTEN, SELDOM = 0.2, 60.0  # seconds between two lines, on a terminal and elsewhere
_BAR, _WITH_BAR = "|{bar:10}| ", 64  # where a line has as many columns
_KNOWN = "{percentage:3.0f} % " + _BAR + "{elapsed}, {remaining} left: {desc}"
_UNKNOWN = "{elapsed}: {desc}"


class Progress:
    """Says what is being done.  ``quiet`` says nothing.  ``wall``: the time that the command takes."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet, self.wall = quiet, Wall()
        self._live = not quiet and sys.stderr.isatty()
        self._wait = OFTEN if self._live else SELDOM
        self._shown = time.monotonic() if not self._live else 0.0
        self._lock = threading.Lock()
        self._alone: tuple | None = None
        self.follow()

    def begin(self) -> None:
        """Another run of the same command begins."""
        self.wall = Wall(time.monotonic())

    def follow(self, share: Callable[[], float | None] = lambda: None) -> None:
        """Begin something of which ``share()`` is done, from 0 to 1, or None where that is not known."""
        self._share, self._start = share, time.monotonic()

    def share(self) -> float | None:
        """The share that is done of what is followed, or None where that is not known."""
        return self._share()

    def say(self, message: str) -> None:
        """One line that stays."""
        if not self.quiet:
            tell(f"fmx: {message}")

    def show(self, message: str) -> None:
        """How far it is: on a terminal a line that the next one replaces, five times a second at most."""
        with self._lock:
            now = time.monotonic()
            if self.quiet or now - self._shown <= self._wait:
                return
            self._shown = now
            what, share, start = self._alone or (lambda: message, self._share, self._start)
            line = meter(what(), share(), now - start, _columns() if self._live else None)
            if self._live:
                tell(line, end="")
            else:
                self.say(line.strip())

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[float | None], None]]:
        """``with progress.stage("suffix array") as done:`` tells the stage and the seconds it took.

        ``done(share)`` may be called as it goes on; the time goes on in any case.
        """
        start, share = time.monotonic(), None

        def done(now: float | None) -> None:
            nonlocal share
            share = now
            self.show(name)

        self.follow(lambda: share)
        self.show(name)
        with self.kept_up(lambda: name):
            yield done
        self.say(f"{name}: {time.monotonic() - start:.1f} s")

    @contextmanager
    def alone(self, message: Callable[[], str], share: Callable[[], float | None]) -> Iterator[None]:
        """Within, show ``message()`` and ``share()`` in place of anything else, as time goes by."""
        self._alone = message, share, time.monotonic()
        try:
            with self.kept_up(message):
                yield
        finally:
            self._alone = None

    @contextmanager
    def kept_up(self, message: Callable[[], str]) -> Iterator[None]:
        """Show what ``message()`` gives as time goes by, whatever the caller's thread does."""
        is_over = threading.Event()

        def repeat() -> None:
            while not is_over.wait(max(self._wait, OFTEN)):
                self.show(message())

        thread = threading.Thread(target=repeat, daemon=True)
        if not self.quiet:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            if not self.quiet:
                thread.join()


def meter(message: str, share: float | None, seconds: float, columns: int | None) -> str:
    """A line of progress that is no wider than ``columns`` (None: of any width, without a bar)."""
    from tqdm.std import tqdm  # 25 ms, which only who waits spends

    form = _UNKNOWN if share is None else _KNOWN if (columns or 0) >= _WITH_BAR else _KNOWN.replace(_BAR, "")
    is_plain = "utf" not in (sys.stderr.encoding or "").lower()
    line = tqdm.format_meter(
        share or 0, 1, seconds, ncols=columns, prefix=message, bar_format=form, ascii=is_plain
    )
    return line.rstrip()


def _columns() -> int | None:
    try:
        return max(1, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
    except OSError:
        return None
