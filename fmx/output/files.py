"""Output files that appear complete, or are written directly: devices, pipes and standard output."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import cannot_write
from ..input.streams import STANDARD
from ..system import DraftFile, widen

if TYPE_CHECKING:
    from concurrent.futures import Future


class OutputFile:
    """An open file, which appears whole at ``path`` with ``commit``; ``file``: the open binary file.

    Devices, pipes and '-' (standard output) are written directly, and so are files ``in_folder``, a draft
    already.  With ``has_thread``, a thread writes one piece at a time to a file that is not written directly,
    and its errors are raised later.  ``stack`` closes the file; a draft without ``commit`` is removed.
    ``replaced``: suffixes of older files, such as an index, that ``commit`` removes.  Raises OutputError.
    """

    def __init__(
        self, path: str, stack: ExitStack, has_thread: bool = False, in_folder: bool = False
    ) -> None:
        self.path, self._stack, self._pool = path, stack, None
        self._drafts: list[DraftFile] = []
        self._last: Future[None] | None = None
        self.replaced: tuple[str, ...] = ()
        with named_output(path):
            if path == STANDARD:
                self.file: BinaryIO = sys.stdout.buffer
            elif in_folder or is_special(path):
                descriptor = None if in_folder else descriptor_of(path)
                place = path if descriptor is None else os.dup(descriptor)
                self.file = open(place, "xb" if in_folder else "wb")  # noqa: SIM115
                stack.callback(self._close)
            else:
                self._drafts.append(stack.enter_context(DraftFile(path)))
                self.file = self._drafts[0].file
        if not (self._drafts or in_folder):
            widen(self.file)
        elif has_thread:
            from concurrent.futures import ThreadPoolExecutor  # not needed without files of reads

            self._pool = stack.enter_context(ThreadPoolExecutor(1))

    def _close(self) -> None:
        with suppress(OSError):  # data that a full device did not accept
            self.file.close()

    @property
    def draft(self) -> str | None:
        """Path of the draft; None if the file is written directly."""
        return str(self._drafts[0].path) if self._drafts else None

    def companion(self, suffix: str) -> str:
        """Return the path of a draft that appears with the file, under its name with a suffix."""
        self._drafts.append(self._stack.enter_context(DraftFile(f"{self._drafts[0].final}{suffix}")))
        return str(self._drafts[-1].path)

    def write(self, piece: Any) -> None:
        """Write bytes, or have the thread write them."""
        if not self._pool:
            return self._put(piece)
        if self._last:
            self._last.result()
        self._last = self._pool.submit(self._put, piece)

    def _put(self, piece: Any) -> None:
        with named_output(self.path):
            self.file.write(piece)

    def complete(self) -> None:
        """Wait until all pieces have been written, a draft to disk."""
        if self._last:
            self._last.result()
        with named_output(self.path):
            self.file.flush()
            for draft in self._drafts:
                draft.complete()

    def commit(self) -> None:
        """Rename the complete drafts to their final names."""
        with named_output(self.path):
            for suffix in self.replaced:
                with suppress(FileNotFoundError):
                    os.unlink(f"{self._drafts[0].final}{suffix}")
            for draft in self._drafts:
                draft.commit(is_complete=True)


def is_special(path: str) -> bool:
    """Whether a path exists and is not a regular file, or names an open descriptor.  Raises OSError."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) or descriptor_of(path) is not None
    except FileNotFoundError:
        return False


def descriptor_of(path: str) -> int | None:
    """The open descriptor that a path such as /dev/stdout or /dev/fd/3 names; keeps its append mode."""
    while os.path.islink(path):
        folder = os.path.realpath(os.path.dirname(path))
        if folder == f"/proc/{os.getpid()}/fd":
            return int(os.path.basename(path))
        path = os.path.join(folder, os.readlink(path))
    return None


@contextmanager
def named_output(path: str) -> Iterator[None]:
    """Turn system errors while writing an output into OutputError, except for a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write("standard output" if path == STANDARD else path, error) from error
