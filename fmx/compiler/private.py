"""Private folders: where machine code may be stored, and from where it is loaded.

Whoever can write the machine code that we load can do whatever we can.  So a folder is used only if it
belongs to us and is closed to everybody else (0700).  It is opened first and then checked, and files are
named relative to the open folder, so it does not matter who can move or replace it.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def opened(folder: Path, make: bool = False) -> Iterator[int]:
    """Open a folder, created if ``make``, and yield its descriptor.  Raises OSError unless it is private."""
    if make:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    number = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        state = os.fstat(number)
        if state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise PermissionError(f"{folder} is not private")
        yield number
    finally:
        os.close(number)


def read(folder: Path, name: str) -> bytes | None:
    """Return the content of a file; None if there is none, or if it is not ours or the folder not private."""
    with suppress(OSError), opened(folder) as at:
        state = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid():
            with open(os.open(name, os.O_RDONLY, dir_fd=at), "rb") as file:
                return file.read()
    return None


def write(folder: Path, name: str, data: bytes) -> None:
    """Write a file to a folder; it appears complete or not at all."""
    with suppress(OSError), opened(folder, make=True) as at:
        draft = f"{name}.{os.urandom(8).hex()}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at), "wb") as file:
                file.write(data)
            os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
        finally:
            with suppress(OSError):
                os.unlink(draft, dir_fd=at)
