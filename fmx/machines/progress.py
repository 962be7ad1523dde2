"""Messages and progress on stderr; progress only on a terminal."""

import sys
import time

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

    def stage(self, name: str):
        """``with progress.stage("suffix array"):`` tells the stage and the seconds it took."""
        return _Stage(self, name)


class _Stage:
    def __init__(self, progress, name):
        self.progress, self.name = progress, name

    def __enter__(self):
        self.start = time.monotonic()
        self.progress.show(f"{self.name} ...")

    def __exit__(self, kind, *_):
        if kind is None:
            self.progress.say(f"{self.name}: {time.monotonic() - self.start:.1f} s")
