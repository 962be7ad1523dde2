"""Private folders: where machine code may be stored, and from where it is loaded.

Whoever can write the machine code that we load can do whatever we can.  So a folder is used only if it
belongs to us and is closed to everybody else (0700).  It is opened first and then checked, and files are
named relative to the open folder, so it does not matter who can move or replace it.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_DAY = 86400  # seconds
_PAUSE, _MOST_PAUSES = 0.05, 1200  # seconds between tries to lock, and their number


def base() -> Path | None:
    """Return the folder for data that fmx can make again; None if the environment names none."""
    shared = os.environ.get("XDG_CACHE_HOME", "")
    cache = os.environ.get("FMX_CACHE") or (shared if os.path.isabs(shared) else "~/.cache")
    cache = os.path.join(os.path.expanduser(cache), "fmx")
    with suppress(OSError):  # relative to a folder that was deleted
        return None if cache.startswith("~") else Path(os.path.realpath(cache))
    return None


@contextmanager
def _opened(folder: Path, make: bool = False) -> Iterator[int]:
    """Open a folder, created if ``make``, and return its descriptor.  Raises OSError unless it is private."""
    if make:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    number = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        state = os.fstat(number)
        if state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise PermissionError(f"{folder} is not private")
        if state.st_mtime < time.time() - _DAY:
            with suppress(OSError):  # a read-only file system
                os.utime(number)  # it is in use
        yield number
    finally:
        os.close(number)


def is_ours(folder: Path) -> bool:
    """Return whether a folder is private and writable; it is created if missing."""
    with suppress(OSError), _opened(folder, make=True):
        return os.access(folder, os.W_OK)
    return False


def read(folder: Path, name: str) -> bytes | None:
    """Return the content of a file; None if there is none, or if it is not ours or the folder not private."""
    with suppress(OSError), _opened(folder) as at:
        state = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid():
            with open(os.open(name, os.O_RDONLY, dir_fd=at), "rb") as file:
                return file.read()
    return None


def write(folder: Path, name: str, data: bytes) -> None:
    """Write a file to a folder; it appears complete or not at all."""
    with suppress(OSError), _opened(folder, make=True) as at:
        draft = f"{name}.{os.urandom(8).hex()}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at), "wb") as file:
                file.write(data)
            os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
        finally:
            _remove(draft, at)


def _remove(name: str, at: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=at)


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a name in a folder; no lock where locks do not work, or after a minute.

    The lock is a file, removed afterwards; the system releases the lock of a process that ends, but not that
    of one that is stopped.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            at = stack.enter_context(_opened(folder, make=True))
            file = os.open(f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=at)
            stack.callback(os.close, file)
            stack.callback(_remove, f"{name}.lock", at)
            for _ in range(_MOST_PAUSES):
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_PAUSE)
        yield
