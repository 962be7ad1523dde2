"""Private folders: where machine code may be kept, and where it is loaded from.

Whoever can write the machine code that we load can do whatever we can.  So a file is read or written only in
a folder that belongs to us, is closed to everybody else (0700), is not a link, and is below folders that
nobody else can change; and the file is ours and a regular one.  Checks are made on opened descriptors, never
on names.
"""

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW  # may be entered but not listed
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


def is_ours(folder: Path) -> bool:
    """Return whether a folder (an absolute path without links) is private and writable; made if missing."""
    with suppress(OSError), _opened(folder, make=True) as within:
        return os.access(".", os.W_OK, dir_fd=within)
    return False


def read(folder: Path, name: str, at_most: int, for_all: bool = False) -> bytes | None:
    """Return the content of a file; None if there is none, it is longer, or it or the folder is not private.

    ``for_all``: they may also belong to root, and be readable by others, but writable by nobody else.
    """
    with suppress(OSError), _opened(folder, alone=not for_all, of_root=for_all) as within:
        # Do not block: a pipe of that name would wait for a writer.
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=within)
        with open(file, "rb") as stream:
            state = os.fstat(file)
            mine = _is_mine(state, of_root=for_all)
            if stat.S_ISREG(state.st_mode) and mine and state.st_size <= at_most:
                _note_use(file, state)
                return stream.read(state.st_size)
    return None


def write(folder: Path, name: str, data: bytes) -> None:
    """Write a file to a folder; it appears complete or not at all."""
    with suppress(OSError), _opened(folder, make=True) as within:
        draft = f"{name}.{os.urandom(8).hex()}"
        try:
            file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=within)
            with open(file, "wb") as stream:
                stream.write(data)
            os.replace(draft, name, src_dir_fd=within, dst_dir_fd=within)
        except BaseException:
            _remove(draft, within)
            raise


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a name in a folder; no lock where locks do not work, or after _PATIENCE seconds.

    The lock is a file, removed afterwards; the system releases the lock of a process that ends.
    """
    lock = f"{name}.lock"
    with ExitStack() as held:
        with suppress(OSError):
            within = held.enter_context(_opened(folder, make=True))
            file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=within)
            held.callback(os.close, file)
            if _is_taken(file):
                held.callback(_remove, lock, within)
        yield


def _remove(name: str, within: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=within)


def _is_taken(file: int) -> bool:
    """Take the lock of an open file; return whether it was released in time."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(_PAUSE)
    return False


def prune(folder: Path, is_old: Callable[[str], object]) -> None:
    """Remove private folders below ``folder`` whose name ``is_old`` if unused for _UNUSED seconds.

    The newest four of them stay.  A process that still uses a removed folder finds nothing there and
    makes it again.
    """
    with suppress(OSError), _opened(folder, alone=False) as within:
        states = {name: os.lstat(name, dir_fd=within) for name in os.listdir(within) if is_old(name)}
        mine = [name for name, state in states.items() if stat.S_ISDIR(state.st_mode) and _is_mine(state)]
        for name in sorted(mine, key=lambda name: -states[name].st_mtime)[4:]:
            if states[name].st_mtime < time.time() - _UNUSED:
                shutil.rmtree(name, ignore_errors=True, dir_fd=within)


def prune_files(folder: Path) -> None:
    """Remove our files in a folder that were not used for _UNUSED seconds."""
    with suppress(OSError), _opened(folder) as within:
        for name in os.listdir(within):
            state = os.lstat(name, dir_fd=within)
            if stat.S_ISREG(state.st_mode) and state.st_mtime < time.time() - _UNUSED:
                os.unlink(name, dir_fd=within)


def _note_use(file: int, state: os.stat_result) -> None:
    """Set the time of a file or folder in use, once a day."""
    if state.st_mtime < time.time() - _DAY:
        with suppress(OSError):  # a read-only file system
            os.utime(file)


@contextmanager
def _opened(folder: Path, make: bool = False, alone: bool = True, of_root: bool = False) -> Iterator[int]:
    """Yield a descriptor of a folder, opened step by step.  Raises OSError, also if others could change it.

    ``make``: create it if missing; ``alone``: nobody else may read it either; ``of_root``: it may also belong
    to root.
    """
    here = os.open("/", _WAY)
    try:
        *above, last = folder.parts[1:]
        for name in above:
            here = _step(here, name, _WAY, make)
        here = _step(here, last, _FOLDER, make)
        state = os.fstat(here)
        if not _is_mine(state, of_root) or (alone and state.st_mode & 0o077):
            raise PermissionError(f"{folder} is not private")
        _note_use(here, state)
        yield here
    finally:
        os.close(here)


def _step(here: int, name: str, how: int, make: bool) -> int:
    """Return a descriptor of a folder in the folder ``here``, whose descriptor it replaces."""
    _check_way(os.fstat(here))
    try:
        found = os.open(name, how, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=here)
        found = os.open(name, how, dir_fd=here)
    os.dup2(found, here, inheritable=False)
    os.close(found)
    return here


def _check_way(state: os.stat_result) -> None:
    """Raise PermissionError if others could replace our folder in this one."""
    # The owner of / can change everything; in a container without root it seems to be another user.
    trusted = state.st_uid in (0, os.geteuid(), os.stat("/").st_uid)
    if not trusted or (_others_write(state) and not state.st_mode & stat.S_ISVTX):
        raise PermissionError("others can change this folder")


def _others_write(state: os.stat_result) -> bool:
    # If each user has a group of the same number, that group has no other members.
    own_group = state.st_gid == os.getegid() == os.geteuid()
    return bool(state.st_mode & (stat.S_IWOTH | (0 if own_group else stat.S_IWGRP)))


def _is_mine(state: os.stat_result, of_root: bool = False) -> bool:
    if of_root:
        return state.st_uid in (0, os.geteuid()) and not _others_write(state)
    return state.st_uid == os.geteuid() and not state.st_mode & 0o022
