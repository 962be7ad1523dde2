"""Messages and progress on stderr; progress only on a terminal."""

import sys
import time
from contextlib import contextmanager

from ..system.terminal import tell


class Progress:
    """Says what is being done.  ``quiet`` says nothing."""

    def __init__(self, quiet: bool = False):
        self.quiet = quiet
        self._live = not quiet and sys.stderr.isatty()
        self._shown = 0.0

    def say(self, message: str) -> None:
        """One line that stays."""
        if not self.quiet:
            tell(f"fmx: {message}")

    def show(self, message: str) -> None:
        """One line that is replaced by the next, at most five times a second."""
        now = time.monotonic()
        if self._live and now - self._shown > 0.2:
            self._shown = now
            tell(message, end="")

    @contextmanager
    def stage(self, name: str):
        """``with progress.stage("suffix array"):`` tells the stage and the seconds it took."""
        start = time.monotonic()
        self.show(f"{name} ...")
        yield
        self.say(f"{name}: {time.monotonic() - start:.1f} s")
