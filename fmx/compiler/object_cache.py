"""Machine code on disk: a file for each function and combination of types, in a folder of ours alone.

Kernels are kept as functions are, and so is what else can be made again (index/disk/store.py).

A file is a checksum over all that follows: a line that says whose code it is (the function and the kinds
of its arguments), a line of JSON (symbol, type of the result, size of the body), the body, the entry.
Anything else found in its place is as good as nothing: the function is compiled anew.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from typing import Any

import numpy as np

from . import CHECKED, private
from .native import Code, levels, llvm, processor
from .piece import fingerprint

_CHECK = hashlib.sha256().digest_size
SHARED = (
    Path(os.path.realpath(__file__)).parent.parent / "code"
)  # the wheel's, or made by fmx compile --shared
GPUS = "gpu"  # what kernels are kept for, whichever processor launches them
_for_all: list = []  # true once code is kept there
_LARGEST = 1 << 26  # bytes of a file; ours have some 10 kB
_PROOF = "convention"  # a file that says that probe.py has found the code to do what it must


@functools.cache
def folder(target: str = "") -> Path | None:
    """The folder of code for this processor, or GPUS; None where the environment names none.

    It need not be there.
    """
    base = SHARED if _for_all else private.base()
    return base / _digest(target or processor()) if base else None


@functools.cache
def _shared_folders(target: str = "") -> list:
    """Folders of code that came with fmx, or that its owner made: for GPUs, or what this processor runs."""
    targets = [target] if target else [processor(), *levels()]
    return [SHARED / _digest(name) for name in targets] if SHARED.is_dir() else []


def keep_for_all() -> None:
    """Keep code beside fmx itself from now on, for all who run it."""
    _for_all.append(True)
    folder.cache_clear()


@functools.cache
def _digest(processor_name: str) -> str:
    """Names the code on disk by what all of it depends on: the compiler, this room included, the processor.

    Of Python and NumPy these are bytecode and the layout of arrays.  Code that checks its indices never mixes
    with code that does not.
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
def sources_of(room: Path) -> bytes:
    """A digest of the sources of a room of fmx, a folder."""
    state = hashlib.sha256()
    for path in sorted(room.rglob("*.py")):
        state.update(path.relative_to(room).as_posix().encode())
        state.update(path.read_bytes())
    return state.digest()


def name_of(function: Callable, kinds: tuple) -> str:
    """Whose code it is: the function, what it is compiled from, and the kinds of its arguments."""
    own, _, words = plain_name(function, kinds).partition(" ")
    return f"{own} {fingerprint(function, kinds)} {words}"


def plain_name(function: Callable, kinds: tuple) -> str:
    """The function and the kinds of its arguments."""
    return " ".join([f"{function.__module__}.{function.__qualname__}", *map(_written, kinds)])


def _written(kind: Any) -> str:
    if isinstance(kind, type):
        return f"{kind.__module__}.{kind.__qualname__}"
    return str(kind) if isinstance(kind, np.dtype) else repr(kind)


def _file(name: str) -> str:
    return f"{name.partition(' ')[0]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.o"


def read(name: str, target: str = "") -> bytes | None:
    """What is kept under a name; None if there is nothing, or it is damaged or of another name."""
    where = folder(target)
    return _checked(name, private.read(where, _file(name), _LARGEST)) if where else None


def _checked(name: str, data: bytes | None) -> bytes | None:
    if data is None or hashlib.sha256(data[_CHECK:]).digest() != data[:_CHECK]:
        return None
    whose, _, held = data[_CHECK:].partition(b"\n")
    return held if whose == name.encode() else None


def write(name: str, data: bytes, target: str = "") -> None:
    """Keep bytes under a name (one line), where there is a folder for them."""
    where = folder(target)
    if where:
        held = name.encode() + b"\n" + data
        private.write(where, _file(name), hashlib.sha256(held).digest() + held, for_all=bool(_for_all))
        if not _for_all:
            _tidy(where)


def pack(code: Code) -> bytes:
    """Code as bytes."""
    return json.dumps([code.symbol, code.result, len(code.body)]).encode() + b"\n" + code.body + code.entry


def unpack(data: bytes) -> Code:
    """Code from bytes.  Raises ValueError, TypeError or RecursionError if they are none."""
    head, _, machine = data.partition(b"\n")
    symbol, result, size = json.loads(head)
    return Code(symbol, result, machine[:size], machine[size:])


def load(name: str, target: str = "") -> Code | None:
    """The code of a name, if it is kept, or came with fmx."""
    for data in _kept(name, target):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            if data is not None:
                return unpack(data)
    return None


def _kept(name: str, target: str) -> Iterator[bytes | None]:
    yield read(name, target)
    for where in _shared_folders(target):
        yield _checked(name, private.read(where, _file(name), _LARGEST, for_all=True))


def save(name: str, code: Code, target: str = "") -> None:
    """Keep code under a name."""
    write(name, pack(code), target)


def is_kept() -> bool:
    """Whether there is a folder that is ours alone to keep code in."""
    where = folder()
    return where is not None and private.is_ours(where, for_all=bool(_for_all))


def is_proven(proof: str = _PROOF) -> bool:
    """Whether code of this folder has been found to do what it must."""
    return read(proof) is not None


def keep_proof(proof: str = _PROOF) -> None:
    """Tell other processes that code of this folder does what it must."""
    write(proof, b"")


@functools.cache
def _tidy(where: Path) -> None:
    """Remove what was not used for long: of this folder, and folders of other compilers beside it."""
    private.prune_files(where)
    private.prune(where.parent, re.compile("[0-9a-f]{16}").fullmatch)
