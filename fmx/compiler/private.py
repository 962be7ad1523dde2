"""Private folders: where machine code may be stored, and from where it is loaded.

Whoever can write the machine code that we load can do whatever we can.  So a file is read or written only in
a folder that belongs to us, is closed to everybody else (0700), is not a link, and is below folders that
nobody else can change.  Folders are checked from the root on: once one is checked, nobody else can exchange
it.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_DAY = 86400  # seconds
_PAUSE, _PATIENCE = 0.05, 60  # seconds between looks at a lock, and in all: its holder may be stopped


def base() -> Path | None:
    """Return the folder for data that fmx can make again; None if the environment names none."""
    shared = os.environ.get("XDG_CACHE_HOME", "")
    cache = os.environ.get("FMX_CACHE") or (shared if os.path.isabs(shared) else "~/.cache")
    cache = os.path.join(os.path.expanduser(cache), "fmx")
    try:
        return None if cache.startswith("~") else Path(os.path.realpath(cache))
    except OSError:  # relative to a folder that was deleted
        return None


def _check(folder: Path, make: bool = False) -> None:
    """Raise OSError if there is no such folder, or if others could change it; ``make``: create it first."""
    owners = 0, os.geteuid(), os.stat("/").st_uid  # in a container without root, root seems to be another
    for path in (*reversed(folder.parents), folder):
        if make and not os.path.lexists(path):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
        state = os.lstat(path)
        # If each user has a group of the same number, that group has no other members.
        groups = 0 if state.st_gid == os.getegid() == os.geteuid() else stat.S_IWGRP
        is_safe = not state.st_mode & (stat.S_IWOTH | groups) or state.st_mode & stat.S_ISVTX
        if not (stat.S_ISDIR(state.st_mode) and state.st_uid in owners and is_safe):
            raise PermissionError(f"others can change {path}")
    if state.st_uid != os.geteuid() or state.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private")
    if state.st_mtime < time.time() - _DAY:
        with suppress(OSError):  # a read-only file system
            os.utime(folder)  # it is in use


def is_ours(folder: Path) -> bool:
    """Return whether a folder (an absolute path without links) is private and writable; made if missing."""
    with suppress(OSError):
        _check(folder, make=True)
        return os.access(folder, os.W_OK)
    return False


def read(folder: Path, name: str) -> bytes | None:
    """Return the content of a file; None if there is none, or if it is not ours or the folder not private."""
    with suppress(OSError):
        _check(folder)
        state = os.lstat(folder / name)
        if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid():
            return (folder / name).read_bytes()
    return None


def write(folder: Path, name: str, data: bytes) -> None:
    """Write a file to a folder; it appears complete or not at all."""
    with suppress(OSError):
        _check(folder, make=True)
        draft = folder / f"{name}.{os.urandom(8).hex()}"
        try:
            draft.write_bytes(data)
            draft.replace(folder / name)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a name in a folder; no lock where locks do not work, or after _PATIENCE seconds.

    The lock is a file, removed afterwards; the system releases the lock of a process that ends.
    """
    lock, file = folder / f"{name}.lock", -1
    with suppress(OSError):
        _check(folder, make=True)
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_PAUSE)
    try:
        yield
    finally:
        if file >= 0:
            lock.unlink(missing_ok=True)
            os.close(file)
