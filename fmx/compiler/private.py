"""Private folders: where machine code may be kept, and where it is loaded from.

Whoever can write the machine code that we load can do whatever we can.  So a file is read or written only in
a folder that belongs to us, is closed to everybody else (0700), is not a link, and is below folders that
nobody else can change; and the file is ours and a regular one.  Folders are checked from the root on: once
one is checked, nobody else can exchange it.
"""

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

_DAY, _UNUSED = 86400, 30 * 86400  # seconds; code that is not used for so long is removed
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


def _check(folder: Path, make: bool = False, for_all: bool = False) -> None:
    """Raise OSError if there is no such folder, or if others could change it.

    ``make``: create it if missing; ``for_all``: it may also belong to root, and be readable by others.
    """
    owners = 0, os.geteuid(), os.stat("/").st_uid  # in a container without root, root seems to be another
    for path in accumulate(folder.parts, os.path.join):
        try:
            state = os.lstat(path)
        except FileNotFoundError:
            if not make:
                raise
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            state = os.lstat(path)
        is_safe = not _others_write(state) or state.st_mode & stat.S_ISVTX
        if not (stat.S_ISDIR(state.st_mode) and state.st_uid in owners and is_safe):
            raise PermissionError(f"others can change {path}")
    if not _is_mine(state, for_all) or (not for_all and state.st_mode & 0o077):
        raise PermissionError(f"{folder} is not private")
    _note_use(folder, state)


def _others_write(state: os.stat_result) -> bool:
    # If each user has a group of the same number, that group has no other members.
    own_group = state.st_gid == os.getegid() == os.geteuid()
    return bool(state.st_mode & (stat.S_IWOTH | (0 if own_group else stat.S_IWGRP)))


def _is_mine(state: os.stat_result, or_of_root: bool = False) -> bool:
    if or_of_root:
        return state.st_uid in (0, os.geteuid()) and not _others_write(state)
    return state.st_uid == os.geteuid() and not state.st_mode & 0o022


def _note_use(file: int | Path, state: os.stat_result) -> None:
    """Set the time of a file or folder in use, once a day."""
    if state.st_mtime < time.time() - _DAY:
        with suppress(OSError):  # a read-only file system
            os.utime(file)


def is_ours(folder: Path) -> bool:
    """Return whether a folder (an absolute path without links) is private and writable; made if missing."""
    with suppress(OSError):
        _check(folder, make=True)
        return os.access(folder, os.W_OK)
    return False


def read(folder: Path, name: str, at_most: int, for_all: bool = False) -> bytes | None:
    """Return the content of a file; None if there is none, it is longer, or it or the folder is not private.

    ``for_all``: they may also belong to root, and be readable by others, but writable by nobody else.
    """
    with suppress(OSError):
        _check(folder, for_all=for_all)
        # Do not block: a pipe of that name would wait for a writer.
        file = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(file, "rb") as stream:
            state = os.fstat(file)
            if stat.S_ISREG(state.st_mode) and _is_mine(state, for_all) and state.st_size <= at_most:
                _note_use(file, state)
                return stream.read(state.st_size)
    return None


def write(folder: Path, name: str, data: bytes) -> None:
    """Write a file to a folder; it appears complete or not at all."""
    with suppress(OSError):
        _check(folder, make=True)
        draft = folder / f"{name}.{os.urandom(8).hex()}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(data)
            os.replace(draft, folder / name)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a name in a folder; no lock where locks do not work, or after _PATIENCE seconds.

    The lock is a file, removed afterwards; the system releases the lock of a process that ends.
    """
    lock, file, is_taken = folder / f"{name}.lock", -1, False
    with suppress(OSError):
        _check(folder, make=True)
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        until = time.monotonic() + _PATIENCE
        while not is_taken and time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_taken = True
            except BlockingIOError:
                time.sleep(_PAUSE)
    try:
        yield
    finally:
        with suppress(OSError):
            if is_taken:
                os.unlink(lock)
        if file >= 0:
            os.close(file)


def prune(folder: Path, is_old: Callable[[str, os.stat_result], object], n_newest: int = 0) -> None:
    """Remove files and folders of ours from a private folder if ``is_old`` and unused for _UNUSED seconds.

    The ``n_newest`` stay.  A process that still uses a removed folder finds nothing there and makes it again.
    """
    with suppress(OSError):
        _check(folder, for_all=True)
        states = {entry: entry.stat(follow_symlinks=False) for entry in os.scandir(folder)}
        ours = [entry for entry, state in states.items() if _is_mine(state) and is_old(entry.name, state)]
        for entry in sorted(ours, key=lambda entry: -states[entry].st_mtime)[n_newest:]:
            if states[entry].st_mtime < time.time() - _UNUSED:
                if entry.is_dir():
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
