"""An index on disk: its name, the names and forms of its arrays, reading and checking them.

    ref.fmx/
      meta.json            format, versions, parameters, one entry per array: dtype, shape, bytes, checksums
      contig_names.npy ... opened with mmap_mode="r"
      part0/ part1/ ...    the arrays of each part, if there are several (reference.py)

Each array has one xxh3 checksum per PIECE bytes of its data, and meta.json has one of itself.  Checksums
detect damage; further checks detect what cannot be right, so that compiled code never reads outside an array,
whoever wrote the index.  A seal records the arrays that need no second check: device, inode, size, mtime and
ctime of each, and a digest for meta.json.  The kernel sets ctime, at every write.  Seals are stored with
the machine code, in a folder that only the user can write (compiler/object_cache.py), so nobody else can make
one.  A seal of another version of fmx, which may check more, is not accepted: the digest covers the sources
of this package.
"""

import hashlib
import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import xxhash

from ..compiler import object_cache
from ..dna import SPARE_WORDS, WORD
from ..errors import IndexFileError, UnsupportedError
from ..machines.jobs import Array, run_all
from . import layouts, tables
from .contracts import LARGE_LCP
from .layouts import ArraySpec, LayoutName
from .positions import n_mark_words
from .reference import COLUMNS, MAX_SYMBOLS, are_names
from .sparse import SparseName, parse_sparse

META = "meta.json"
_FASTA = r"\.(fa|fasta|fna|ffn|fas)(\.(gz|bgz|bgzf|bz2|xz|zst))?$"


def index_at(path: str | os.PathLike) -> Path:
    """Return the folder of an index: ``path``, or NAME.fmx if ``path`` is NAME, NAME.fa or similar.

    If there is none, returns ``path``, which is refused when it is opened.
    """
    name = os.fspath(path)
    candidates = name, f"{name.rstrip(os.sep)}.fmx", re.sub(_FASTA, ".fmx", name)
    return Path(next((each for each in candidates if os.path.isfile(os.path.join(each, META))), name))


def what_is_there(path: Path) -> str:
    """Describe what to do if ``path`` is no index: it is named wrongly, or not built yet."""
    if re.search(_FASTA, path.name) and path.is_file():
        return f"this is a reference, not its index: build one with 'fmx index {path}'"
    if path.is_file():
        return "this is a file, not an index: name the folder that 'fmx index' wrote"
    try:
        names = [each.stem for each in path.parent.iterdir() if each.suffix == ".fmx"]
    except OSError:
        names = []
    from difflib import get_close_matches  # only for errors

    usual = re.sub(_FASTA, "", str(path)).removesuffix(".fmx") + ".fmx"
    missing = "there is no index at this path" + (f" or at {usual}" if usual != str(path) else "")
    if meant := get_close_matches(path.name.removesuffix(".fmx"), names, 1):
        return f"{missing}; did you mean {path.parent / meant[0]}.fmx?"
    return f"{missing}: build one with 'fmx index REFERENCE.fa -o {usual}'"


def default_index_path(reference: str | os.PathLike) -> str:
    """Return the default path of the index of a reference: its name with .fmx instead of .fa.gz etc."""
    path = Path(reference)
    if not path.name:
        path = path.resolve() / "index"  # a folder, which is refused when it is read
    if path.suffix in (".gz", ".bgz", ".bgzf", ".zst", ".xz", ".bz2"):
        path = path.with_suffix("")
    return str(path.with_suffix(".fmx"))


_STRETCH = 1 << 18  # bytes that are still in the cache when they are read a second time


def _scan(array: Any, start: int, stop: int, form: ArraySpec) -> tuple:
    """Return (hexadecimal xxh3-64, whether values match the form) of elements start to stop of a flat array.

    The order is checked including the element before ``start``.
    """
    digest, is_right = xxhash.xxh3_64(), True
    step = max(_STRETCH // array.itemsize, 1)
    for i in range(start, stop, step):
        part = array[i : min(i + step, stop)]
        digest.update(part.view(np.uint8))
        if form.ascends and is_right:
            known = array[max(i - 1, 0) : i + part.size]
            is_right = bool((known[1:] >= known[:-1]).all())
        if form.at_most is not None and is_right:
            is_right = int(part[-1] if form.ascends else part.max()) <= form.at_most
    return digest.hexdigest(), is_right


# Names and sizes of arrays, from meta.json.  An index in several parts has folders part0, part1 ...

OF_REFERENCE = "contig_", "block_", "group_"  # arrays that describe contigs, not the searchable text


def part_sizes(meta: dict) -> list:
    """Return the number of symbols of each part of an index."""
    return meta.get("parts", [meta["n_text"]])


def part_span(meta: dict, number: int) -> tuple:
    """Return (start, stop) of a part in the text of an index."""
    sizes = part_sizes(meta)
    return sum(sizes[:number]), sum(sizes[: number + 1])


def part_arrays(meta: dict, number: int) -> dict:
    """Return {name within the part: name} for the arrays of a part, and for those of the whole reference."""
    split = {name: name.rpartition("/") for name in meta["arrays"]}
    return {file: name for name, (folder, _, file) in split.items() if folder in ("", f"part{number}")}


def array_sizes(meta: dict) -> Counter:
    """Return {name within a part: bytes of these arrays in all parts}."""
    sizes: Counter = Counter()
    for name, array in meta["arrays"].items():
        sizes[name.rpartition("/")[2]] += array["bytes"]
    return sizes


# The allowed content of meta.json, and the form of each array that follows from it.

_LARGEST = 2**62
_RANGES = {  # of the numbers in meta.json
    "n_text": (2, _LARGEST), "n_contigs": (1, _LARGEST), "n_bases": (1, _LARGEST), "n_blocks": (1, _LARGEST),
    "sa_rate": (0, 4096), "prefix_length": (0, tables.MAX_PREFIX),
    "seed_length": (0, tables.MAX_SEED),
}  # fmt: skip
GROUPED, SPARSE = 2, 3  # formats of an index with groups of contigs, and with a sparse suffix array


def _check_meta(meta: dict) -> None:
    """Check types and ranges of all entries, and that exactly the required arrays are listed."""
    for key, (low, high) in _RANGES.items():
        _need(_is_whole(meta.get(key), low, high), f"{key} is not a whole number from {low} to {high}")
    version: Any = meta.get("fmx_version")
    is_version = isinstance(version, str) and re.fullmatch(r"[\w.+-]{1,80}", version, re.ASCII)
    _need(is_version, "fmx_version is not a version")
    has_groups = "n_groups" in meta if meta["format"] == SPARSE else meta["format"] == GROUPED
    most = min(meta["n_contigs"], 2**32 - 1)
    fits = _is_whole(meta.get("n_groups"), 1, most) if has_groups else "n_groups" not in meta
    _need(fits, "n_groups does not fit the format")
    is_sparse = isinstance(_layout_named(meta.get("sparse")), SparseName)
    _need(is_sparse == (meta["format"] == SPARSE) == ("sparse" in meta), "sparse does not fit the format")
    is_verify = meta["seed_length"] >= tables.MIN_SEED
    _need((meta["sa_rate"] == 1) == is_verify, "seed_length does not fit sa_rate")
    has_prefix = meta["prefix_length"] >= tables.MIN_PREFIX
    _need((meta["sa_rate"] > 0) == has_prefix, "prefix_length does not fit sa_rate")
    sizes = part_sizes(meta)
    are_sizes = isinstance(sizes, list) and all(type(n) is int for n in sizes)
    _need(are_sizes and ("parts" in meta) == (len(sizes) > 1), "parts is not a list of numbers")
    fit = all(2 <= n <= MAX_SYMBOLS for n in sizes) and sum(sizes) == meta["n_text"]
    _need(fit, "parts do not add up to n_text, or one is too large")
    names: Any = meta.get("layouts")
    are_layouts = isinstance(names, list) and all(
        isinstance(_layout_named(name), LayoutName) for name in names
    )
    _need(are_layouts and (meta["sa_rate"] > 0) == bool(names), "layouts is not a list of layouts")
    _need(names or is_sparse, "there is nothing to search")
    arrays: Any = meta.get("arrays")
    once = len(set(names)) == len(names) and isinstance(arrays, dict)
    _need(once, "a layout is listed twice, or arrays is not a table")
    required = _forms(meta)
    _need(not required.keys() - arrays.keys(), "a required array is not listed")
    _need(not arrays.keys() - required.keys(), "an unknown array is listed")
    for name, form in required.items():
        entry = arrays[name]
        shape: Any = entry.get("shape") if isinstance(entry, dict) else None
        has_shape = isinstance(shape, list) and all(_is_whole(n, 0, _LARGEST - 1) for n in shape)
        _need(has_shape, f"{name} has no shape")
        fits = entry.get("dtype") == form.dtype and len(shape) == len(form.shape)
        fits = fits and all(most in (None, n) for most, n in zip(form.shape, shape, strict=True))
        _need(fits, f"{name} does not have the required type and size")
        n_bytes = np.dtype(form.dtype).itemsize * int(np.prod(shape, dtype=object))
        _need(entry.get("bytes") == n_bytes, f"{name} has a number of bytes that differs from its shape")
        _need(isinstance(entry.get("checksums"), list), f"{name} has no checksums")


def _need(holds: object, wrong: str) -> None:
    if not holds:
        raise ValueError(wrong)


def _is_whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _layout_named(name: object) -> LayoutName | SparseName | None:
    try:
        parsed = (parse_sparse(name) or layouts.parse_name(name)) if isinstance(name, str) else None
    except UnsupportedError:
        return None
    return parsed if str(parsed) == name else None


def _forms(meta: dict) -> dict:
    """Return {name: ArraySpec} for every array of an index."""
    c, b, sizes = meta["n_contigs"], meta["n_blocks"], part_sizes(meta)
    required = {
        "contig_names": ArraySpec("uint8", (None,), holds=partial(_are_lines, None)),
        "contig_lengths": ArraySpec("int64", (c,)),
        "contig_md5": ArraySpec("uint8", (c, 16)),
        **{f"block_{column}": ArraySpec("int64", (b,)) for column in COLUMNS},
    }
    if "n_groups" in meta:
        required["group_names"] = ArraySpec("uint8", (None,), holds=partial(_are_lines, meta["n_groups"]))
        required["group_of_contig"] = ArraySpec("uint32", (c,), meta["n_groups"] - 1)
    for number, n in enumerate(sizes):
        folder = f"part{number}/" if len(sizes) > 1 else ""
        required.update({folder + name: form for name, form in _forms_of_part(meta, folder, n).items()})
    return required


def _are_lines(n_groups: int | None, data: np.ndarray) -> bool:
    """Return whether bytes are lines with names: of that many groups, or of contigs (ASCII, no space)."""
    try:
        text = data.tobytes().decode()
    except UnicodeDecodeError:
        return False
    names = text.split("\n")
    return are_names(names) and (len(names) == n_groups if n_groups else text.isascii() and " " not in text)


def _forms_of_part(meta: dict, folder: str, n: int) -> dict:
    """Return {name: ArraySpec} for the arrays of a part of n symbols."""
    required = {"text_words": ArraySpec("uint64", (-(-n // WORD) + SPARE_WORDS,))}
    if "sparse" in meta:
        name: Any = parse_sparse(meta["sparse"])
        rows = meta["arrays"].get(f"{folder}{name}.rows")
        shape: Any = rows.get("shape") if isinstance(rows, dict) else None
        is_size = isinstance(shape, list) and len(shape) == 1 and _is_whole(shape[0], 0, n)
        required.update(name.forms(n, shape[0] if is_size else 0))
    if meta["sa_rate"] == 0:
        return required
    required["prefix_pairs"] = ArraySpec("uint32", (2 * tables.n_pairs(meta["prefix_length"]),), n)
    required["sa_positions"] = ArraySpec("uint32", (n if meta["sa_rate"] == 1 else None,), n - 1)
    if meta["sa_rate"] == 1:
        required["seed_starts"] = ArraySpec("uint32", (4 ** meta["seed_length"] + 1,), n, ascends=True)
    else:
        required["sa_marks"] = ArraySpec("uint64", (n_mark_words(n),))
    for layout in meta["layouts"]:
        required.update(layouts.parse_name(layout).forms(n))
    if any(name.endswith("lcp.rank") for name in meta["arrays"]):
        large = meta["arrays"].get(f"{folder}lcp.rows")
        shape = large.get("shape") if isinstance(large, dict) else None  # [0]: no value is LARGE_LCP or more
        required["lcp.small"] = ArraySpec(
            "uint8", (n,), None if shape != [0] else LARGE_LCP - 1, holds=lambda small: small[0] == 0
        )
        required["lcp.rows"] = ArraySpec("uint32", (None,), n - 1, ascends=True)
        required["lcp.values"] = ArraySpec("uint32", tuple(shape) if isinstance(shape, list) else (None,), n)
        required["lcp.rank"] = ArraySpec("uint32", (n,), n - 1)
    return required


def check_reference(meta: dict, names: Sequence, lengths: np.ndarray, columns: Sequence[np.ndarray]) -> None:
    """Check contigs and blocks: they make up the text in order, without gaps; parts end where contigs end.

    ``names`` of the contigs, ``lengths`` int64[n_contigs], ``columns`` of Blocks, int64[n_blocks] each.
    """
    _need(len(names) == meta["n_contigs"], "the numbers of names and contigs differ")
    fit = lengths.min() >= 1 and lengths.max() <= _LARGEST // lengths.size
    _need(fit and lengths.sum() == meta["n_bases"], "the lengths of contigs do not add up")
    text_start, contig, contig_start, length = columns
    n = meta["n_text"]
    inside = length.min() >= 1 and length.max() < n and text_start.min() >= 0 and text_start.max() < n
    _need(inside and text_start[0] == 0, "a block lies beyond the text")
    follow = np.array_equal(np.append(text_start[1:], n), text_start + length + 1)
    _need(follow, "blocks do not follow each other")
    known = contig[0] >= 0 and (contig[1:] >= contig[:-1]).all() and contig[-1] < lengths.size
    _need(known, "a block belongs to no contig")
    inside = contig_start.min() >= 0 and contig_start.max() <= _LARGEST
    _need(inside and (contig_start + length <= lengths[contig]).all(), "a block lies beyond its contig")
    in_contig = contig[1:] == contig[:-1]
    over = in_contig & (contig_start[1:] <= contig_start[:-1] + length[:-1])
    _need(not over.any(), "blocks of a contig overlap")
    borders = np.cumsum(part_sizes(meta))[:-1]
    first = np.searchsorted(text_start, borders)
    at_contigs = np.array_equal(np.append(text_start, -1)[first], borders) and not in_contig[first - 1].any()
    _need(at_contigs, "a part does not end where a contig does")


# The seal.

_SETTLED = 2 * 10**9  # ns; clocks are more precise, so two changes of older files have different times


def _state(path: Path | int) -> list | None:
    """Return the properties of a file by which a change to it is noticed; None without a file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def read_seal(path: str | os.PathLike, meta: dict) -> dict:
    """Return {name: state} of the arrays that the seal of an index covers; empty if there is no seal."""
    data = object_cache.read(_seal_name(path))
    digest, states = json.loads(data) if data is not None else ("", {})
    return states if digest == _seal_digest(meta) else {}


def keep_seal(path: str | os.PathLike, meta: dict, states: dict, since: int) -> None:
    """Seal an index: arrays with these states, opened after ``since`` (ns of the epoch), are correct.

    Arrays that changed meanwhile, or so recently that another change might go unnoticed, are left out.
    """
    unchanged = {
        name: state
        for name, state in states.items()
        if state == _state(Path(path) / f"{name}.npy") and state[-1] < since - _SETTLED
    }
    if unchanged:
        object_cache.write(_seal_name(path), json.dumps([_seal_digest(meta), unchanged]).encode())


def _seal_name(path: str | os.PathLike) -> str:
    return f"seal {hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()}"


def _seal_digest(meta: dict) -> str:
    checks = object_cache.sources_of(Path(__file__).parent)
    return hashlib.sha256(checks + json.dumps(meta, sort_keys=True).encode()).hexdigest()


# Reading.

# Of an index with neither groups nor a sparse suffix array.  Raise this and the other two if the values of an
# array change their meaning: types and checksums of an older index would be right, and answers wrong.
FORMAT = 1
_FORMATS = FORMAT, GROUPED, SPARSE
PIECE = 1 << 26


def checksum(array: Array) -> str:
    """Return the hexadecimal xxh3-64 of a flat array's data."""
    return xxhash.xxh3_64_hexdigest(array.view(np.uint8))


def bad_index(path: Path | str | os.PathLike | None, wrong: str) -> IndexFileError:
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


def retrying(read: Callable) -> Callable:
    """Wrap a function that reads an index: retry once if it fails while the index is replaced."""

    @wraps(read)
    def read_or_retry(path: str | os.PathLike, *arguments: Any, **named: Any) -> Any:
        before = _state(Path(path) / META)
        try:
            return read(path, *arguments, **named)
        except IndexFileError:
            if _state(Path(path) / META) == before:
                raise
        return read(path, *arguments, **named)

    return read_or_retry


@retrying
def read_meta(path: str | os.PathLike) -> dict:
    """Return meta.json after checking it, and that every array file has the right length.

    Raises IndexFileError if it is missing, damaged, of another format, or not a possible index.
    """
    path = Path(path)
    meta = read_any_meta(path)
    if meta["format"] not in _FORMATS:
        raise bad_index(path, f"index format {meta['format']}, but this fmx reads {FORMAT} to {SPARSE}")
    try:
        _check_meta(meta)
    except ValueError as error:
        raise bad_index(path / META, f"not a valid index ({error})") from error
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
        raise bad_index(file, "damaged") from error
    try:
        meta = json.loads(text)
        checksum, version = meta["checksum"], meta["format"]
        is_right = type(version) is int and (version not in _FORMATS or checksum == meta_checksum(meta))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise bad_index(file, "damaged") from error
    if not is_right:
        raise bad_index(file, "damaged (checksum differs)")
    return meta


def _regular(file: Path) -> Path:
    if not stat.S_ISREG(file.stat().st_mode):  # reading a pipe or a device could wait forever
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
                raise bad_index(file, "truncated or damaged")
            descr, shape = np.dtype(entry["dtype"]).str, tuple(entry["shape"])
            expected = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
            if header.strip() != expected.encode():
                raise bad_index(file, f"damaged (its header differs from {META})")
            yield opened
    except FileNotFoundError:
        raise bad_index(file, "missing") from None
    except OSError as error:
        raise IndexFileError(f"{file}: cannot read: {error.strerror or error}") from error


def read_array(path: str | os.PathLike, meta: dict, name: str) -> tuple:
    """Return (an array of an index, mapped from disk; the state of its file).

    Raises IndexFileError if it does not match meta.json.
    """
    entry = meta["arrays"][name]
    with _array_file(path, meta, name) as file:
        array = np.memmap(file, entry["dtype"], "r", file.tell(), tuple(entry["shape"]))
        return array.view(np.ndarray), _state(file.fileno())


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
    states = {name: state for name, (_, state) in mapped.items()}
    unknown = [name for name in names if states[name] != sealed.get(name)]
    if unknown:
        check_arrays(path, meta, {name: arrays[name] for name in unknown}, n_threads)
        keep_seal(path, meta, {**sealed, **states}, start)
    return arrays


def check_arrays(path: str | os.PathLike, meta: dict, arrays: dict, n_threads: int) -> None:
    """Compare every byte of arrays with its checksums, and values with their ArraySpec.

    Raises IndexFileError for the first that differs.  The pieces of all arrays are distributed over threads
    together, the largest first.
    """
    required, pieces = _forms(meta), {}
    for name, array in arrays.items():
        flat, step = np.ascontiguousarray(array).reshape(-1), PIECE // array.itemsize
        for i in range(0, max(flat.size, 1), step):
            pieces[name, i] = flat, i, min(i + step, flat.size), required[name]
    largest_first = sorted(pieces, key=lambda key: pieces[key][1] - pieces[key][2])
    scans = run_all(_scan, [pieces[key] for key in largest_first], n_threads)
    scan_of = dict(zip(largest_first, scans, strict=True))
    for name in arrays:
        file, scans = Path(path) / f"{name}.npy", [scan_of[key] for key in pieces if key[0] == name]
        if [digest for digest, _ in scans] != meta["arrays"][name]["checksums"]:
            raise bad_index(file, "damaged (checksum differs)")
        holds = required[name].holds
        if not all(is_right for _, is_right in scans) or (holds and not holds(arrays[name])):
            raise bad_index(file, "not valid (values out of range or order)")
