"""Machine code on disk: a file for each function and combination of types, in a private folder.

Kernels are kept in the same way, and so are other data that can be made again (index/disk.py).

A file is a checksum, a line with the symbol and the type of the result, and the machine code.  The checksum
is that of the names of the folder and of the code, which identify the compiler, the function and the kinds of
its arguments, and of the rest of the file.  If it does not fit, the function is compiled again.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from typing import Any

import numpy as np

from . import CHECKED, private
from .native import Code, levels, llvm, processor
from .piece import fingerprint

_CHECK = hashlib.sha256().digest_size
SHARED = Path(os.path.realpath(__file__)).parent.parent / "code"  # of the wheel, as safe as its modules
GPUS = "gpu"  # target of kernels, whichever processor launches them
_DAY = 86400  # seconds
_UNUSED = 30 * _DAY
_PAUSE, _MOST_PAUSES = 0.05, 1200  # seconds between tries to lock, and their number


def base() -> Path | None:
    """Return the folder for data that fmx can make again; None if the environment names none."""
    shared = os.environ.get("XDG_CACHE_HOME", "")
    cache = os.environ.get("FMX_CACHE") or (shared if os.path.isabs(shared) else "~/.cache")
    cache = os.path.join(os.path.expanduser(cache), "fmx")
    with suppress(OSError):  # relative to a folder that was deleted
        return None if cache.startswith("~") else Path(os.path.realpath(cache))
    return None


@functools.cache
def folder(target: str = "") -> Path | None:
    """Return the folder of code for this processor, or for GPUS; None if the environment names none.

    The folder may not exist yet.
    """
    where = base()
    return where / _digest(target or processor()) if where else None


@functools.cache
def shared_folders(target: str = "") -> list:
    """Return folders of code that came with fmx, for GPUS or for this processor."""
    targets = [target] if target else [processor(), *levels()]
    return [SHARED / _digest(name) for name in targets] if SHARED.is_dir() else []


@functools.cache
def _digest(processor_name: str) -> str:
    """Return a name for code on disk from what all of it depends on: compiler, this package, processor.

    For Python and NumPy these are the bytecode and the layout of arrays.  Code with checked indices is kept
    separate from code without.
    """
    compiler = find_spec("numba")
    layouts = f"{MAGIC_NUMBER!r} {object.__basicsize__} {np.__version__.partition('.')[0]}"
    versions = f"{layouts} {llvm.llvm_version_info} {processor_name}"
    state = hashlib.sha256(f"{versions}{' checked' if CHECKED else ''}".encode())
    if compiler is not None and compiler.origin:
        state.update(Path(compiler.origin).with_name("_version.py").read_bytes())
    state.update(sources_of(Path(__file__).parent))
    return state.hexdigest()[:16]


@functools.cache
def sources_of(package: Path) -> bytes:
    """Return a digest of the sources of a package of fmx, a folder."""
    state = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        state.update(path.relative_to(package).as_posix().encode())
        state.update(path.read_bytes())
    return state.digest()


def name_of(function: Callable, kinds: tuple) -> str:
    """Return the full name of code: the function, its fingerprint, and the kinds of its arguments.

    It is "", for code that is not kept, if the function, or a type, is not of fmx, or if the function uses
    variables of another function: a name would not identify it.
    """
    named = [function, *(kind for kind in kinds if isinstance(kind, type) and kind is not tuple)]
    if function.__closure__ or not all(x.__module__.startswith("fmx.") for x in named):
        return ""
    name, _, words = plain_name(function, kinds).partition(" ")
    return f"{name} {fingerprint(function, kinds)} {words}"


def plain_name(function: Callable, kinds: tuple) -> str:
    """Return the function and the kinds of its arguments."""
    words = [f"{function.__module__}.{function.__qualname__}"]
    for kind in kinds:
        if isinstance(kind, type):
            words.append(f"{kind.__module__}.{kind.__qualname__}")
        else:
            words.append(str(kind) if isinstance(kind, np.dtype) else repr(kind))
    return " ".join(words)


def _file(name: str) -> str:
    return f"{name.partition(' ')[0]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.o"


def read(name: str, target: str = "") -> bytes | None:
    """Return what is kept under a name; None if there is nothing, or it is damaged or has another name."""
    where = folder(target)
    if not where:
        return None
    with suppress(OSError):  # a read-only file system
        if where.stat().st_mtime < time.time() - _DAY:
            os.utime(where)  # it is in use
    return _content(where, name, private.read(where, _file(name)))


def _check(where: Path, name: str, data: bytes) -> bytes:
    return hashlib.sha256(f"{where.name}\n{name}\n".encode() + data).digest()


def _content(where: Path, name: str, data: bytes | None) -> bytes | None:
    if data is None or _check(where, name, data[_CHECK:]) != data[:_CHECK]:
        return None
    return data[_CHECK:]


def write(name: str, data: bytes, target: str = "") -> None:
    """Keep bytes under a name (one line), if there is a folder for them."""
    where = folder(target)
    if where:
        private.write(where, _file(name), _check(where, name, data) + data)
        _tidy(where.parent)


@functools.cache
def _tidy(base: Path) -> None:
    """Remove folders of code, of other compilers, that were not used for long."""
    with suppress(OSError):
        for path in base.iterdir():
            state = path.lstat()
            is_old = stat.S_ISDIR(state.st_mode) and state.st_mtime < time.time() - _UNUSED
            if is_old and state.st_uid == os.geteuid() and re.fullmatch("[0-9a-f]{16}", path.name):
                shutil.rmtree(path, ignore_errors=True)


def load(name: str, target: str = "") -> Code | None:
    """Return the code of a name, if it is kept or came with fmx."""
    data = read(name, target)
    for where in shared_folders(target) if data is None else ():
        with suppress(OSError):
            data = data or _content(where, name, (where / _file(name)).read_bytes())
    if data is None:
        return None
    head, _, machine = data.partition(b"\n")
    symbol, _, result = head.decode().partition(" ")
    return Code(symbol, result, machine)


@contextmanager
def _locked(where: Path, name: str) -> Iterator[None]:
    """Hold the lock of a name in a folder; no lock where locks do not work, or after a minute.

    The lock is a file, removed afterwards; the system releases the lock of a process that ends, but not that
    of one that is stopped.
    """
    path = f"{_file(name)}.lock"
    with ExitStack() as stack:
        with suppress(OSError):
            at = stack.enter_context(private.opened(where, make=True))
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600, dir_fd=at)
            stack.callback(os.close, file)
            stack.callback(_remove, path, at)
            for _ in range(_MOST_PAUSES):
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_PAUSE)
        yield


def _remove(path: str, at: int) -> None:
    with suppress(OSError):
        os.unlink(path, dir_fd=at)


def load_or_make(name: str, make: Callable[[], Code], target: str = "") -> Code:
    """Return the code of a name, kept or made, by one process alone; "" is the name of what is not kept."""
    code, where = load(name, target) if name else None, folder(target)
    if code is None:
        start = time.monotonic()
        with _locked(where, name) if name and where else nullcontext():
            code = load(name, target) if name else None
            if code is None:
                _report_compiling()
                code = make()
                if name:
                    write(name, f"{code.symbol} {code.result}\n".encode() + code.body, target)
        _seconds[0] += time.monotonic() - start
    return code


def can_keep() -> bool:
    """Return whether there is a private folder to keep code in."""
    with suppress(OSError), private.opened(where, make=True) if (where := folder()) else nullcontext():
        return where is not None and os.access(where, os.W_OK)
    return False


# What is not on disk is compiled: who is notified, and how long it takes.

_unnotified: list = []  # the listener (machines/progress.py), until it was notified
_seconds = [0.0]


def on_first_compile(listener: Any) -> None:
    """Notify ``listener``, a Progress, once, when something is compiled that is not on disk.

    The last listener replaces earlier ones, such as that of an earlier command of the process.
    """
    _unnotified[:] = [listener]


def seconds_of_compiling() -> float:
    """Return the seconds that this process has spent on compiling."""
    return _seconds[0]


def _report_compiling() -> None:
    """Report once that something is compiled, and why if each time."""
    while _unnotified:
        later = "later runs reuse the code"
        if not can_keep():
            where = folder() or "a folder without a home"
            remedy = "set FMX_CACHE to a folder that only you can write to"
            later = f"each time: the code cannot be stored in {where}; {remedy}"
        _unnotified.pop().say(f"compiling for this machine ({later}) ...")
