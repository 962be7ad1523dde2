"""The operating system: outputs that appear complete, reads at offsets, signals, streams, limits."""

import ctypes
import errno
import fcntl
import math
import os
import re
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NoReturn, Self

from .errors import LINE, InputError, brief, named_input

_PIPE_BYTES = 1 << 20  # bytes: the limit of Linux for any user


def widen(file: BinaryIO) -> None:
    """If a file is a pipe, raise its capacity from 64 kB to 1 MB.

    Writer and reader then wait for each other, and wake each other, less often.
    """
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # not a pipe, or the limit is lower
            fcntl.fcntl(file.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


# Outputs are written beside their final place, so their name is only ever that of a complete file.
#
#     out.sam                                unchanged, or complete
#     .out.sam.3f0c9a517be2d840.partial      being written, locked (flock) while its owner lives
#     .ref.fmx.91d2c7a04b6e5f38.replaced     an old folder set aside where two names cannot be exchanged
#
# A killed run leaves its draft; the next run with that output removes it, perhaps also one that is not locked
# yet, whose owner then makes another.  Links are followed.

_LONGEST = 255  # bytes of a file name


class _Draft:
    """An unfinished output at ``path``; ``commit`` moves it to ``final``, any other exit removes it."""

    def __init__(self, final: Path | str) -> None:
        self.final = Path(os.path.realpath(final))
        sweep(self.final)
        self.path = _draft_name(self.final, "partial")

    def __enter__(self) -> Self:
        _unfinished.add(self._remove)
        try:
            while not self._create():
                self.path = _draft_name(self.final, "partial")
        except BaseException:  # a signal, too, that arrives as soon as the draft exists
            self._finish()
            raise
        return self

    def _finish(self) -> None:
        self._remove()
        _unfinished.discard(self._remove)

    def _create(self) -> bool:
        """Create the draft and lock it; return False if another run has removed it.  Raises OSError."""
        raise NotImplementedError

    def _remove(self) -> None:
        raise NotImplementedError


class DraftFile(_Draft):
    """An unfinished file: write to ``file``, then ``commit``.  Raises OSError."""

    def _create(self) -> bool:
        self.file = open(self.path, "xb")  # noqa: SIM115
        if not (is_locked := lock_new(self.path, self.file.fileno())):
            self.file.close()
        return is_locked

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink()

    def complete(self) -> None:
        """Sync the data to disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def commit(self) -> None:
        """Rename the file, which is complete, to its final name, replacing any file there."""
        os.replace(self.path, self.final)

    def __exit__(self, *_: object) -> None:
        self._finish()
        with suppress(OSError):  # data that a full disk did not accept
            self.file.close()


class DraftFolder(_Draft):
    """An unfinished folder: write below ``path``, then ``commit``.  Raises OSError."""

    def _create(self) -> bool:
        self.path.mkdir()
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        if not (is_locked := lock_new(self.path, self._descriptor)):
            os.close(self._descriptor)
        return is_locked

    def _remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def commit(self, is_lasting: bool = True) -> None:
        """Rename the folder to its final name, replacing any folder there; sync it if ``is_lasting``."""
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
        self._finish()
        os.close(self._descriptor)


def sync_tree(folder: Path) -> None:
    """Sync every file and name in a folder to disk.  Raises OSError."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                os.fsync(file.fileno())
        sync_names(parent)


def sweep(final: Path) -> None:
    """Remove drafts of dead owners beside a final place; restore an old folder if its place is empty.

    Anything that is locked, or cannot be locked here, is left unchanged.
    """
    final = Path(final)
    pattern = re.compile(re.escape(_draft_start(final)) + rb"[0-9a-f]{16}\.(partial|replaced)")
    with suppress(OSError), os.scandir(os.fsencode(final.parent)) as entries:
        for path in [entry.path for entry in entries if pattern.fullmatch(entry.name)]:
            with suppress(OSError), _locked_draft(path) as is_folder:
                if not is_folder:
                    os.unlink(path)
                elif path.endswith(b".replaced") and not final.exists():
                    os.rename(path, final)
                else:
                    shutil.rmtree(path)


@contextmanager
def _locked_draft(path: bytes) -> Iterator[bool]:
    """Yield whether a path is a folder, with its lock held.  Raises OSError if it is locked."""
    mode = os.lstat(path).st_mode
    is_folder = stat.S_ISDIR(mode)
    if not (is_folder or stat.S_ISREG(mode)):
        raise OSError(errno.EINVAL, "neither file nor folder")
    descriptor = os.open(path, os.O_NOFOLLOW | (os.O_RDONLY if is_folder else os.O_RDWR))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield is_folder
    finally:
        os.close(descriptor)


def _draft_start(final: Path) -> bytes:
    """Return the prefix of the names of all drafts of a final place."""
    room = _LONGEST - len("..") - 16 - len(".replaced")
    return b".%s." % os.fsencode(final.name)[:room]


def _draft_name(final: Path, kind: str) -> Path:
    return final.with_name(
        os.fsdecode(b"%s%s.%s" % (_draft_start(final), os.urandom(8).hex().encode(), kind.encode()))
    )


def lock(descriptor: int) -> bool:
    """Lock a file until it is closed; return False if another process holds the lock.

    Returns True if the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks, as on some shared storage; nothing is swept there either
        return True
    return True


def lock_new(path: Path | str, descriptor: int) -> bool:
    """Lock a file that was just created, as ``lock``; return False also if another process has removed it."""
    try:
        return lock(descriptor) and os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def sync_names(folder: Path | str) -> None:
    """Sync the names in a folder to disk, if the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _replace(new: Path, final: Path) -> None:
    """Move the folder ``new`` to the name of the folder ``final``, and remove the old one."""
    if exchange(new, final):
        shutil.rmtree(new, ignore_errors=True)
        return
    old = _draft_name(final, "replaced")
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


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names atomically; return False if the C library or file system cannot.  Raises OSError."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    folder, flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if renameat2(folder, os.fsencode(one), folder, os.fsencode(other), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), str(other))


# Metadata of a dataclass field that only states where something is: shards of one run may differ in it.
PLACE = {"is_place": True}


class RegularFile:
    """An open file of ``size`` bytes as of opening; closed with the last reference to it.

    ``descriptor``: a duplicate, for reads at offsets.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self.descriptor = path, os.dup(descriptor)
        self.size = os.fstat(descriptor).st_size

    def __del__(self) -> None:
        os.close(self.descriptor)

    def read(self, view: Any, offset: int) -> int:
        """Fill ``view`` with bytes from ``offset``; return how many, fewer at the end.  Raises InputError."""
        n_bytes, done = max(0, min(len(view), self.size - offset)), 0
        with named_input(self.path):
            while done < n_bytes:
                n = os.preadv(self.descriptor, [view[done:n_bytes]], offset + done)
                if n == 0:
                    raise InputError(self.path, "", "the file became shorter while it was read; start again")
                done += n
        return done

    def bytes(self, n: int, offset: int) -> bytes:
        """Return n bytes from ``offset``; fewer at the end."""
        data = bytearray(max(0, min(n, self.size - offset)))
        self.read(memoryview(data), offset)
        return bytes(data)


# When this thread's command was started, on the clock of time.monotonic; None if there is no command.
started: ContextVar[float | None] = ContextVar("started", default=None)


# Signals that end a run raise an exception, wherever the program is.

_GRACE = 2.0  # seconds in which a further signal does not interrupt the cleanup after the first
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_last_signal = (0, -_GRACE)  # the last signal acted on, and its time
# Removes unfinished outputs as the process ends: a signal may arrive after __enter__, but before an ExitStack
# knows of it.  A fork does not remove those of its parent.
_unfinished: set[Callable[[], None]] = set()
os.register_at_fork(after_in_child=_unfinished.clear)


class Stopped(KeyboardInterrupt):
    """A signal that ends the process; the argument is its number."""


def run_with_signals(function: Callable[..., int | None], *arguments: Any) -> None:
    """Exit with a function's return value; signals raise Stopped in it, unless ignored (as HUP by nohup)."""
    try:  # from here on: a signal may arrive as soon as the first handler is set
        for number in _ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _stop)
        sys.unraisablehook = _raise_again
        _leave(function(*arguments))
    except BaseException:
        if not _last_signal[0]:
            raise
        _leave(128 + _last_signal[0])  # libraries may have turned the signal into another error


def _leave(code: int | None) -> NoReturn:
    for number in _ENDING:
        # The process is ending.  With SIG_IGN, Python reports a signal that has come but was not handled yet.
        signal.signal(number, lambda *_: None)
    for remove in tuple(_unfinished):
        remove()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)  # Python would take 0.06 s to end: it takes down all modules


def _stop(number: int, _: FrameType | None) -> None:
    global _last_signal
    now = time.monotonic()
    if now - _last_signal[1] > _GRACE:
        _last_signal = number, now
        raise Stopped(number)


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Handle an exception that Python cannot raise, as in a C callback: raise a signal again soon."""
    if not issubclass(lost.exc_type, Stopped):
        sys.__unraisablehook__(lost)
        return

    def again(*_: object) -> None:
        raise Stopped(_last_signal[0])

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.01)


# Messages on standard error, one line each, and standard streams that are closed.


def tell(text: str, end: str = "\n") -> None:
    """Write a message, shortened if too long; on a terminal, it replaces the progress line.

    If standard error cannot be written, the message is lost, and the run continues.
    """
    with suppress(OSError):
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}{brief(text, LINE)}", end=end, file=sys.stderr, flush=True)


def open_closed_streams() -> None:
    """Open closed standard descriptors on /dev/null, so that no other file gets their numbers.

    Input is opened for writing and output for reading, so using them still fails.
    """
    closed = [("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)]
    for number, (name, mode, access) in enumerate(closed):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, access)  # gets the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


# Limits of Linux control groups (a container, a batch job) on cores and memory.
#
# A limit may be set on the group of the process or any group above it; versions 1 and 2 are read.

ROOT = ""  # of the file system


def _core_quota() -> float:
    """Return the smallest quota, in cores; infinity without one."""
    quotas = [math.inf]
    for folder in _folders("cpu"):
        quota = _numbers(f"{folder}/cpu.cfs_quota_us") + _numbers(f"{folder}/cpu.cfs_period_us")
        for share in (_numbers(f"{folder}/cpu.max"), quota):
            if len(share) == 2 and min(share) > 0:
                quotas.append(share[0] / share[1])
    return min(quotas)


def available_cores() -> int:
    """Return the cores this process may use, by its affinity and the quota of a container or batch job."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(math.ceil(min(n, _core_quota())), 1)


def memory_left() -> float:
    """Return the bytes left under the limit, file cache included; infinity without a limit."""
    limits = [math.inf]
    for folder in _folders("memory"):
        for limit, used, cached in (("max", "current", ""), ("limit_in_bytes", "usage_in_bytes", "total_")):
            names = (f"{cached}active_file", f"{cached}inactive_file")  # of the numbers of the file cache
            for most in _numbers(f"{folder}/memory.{limit}"):
                taken, words = (
                    sum(_numbers(f"{folder}/memory.{used}")),
                    _text_of(f"{folder}/memory.stat").split(),
                )
                cache = sum(
                    float(n) for name, n in zip(words[::2], words[1::2], strict=False) if name in names
                )
                limits.append(max(most - taken + min(cache, taken), 0))
    return min(limits)


def _folders(controller: str) -> Iterator[str]:
    """Yield the process's group of a controller and all groups above it, for each version."""
    for line in _text_of(f"{ROOT}/proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if not controllers or controller in controllers.split(","):
            names = [f"{ROOT}/sys/fs/cgroup", controller] if controllers else [f"{ROOT}/sys/fs/cgroup"]
            top = len(names)
            names += [name for name in path.split("/") if name not in ("", "..")]
            yield from ("/".join(names[:n]) for n in range(top, len(names) + 1))


def _numbers(path: str) -> list:
    """Return the numbers in a file, with max as infinity; none if it cannot be read."""
    try:
        return [math.inf if word == "max" else float(word) for word in _text_of(path).split()]
    except ValueError:
        return []


def _text_of(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except (OSError, ValueError):
        return ""


# How much freed memory the C library keeps.

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
_LARGE = 1 << 20
_KEPT_BYTES = 1 << 25  # bytes of the largest piece that it can keep
_HEAP = 1 << 26  # bytes of a heap of a thread


def give_back_large() -> None:
    """Return freed pieces of 1 MB and more to the system at once.

    glibc would keep pieces of up to 32 MB for reuse once one of that size was freed.
    """
    _set_malloc({_M_MMAP_THRESHOLD: _LARGE})


def keep_freed() -> None:
    """Keep freed memory: the kernel clears each page that it hands out again.

    Heaps get their full size at once, because each change of size stops the page faults of all threads, and
    NumPy holds Python's lock meanwhile.

    This suits a process that repeats its work, such as a cluster worker that runs shards, or a search for
    near matches.
    """
    _set_malloc({_M_MMAP_THRESHOLD: _KEPT_BYTES, _M_TRIM_THRESHOLD: 2**31 - 1, _M_TOP_PAD: _HEAP})


def _set_malloc(options: dict[int, int]) -> None:
    with suppress(OSError, AttributeError):  # not glibc
        for name, value in options.items():
            ctypes.CDLL(None).mallopt(name, value)
