"""Reading an index from disk, and its seal, which records the files that need no second check.

For each checked array the seal has device, inode, size, mtime and ctime, and a digest for meta.json.  Only
the kernel sets ctime, at every write.  Seals are kept with the machine code, in a folder that only the user
can write (compiler/object_cache.py), so nobody else can make one.  A seal of another version of fmx, which
may check more, is not accepted: the digest covers the sources of this package, too.
"""

import functools
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import xxhash

from ...compiler import object_cache
from ...errors import IndexFileError
from ...machines.jobs import Array, run_all
from ...system.files import tells_changes
from ..arrays import ArraySpec, scan
from . import META, what_is_there
from .check import GROUPED, SPARSE, check_meta, forms

_SETTLED = 2 * 10**9  # ns; clocks are more precise, so two changes of older files have different times

T = TypeVar("T")


def state_of(file: int) -> list | None:
    """Return values that change whenever the file of a descriptor does; None if there are none."""
    return _state(os.fstat(file)) if tells_changes(file) else None


def _state(status: os.stat_result) -> list:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _state_at(path: Path) -> list | None:
    try:
        return _state(os.stat(path))
    except OSError:
        return None


def read_seal(path: str | os.PathLike, meta: dict) -> dict:
    """Return {name: state} of the arrays that the seal of an index covers; empty if there is no seal."""
    data = object_cache.read(_name(path))
    try:
        digest, states = json.loads(data) if data is not None else ("", {})
    except (ValueError, TypeError, RecursionError):
        return {}
    return states if digest == _digest(meta) and isinstance(states, dict) else {}


def keep_seal(path: str | os.PathLike, meta: dict, states: dict, since: int) -> None:
    """Seal an index: arrays with these states, opened after ``since`` (ns of the epoch), are correct.

    Arrays that changed meanwhile, or so recently that another change might go unnoticed, are left out.
    """
    unchanged = {
        name: state
        for name, state in states.items()
        if state == _state_at(Path(path) / f"{name}.npy") and state[-1] < since - _SETTLED
    }
    if unchanged:
        object_cache.write(_name(path), json.dumps([_digest(meta), unchanged]).encode())


def _name(path: str | os.PathLike) -> str:
    place = os.path.realpath(path)
    return f"seal {hashlib.sha256(os.fsencode(place)).hexdigest()}"


def _digest(meta: dict) -> str:
    checks = object_cache.sources_of(Path(__file__).parent)
    return hashlib.sha256(checks + json.dumps(meta, sort_keys=True).encode()).hexdigest()


# The index on disk: a directory of .npy arrays and meta.json, written beside its place and renamed when
# complete.
#
#     ref.fmx/
#       meta.json            format, versions, parameters, one entry per array: dtype, shape, bytes, checksums
#       contig_names.npy ... opened with mmap_mode="r"
#       part0/ part1/ ...    the arrays of each part, if there are several (index/reference.py)
#
# Each array has one xxh3 checksum per PIECE bytes of its data, and meta.json has one of itself.  check.py has
# the further checks of arrays; the seal records arrays that were already checked.  Writing is in writer.py.

FORMAT = 1  # of an index with neither groups nor a sparse suffix array
FORMATS = FORMAT, GROUPED, SPARSE
PIECE = 1 << 26


def checksum(array: Array) -> str:
    """Return the hexadecimal xxh3-64 of a flat array's data."""
    return scan(array, 0, array.size, ArraySpec("", ()))[0]


def not_whole(path: Path | str | os.PathLike | None, wrong: str) -> IndexFileError:
    """Return the error for an index, or a file of one, that cannot be used."""
    return IndexFileError(f"{path}: {wrong}; build the index again")


def meta_checksum(meta: dict) -> str:
    """Return the hexadecimal xxh3-64 of everything in meta.json except this checksum."""
    body = {key: value for key, value in meta.items() if key != "checksum"}
    return xxhash.xxh3_64_hexdigest(json.dumps(body, sort_keys=True).encode())


def digest_of(meta: dict, of: tuple = ("contig_", "group_")) -> str:
    """Identify a reference by meta.json: its contigs, bases and groups, regardless of the rest of the
    index."""
    checksums = {
        key: meta["arrays"][key]["checksums"] for key in sorted(meta["arrays"]) if key.startswith(of)
    }
    return hashlib.sha256(json.dumps(checksums).encode()).hexdigest()[:16]


def settled(read: Callable[..., T]) -> Callable[..., T]:
    """Wrap a function that reads an index: retry once if it fails while the index is replaced."""

    @functools.wraps(read)
    def read_settled(path: str | os.PathLike, *arguments: Any, **named: Any) -> T:
        before = _state_at(Path(path) / META)
        try:
            return read(path, *arguments, **named)
        except IndexFileError:
            if _state_at(Path(path) / META) == before:
                raise
        return read(path, *arguments, **named)

    return read_settled


@settled
def read_meta(path: str | os.PathLike) -> dict:
    """Return meta.json after checking it, and that every array file has the right length.

    Raises IndexFileError if it is missing, damaged, of another format, or not a possible index.
    """
    path = Path(path)
    meta = read_any_meta(path)
    if meta["format"] not in FORMATS:
        raise not_whole(path, f"index format {meta['format']}, but this fmx reads {FORMAT} to {SPARSE}")
    try:
        check_meta(meta)
    except ValueError as error:
        raise not_whole(path / META, f"not a valid index ({error})") from error
    for name in meta["arrays"]:
        with _array_file(path, meta, name):
            pass
    return meta


def read_any_meta(path: Path) -> dict:
    """Return meta.json of an index of any format if its checksum is right.  Raises IndexFileError."""
    file = path / META
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            raise IndexFileError(f"{path}: {what_is_there(path)}")
        text = _regular(file).read_text()
    except FileNotFoundError:
        if path.is_dir():
            raise IndexFileError(f"{path}: has no {META}, so it is not an fmx index") from None
        raise IndexFileError(f"{path}: {what_is_there(path)}") from None
    except OSError as error:
        raise IndexFileError(f"{file}: cannot read: {error.strerror or error}") from error
    except ValueError as error:
        raise not_whole(file, "damaged") from error
    try:
        meta = json.loads(text)
        checksum, version = meta["checksum"], meta["format"]
        is_right = type(version) is int and (version not in FORMATS or checksum == meta_checksum(meta))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise not_whole(file, "damaged") from error
    if not is_right:
        raise not_whole(file, "damaged (checksum differs)")
    return meta


def _regular(file: Path) -> Path:
    """Return the file unless it is a pipe or a device, where reading could wait forever."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError(f"{file.name} is not a regular file")
    return file


@contextmanager
def _array_file(path: str | os.PathLike, meta: dict, name: str) -> Iterator[BinaryIO]:
    """Open the file of an array at its data.  Raises IndexFileError if it does not match meta.json."""
    file, entry = Path(path) / f"{name}.npy", meta["arrays"][name]
    try:
        with open(_regular(file), "rb") as opened:
            head = opened.read(10)
            size, length = os.fstat(opened.fileno()).st_size, int.from_bytes(head[8:], "little")
            header = opened.read(length)
            is_whole = len(header) == length and size == 10 + length + entry["bytes"]
            if head[:8] != b"\x93NUMPY\x01\x00" or not is_whole:
                raise not_whole(file, "truncated or damaged")
            descr, shape = np.dtype(entry["dtype"]).str, tuple(entry["shape"])
            expected = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
            if header.strip() != expected.encode():
                raise not_whole(file, f"damaged (its header differs from {META})")
            yield opened
    except FileNotFoundError:
        raise not_whole(file, "missing") from None
    except OSError as error:
        raise IndexFileError(f"{file}: cannot read: {error.strerror or error}") from error


def read_array(path: str | os.PathLike, meta: dict, name: str) -> tuple:
    """Return (array, state) of one array of an index, mapped from disk; ``state`` is that of state_of.

    Raises IndexFileError if it does not match meta.json.
    """
    entry = meta["arrays"][name]
    with _array_file(path, meta, name) as file:
        array = np.memmap(file, entry["dtype"], "r", file.tell(), tuple(entry["shape"]))
        return array.view(np.ndarray), state_of(file.fileno())


def read_checked(
    path: str | os.PathLike, meta: dict, names: Iterable[str], n_threads: int = 1, verify: bool = False
) -> dict:
    """Return arrays by name, mapped from disk and checked now, unless the seal covers them.

    ``verify``: ignore the seal.  Raises IndexFileError for the first array that differs.
    """
    start = time.time_ns()
    mapped = {name: read_array(path, meta, name) for name in names}
    arrays = {name: array for name, (array, _) in mapped.items()}
    sealed = {} if verify else read_seal(path, meta)
    states = {name: state for name, (_, state) in mapped.items() if state}
    unknown = [name for name in names if name not in states or states[name] != sealed.get(name)]
    if unknown:
        check_arrays(path, meta, {name: arrays[name] for name in unknown}, n_threads)
        keep_seal(path, meta, {**sealed, **states}, start)
    return arrays


def check_arrays(path: str | os.PathLike, meta: dict, arrays: dict, n_threads: int) -> None:
    """Compare every byte of arrays with its checksums, and values with their ArraySpec.

    Raises IndexFileError for the first that differs.  The pieces of all arrays are distributed over threads
    together, the largest first.
    """
    required, pieces = forms(meta), {}
    for name, array in arrays.items():
        flat, step = np.ascontiguousarray(array).reshape(-1), PIECE // array.itemsize
        for i in range(0, max(flat.size, 1), step):
            pieces[name, i] = flat, i, min(i + step, flat.size), required[name]
    largest_first = sorted(pieces, key=lambda key: pieces[key][1] - pieces[key][2])
    scans = run_all(scan, [pieces[key] for key in largest_first], n_threads)
    scan_of = dict(zip(largest_first, scans, strict=True))
    for name in arrays:
        file, scans = Path(path) / f"{name}.npy", [scan_of[key] for key in pieces if key[0] == name]
        if [digest for digest, _ in scans] != meta["arrays"][name]["checksums"]:
            raise not_whole(file, "damaged (checksum differs)")
        holds = required[name].holds
        if not all(is_right for _, is_right in scans) or (holds and not holds(arrays[name])):
            raise not_whole(file, "not valid (values out of range or order)")
