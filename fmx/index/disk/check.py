"""Checks of an index: the allowed content of meta.json, and the form of each array that follows from it.

Checksums detect damage; these checks detect what cannot be right, so that compiled code never reads outside
an array, whoever wrote the index.  All raise ValueError with a description.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...input.dna import WORD
from .. import layouts, prefix_table, seed_table
from ..arrays import ArraySpec, part_sizes
from ..layouts import LayoutName, SparseName, parse_sparse, sparse_named
from ..positions import n_mark_words
from ..reference import COLUMNS, MAX_SYMBOLS, are_names

_LARGEST = 2**62
_RANGES = {  # of the numbers in meta.json
    "n_text": (2, _LARGEST), "n_contigs": (1, _LARGEST), "n_bases": (1, _LARGEST), "n_blocks": (1, _LARGEST),
    "sa_rate": (0, 4096), "prefix_length": (0, prefix_table.MAX_LENGTH),
    "seed_length": (0, seed_table.MAX_LENGTH),
}  # fmt: skip
GROUPED, SPARSE = 2, 3  # formats of an index with groups of contigs, and with a sparse suffix array
_LARGE = 255  # as in building/bwt.py
_FIXED = {  # arrays whose names do not depend on layouts
    "contig_names", "contig_lengths", "contig_md5", "group_names", "group_of_contig", "prefix_pairs",
    "text_words", "sa_positions", "seed_starts", "sa_marks", "lcp.small", "lcp.rows", "lcp.values",
    "lcp.rank", *(f"block_{column}" for column in COLUMNS),
}  # fmt: skip


def check_meta(meta: dict) -> None:
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
    is_verify = meta["seed_length"] >= seed_table.MIN_LENGTH
    _need((meta["sa_rate"] == 1) == is_verify, "seed_length does not fit sa_rate")
    has_prefix = meta["prefix_length"] >= prefix_table.MIN_LENGTH
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
    required = forms(meta)
    _need(not required.keys() - arrays.keys(), "a required array is not listed")
    _need(not arrays.keys() - required.keys(), "an unknown array is listed")
    for name, form in required.items():
        entry = arrays[name]
        shape: Any = entry.get("shape") if isinstance(entry, dict) else None
        has_shape = isinstance(shape, list) and all(_is_whole(n, 0, _LARGEST - 1) for n in shape)
        _need(has_shape, f"{name} has no shape")
        fits = entry.get("dtype") == form.dtype and form.takes(shape)
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
    """Return the layout or sparse suffix array of exactly this name, None if there is none."""
    try:
        parsed = (parse_sparse(name) or layouts.parse_name(name)) if isinstance(name, str) else None
    except UnsupportedError:
        return None
    return parsed if str(parsed) == name else None


def forms(meta: dict) -> dict:
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
    required = {"text_words": ArraySpec("uint64", (-(-n // WORD) + 3,))}
    if "sparse" in meta:
        name = sparse_named(meta["sparse"])
        rows = meta["arrays"].get(f"{folder}{name}.rows")
        shape: Any = rows.get("shape") if isinstance(rows, dict) else None
        is_size = isinstance(shape, list) and len(shape) == 1 and _is_whole(shape[0], 0, n)
        required.update(name.forms(n, shape[0] if is_size else 0))
    if meta["sa_rate"] == 0:
        return required
    required["prefix_pairs"] = ArraySpec("uint32", (2 * prefix_table.n_pairs(meta["prefix_length"]),), n)
    required["sa_positions"] = ArraySpec("uint32", (n if meta["sa_rate"] == 1 else None,), n - 1)
    if meta["sa_rate"] == 1:
        required["seed_starts"] = ArraySpec("uint32", (4 ** meta["seed_length"] + 1,), n, ascends=True)
    else:
        required["sa_marks"] = ArraySpec("uint64", (n_mark_words(n),))
    for name in meta["layouts"]:
        required.update(layouts.parse_name(name).forms(n))
    if any(name.endswith("lcp.rank") for name in meta["arrays"]):
        large = meta["arrays"].get(f"{folder}lcp.rows")
        shape = large.get("shape") if isinstance(large, dict) else None
        required["lcp.small"] = ArraySpec(
            "uint8", (n,), None if shape != [0] else _LARGE - 1, holds=lambda small: small[0] == 0
        )
        required["lcp.rows"] = ArraySpec("uint32", (None,), n - 1, ascends=True)
        required["lcp.values"] = ArraySpec("uint32", tuple(shape) if isinstance(shape, list) else (None,), n)
        required["lcp.rank"] = ArraySpec("uint32", (n,), n - 1)
    return required


def is_array(name: str) -> bool:
    """Return whether an array of some index can have this name."""
    name = re.sub(r"^part\d+/", "", name)
    layout = _layout_named(name.partition(".")[0])
    return name in (layout.forms(2) if layout else _FIXED)


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
    same = contig[1:] == contig[:-1]
    over = same & (contig_start[1:] <= contig_start[:-1] + length[:-1])
    _need(not over.any(), "blocks of a contig overlap")
    borders = np.cumsum(part_sizes(meta))[:-1]
    first = np.searchsorted(text_start, borders)
    at_contigs = np.array_equal(np.append(text_start, -1)[first], borders) and not same[first - 1].any()
    _need(at_contigs, "a part does not end where a contig does")
