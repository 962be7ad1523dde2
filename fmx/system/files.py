"""Files: which tell of changes, pipes, drafts that become whole outputs, regular files for any thread."""

import ctypes
import errno
import fcntl
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from ..errors import InputError, named_input

# f_type of statfs(2).  Not here: those whose ctime somebody else may set, as with CIFS, FUSE, 9p, vfat.
_TELLING = {
    0xEF53: "ext", 0x58465342: "xfs", 0x9123683E: "btrfs", 0xF2F52010: "f2fs", 0xCA451A4E: "bcachefs",
    0x2FC12FC1: "zfs", 0x01021994: "tmpfs", 0x858458F6: "ramfs", 0x794C7630: "overlayfs", 0x6969: "nfs",
    0x00C36400: "ceph", 0x0BD00BD0: "lustre", 0x47504653: "gpfs",
}  # fmt: skip


def tells_changes(file: int) -> bool:
    """Whether any write to the file of this descriptor moves its ctime, which nobody but the kernel sets."""
    if sys.platform != "linux":
        return False
    state = ctypes.create_string_buffer(512)  # a struct statfs begins with f_type, a long
    failed = ctypes.CDLL(None, use_errno=True).fstatfs(file, state)
    kind = ctypes.c_long.from_buffer(state).value & 0xFFFFFFFF
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return kind in _TELLING


# How much a pipe holds.

_MOST = 1 << 20  # bytes: what Linux lets any user have


def widen(file: BinaryIO) -> None:
    """Let a pipe, if that is what a file is, hold 1 MB in the place of 64 kB.

    Who writes and who reads it then wait for each other, and wake each other, less often.
    """
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # no pipe, or no more allowed
            fcntl.fcntl(file.fileno(), fcntl.F_SETPIPE_SZ, _MOST)


# Writing beside a final place, whose name therefore only ever holds what is whole.
#
#     out.sam                                as it was, or whole
#     .out.sam.3f0c9a517be2d840.partial      in the making, locked (flock) while its owner lives
#     .ref.fmx.91d2c7a04b6e5f38.replaced     an old folder set aside where two names cannot be exchanged
#
# A killed run leaves its draft; the next one of the same name removes it.  Links are followed.

STALE = 10  # seconds: a draft younger than this may be about to be locked
_LONGEST = 255  # bytes of a file name


class _Draft:
    """``path`` is in the making; ``commit`` puts it at ``final``, anything else leaves nothing."""

    def __init__(self, final: Path | str) -> None:
        self.final = Path(os.path.realpath(final))
        sweep(self.final)
        self.path = _beside(self.final, "partial")

    def __enter__(self) -> Self:
        return self


class DraftFile(_Draft):
    """A file in the making: write to ``file``, then ``commit``.  Raises OSError."""

    def __init__(self, final: Path | str) -> None:
        super().__init__(final)
        self.file = open(self.path, "xb")  # noqa: SIM115
        lock(self.file.fileno())

    def commit(self) -> None:
        """Bring the data to disk and give them their name, replacing a file."""
        self.file.flush()
        os.fsync(self.file.fileno())
        os.replace(self.path, self.final)
        sync_names(self.final.parent)

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.path.unlink()
        with suppress(OSError):  # what a full disk did not take
            self.file.close()


class DraftFolder(_Draft):
    """A folder in the making: write below ``path``, then ``commit``.  Raises OSError."""

    def __init__(self, final: Path | str) -> None:
        super().__init__(final)
        self.path.mkdir()
        self._descriptor = os.open(self.path, os.O_RDONLY)
        lock(self._descriptor)

    def commit(self, is_lasting: bool = True) -> None:
        """Bring the data to disk, if ``is_lasting``, and give them their name, replacing a folder."""
        if is_lasting:
            sync_tree(self.path)
        try:
            os.rename(self.path, self.final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            _replace(self.path, self.final)
        if is_lasting:
            sync_names(self.final.parent)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._descriptor)


def sync_tree(folder: Path) -> None:
    """Bring every file and name in a folder to disk.  Raises OSError."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                os.fsync(file.fileno())
        sync_names(parent)


def sweep(final: Path) -> None:
    """Remove what dead owners left beside a final place; an old folder whose place is empty goes back there.

    Whatever is locked, or cannot be locked here, is left alone.
    """
    final = Path(final)
    pattern = re.compile(re.escape(_start(final)) + rb"[0-9a-f]{16}\.(partial|replaced)")
    with suppress(OSError), os.scandir(os.fsencode(final.parent)) as entries:
        for found in [entry.path for entry in entries if pattern.fullmatch(entry.name)]:
            with suppress(OSError), _of_the_dead(found) as is_folder:
                if not is_folder:
                    os.unlink(found)
                elif found.endswith(b".replaced") and not final.exists():
                    os.rename(found, final)
                else:
                    shutil.rmtree(found)


@contextmanager
def _of_the_dead(path: bytes) -> Iterator[bool]:
    """Is it a folder?  Raises OSError unless it is stale and its lock could be taken, which is then held."""
    found = os.lstat(path)
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(errno.EINVAL, "neither file nor folder")
    is_folder = stat.S_ISDIR(found.st_mode)
    descriptor = os.open(path, os.O_NOFOLLOW | (os.O_RDONLY if is_folder else os.O_RDWR))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(descriptor).st_mtime < STALE:
            raise OSError(errno.EAGAIN, "too young")
        yield is_folder
    finally:
        os.close(descriptor)


def _start(final: Path) -> bytes:
    """How the names of all drafts of a final place begin."""
    room = _LONGEST - len("..") - 16 - len(".replaced")
    return b".%s." % os.fsencode(final.name)[:room]


def _beside(final: Path, kind: str) -> Path:
    """A new name beside a final place."""
    return final.with_name(
        os.fsdecode(b"%s%s.%s" % (_start(final), os.urandom(8).hex().encode(), kind.encode()))
    )


def lock(descriptor: int) -> bool:
    """Lock a file until it is closed, if the file system has locks; False if another has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # as on some shared storage, where nobody sweeps either
        return True
    return True


def sync_names(folder: Path | str) -> None:
    """Bring the names in a folder to disk; some file systems cannot, and keep them in their own way."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _replace(new: Path, final: Path) -> None:
    """Put the folder ``new`` in the place of the folder ``final``, and remove that."""
    if _exchange(new, final):
        shutil.rmtree(new, ignore_errors=True)
        return
    old = _beside(final, "replaced")
    descriptor = os.open(final, os.O_RDONLY)
    try:
        lock(descriptor)
        os.rename(final, old)
        try:
            os.rename(new, final)
        except BaseException:
            os.rename(old, final)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        os.close(descriptor)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names at once; False where the C library or the file system cannot.  Raises OSError."""
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), str(other))


# Of a field of a dataclass that only says where something lies: shards of one run may differ in it.
PLACE = {"is_place": True}


class RegularFile:
    """An open file of ``size`` bytes, as it was when it was opened; closed when nobody holds it.

    ``descriptor``: of its own, to be read from at offsets.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self.descriptor = path, os.dup(descriptor)
        self.size = os.fstat(descriptor).st_size

    def __del__(self) -> None:
        os.close(self.descriptor)

    def read(self, view: Any, offset: int) -> int:
        """Fill ``view`` with bytes from an offset on; fewer at the end.  Raises InputError."""
        want, done = max(0, min(len(view), self.size - offset)), 0
        with named_input(self.path):
            while done < want:
                n = os.preadv(self.descriptor, [view[done:want]], offset + done)
                if n == 0:
                    raise InputError(self.path, "", "became shorter while it was read; start again")
                done += n
        return done

    def bytes(self, n: int, offset: int) -> bytes:
        """n bytes from an offset on; fewer at the end."""
        found = bytearray(max(0, min(n, self.size - offset)))
        self.read(memoryview(found), offset)
        return bytes(found)
