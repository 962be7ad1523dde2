"""The index on disk: a directory of .npy arrays and meta.json, written aside and renamed when whole.

    ref.fmx/
      meta.json            format, versions, parameters, one entry an array: dtype, shape, bytes, checksums
      contig_names.npy ... opened with mmap_mode="r"
      part0/ part1/ ...    the arrays of each part, if there are several (parts.py)

Each array has one xxh3 checksum for every PIECE bytes of its data, and meta.json one of itself.
"""

import json
import os
import shutil
import tokenize
from pathlib import Path

import numpy as np
import xxhash

from .errors import IndexFileError, OutputError
from .parallel import run_all

FORMAT = 1
PIECE = 1 << 26
META = "meta.json"


def checksums(array, n_threads=1) -> list:
    """Hexadecimal xxh3-64 of each PIECE bytes of the array's data."""
    return run_all(_checksum, [(piece,) for piece in _pieces(array)], n_threads)


def _pieces(array) -> list:
    """The array's data, PIECE bytes at a time."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return [data[start : start + PIECE] for start in range(0, max(data.size, 1), PIECE)]


def _checksum(piece) -> str:
    return xxhash.xxh3_64_hexdigest(piece)


def _meta_checksum(meta: dict) -> str:
    body = {key: value for key, value in meta.items() if key != "checksum"}
    return xxhash.xxh3_64_hexdigest(json.dumps(body, sort_keys=True).encode())


class IndexWriter:
    """Writes an index beside its final place; ``commit`` renames it, anything else leaves nothing."""

    def __init__(self, path, n_threads=1):
        self.path = Path(path)
        self.n_threads = n_threads
        self.arrays = {}
        if self.path.exists() and not (self.path / META).exists():
            raise OutputError(f"{self.path} exists and is not an fmx index; remove it or choose another -o")
        self._aside = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")

    def __enter__(self):
        try:
            self._aside.mkdir()
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write here: {error.strerror}") from error
        return self

    def __exit__(self, *_):
        shutil.rmtree(self._aside, ignore_errors=True)

    def add(self, name: str, array) -> None:
        """Write one array; a name with a slash goes into a folder."""
        try:
            file = self._aside / f"{name}.npy"
            file.parent.mkdir(exist_ok=True)
            np.save(file, array)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write {name}: {error.strerror or error}") from error
        self.arrays[name] = {
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "bytes": array.nbytes,
            "checksums": checksums(array, self.n_threads),
        }

    def commit(self, meta: dict) -> None:
        """Write meta.json and put the index in its place, replacing an older one."""
        self._write_meta({"format": FORMAT, **meta, "arrays": self.arrays})
        replaced = self.path.with_name(f".{self.path.name}.{os.getpid()}.replaced")
        if self.path.exists():
            self.path.rename(replaced)
        self._aside.rename(self.path)
        shutil.rmtree(replaced, ignore_errors=True)

    def _write_meta(self, meta: dict) -> None:
        meta["checksum"] = _meta_checksum(meta)
        try:
            (self._aside / META).write_text(json.dumps(meta, indent=1) + "\n")
        except OSError as error:
            raise OutputError(f"{self.path}: cannot write {META}: {error.strerror or error}") from error


class IndexExtender(IndexWriter):
    """Adds arrays to an index.  They belong to it once meta.json is replaced, the last and only change."""

    def __init__(self, path, n_threads=1):
        self.meta = read_meta(path)
        super().__init__(path, n_threads)
        self._aside = self.path / f".{os.getpid()}.partial"

    def commit(self, meta: dict) -> None:
        """Move the arrays into the index and replace what ``meta`` names in meta.json."""
        self._write_meta({**self.meta, **meta, "arrays": {**self.meta["arrays"], **self.arrays}})
        for name in (*(f"{name}.npy" for name in self.arrays), META):
            (self._aside / name).replace(self.path / name)


def read_meta(path) -> dict:
    """meta.json, checked.  Raises IndexFileError: missing, damaged, or of another format."""
    path = Path(path)
    if not path.is_dir():
        raise IndexFileError(f"{path}: no index here; build one with 'fmx index REFERENCE.fa -o {path}'")
    try:
        meta = json.loads((path / META).read_text())
        format_version, checksum = meta["format"], meta["checksum"]
    except FileNotFoundError:
        raise IndexFileError(f"{path}: has no {META}, so it is not an fmx index") from None
    except (ValueError, KeyError, TypeError) as error:
        raise IndexFileError(f"{path / META}: damaged; build the index again") from error
    if format_version != FORMAT:
        raise IndexFileError(
            f"{path}: index format {format_version}, this fmx reads {FORMAT}; build the index again"
        )
    if checksum != _meta_checksum(meta):
        raise IndexFileError(f"{path / META}: damaged (checksum differs); build the index again")
    return meta


def read_array(path, meta: dict, name: str):
    """One array of an index, mapped from disk.  Raises IndexFileError if it is not as meta.json says."""
    file = Path(path) / f"{name}.npy"
    expected = meta["arrays"][name]
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise IndexFileError(f"{file}: missing; build the index again") from None
    except (ValueError, OSError, EOFError, SyntaxError, tokenize.TokenError) as error:
        raise IndexFileError(f"{file}: truncated or damaged; build the index again") from error
    if str(array.dtype) != expected["dtype"] or list(array.shape) != expected["shape"]:
        raise IndexFileError(f"{file}: damaged (its header differs from {META}); build the index again")
    return array.view(np.ndarray)


def read_checked(path, meta: dict, names, n_threads=1) -> dict:
    """Arrays by name, mapped from disk, every byte compared with its checksums.

    Raises IndexFileError for the first that differs.  The pieces of all arrays are shared out over threads
    together, the largest first.
    """
    arrays = {name: read_array(path, meta, name) for name in names}
    pieces = {(name, i): piece for name in names for i, piece in enumerate(_pieces(arrays[name]))}
    largest_first = sorted(pieces, key=lambda key: -pieces[key].size)
    found = run_all(_checksum, [(pieces[key],) for key in largest_first], n_threads)
    digests = dict(zip(largest_first, found, strict=True))
    for name in names:
        if [digests[key] for key in pieces if key[0] == name] != meta["arrays"][name]["checksums"]:
            file = Path(path) / f"{name}.npy"
            raise IndexFileError(f"{file}: damaged (checksum differs); build the index again")
    return arrays
