"""Machine code on disk: a file for each function and combination of types, in a folder of ours alone.

Kernels are kept as functions are, and so is what else can be made again (index/disk/store.py).

A file is a checksum over all that follows: a line that says whose code it is (the function and the kinds
of its arguments), a line of JSON (symbol, type of the result, size of the body), the body, the entry.
Anything else found in its place is as good as nothing: the function is compiled anew.
"""

import functools
import hashlib
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from . import private
from .fingerprint import fingerprint
from .llvm import llvm, processor
from .native import Code
from .piece import CHECKED

_CHECK = hashlib.sha256().digest_size
_LARGEST = 1 << 26  # bytes of a file; ours have some 10 kB
_PROOF = "convention"  # a file that says that probe.py has found the code to do what it must


@functools.cache
def folder() -> Path | None:
    """The folder of this code; None where the environment names none.  It need not be there."""
    base = private.base()
    return base / _digest() if base else None


def _digest() -> str:
    """Names the code on disk by what all of it depends on: the compiler, this room included, the processor.

    Code that checks its indices never mixes with code that does not.
    """
    compiler = find_spec("numba")
    versions = f"{sys.version} {np.__version__} {llvm.llvm_version_info} {processor()}"
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


def name_of(function, kinds: tuple) -> str:
    """Whose code it is: the function, what it is compiled from, and the kinds of its arguments."""
    names = [f"{k.__module__}.{k.__qualname__}" if isinstance(k, type) else repr(k) for k in kinds]
    own = f"{function.__module__}.{function.__qualname__}"
    return " ".join([own, fingerprint(function, kinds), *names])


def _file(name: str) -> str:
    return f"{name.partition(' ')[0]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.o"


def read(name: str) -> bytes | None:
    """What is kept under a name; None if there is nothing, or it is damaged or of another name."""
    where = folder()
    data = private.read(where, _file(name), _LARGEST) if where else None
    if data is None or hashlib.sha256(data[_CHECK:]).digest() != data[:_CHECK]:
        return None
    whose, _, held = data[_CHECK:].partition(b"\n")
    return held if whose == name.encode() else None


def write(name: str, data: bytes) -> None:
    """Keep bytes under a name (one line), where there is a folder for them."""
    where = folder()
    if where:
        held = name.encode() + b"\n" + data
        private.write(where, _file(name), hashlib.sha256(held).digest() + held)
        _tidy(where)


def pack(code: Code) -> bytes:
    """Code as bytes."""
    return json.dumps([code.symbol, code.result, len(code.body)]).encode() + b"\n" + code.body + code.entry


def unpack(data: bytes) -> Code:
    """Code from bytes.  Raises ValueError, TypeError or RecursionError if they are none."""
    head, _, machine = data.partition(b"\n")
    symbol, result, size = json.loads(head)
    return Code(symbol, result, machine[:size], machine[size:])


def load(name: str) -> Code | None:
    """The code of a name, if it is kept."""
    data = read(name)
    try:
        return unpack(data) if data is not None else None
    except (ValueError, TypeError, RecursionError):
        return None


def save(name: str, code: Code) -> None:
    """Keep code under a name."""
    write(name, pack(code))


def is_kept() -> bool:
    """Whether there is a folder that is ours alone to keep code in."""
    where = folder()
    return where is not None and private.is_ours(where)


def is_proven(proof=_PROOF) -> bool:
    """Whether code of this folder has been found to do what it must."""
    return read(proof) is not None


def keep_proof(proof=_PROOF) -> None:
    """Tell other processes that code of this folder does what it must."""
    write(proof, b"")


@functools.cache
def _tidy(where: Path) -> None:
    """Remove what was not used for long: of this folder, and folders of other compilers beside it."""
    private.prune_files(where)
    private.prune(where.parent, re.compile("[0-9a-f]{16}").fullmatch)
