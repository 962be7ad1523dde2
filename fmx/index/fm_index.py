"""An index in memory: FMIndex, one index or part; JoinedIndex, several; how their arrays are loaded.

Names of arrays and keys of meta.json are those that writer.py, build.py, disk.py and plan.py use.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedError
from ..input.streams import stems_of
from . import disk, layouts, plan
from .bwt import LCP
from .disk import OF_REFERENCE, check_reference, part_arrays, part_sizes, part_span
from .positions import FullSA, SampledSA, reach_of
from .reference import COLUMNS, Groups, Names, Reference, groups_of, make_blocks, names_in, part_of
from .sparse import parse_sparse
from .tables import PrefixTable, SeedTable

if TYPE_CHECKING:
    from .sparse import SparseTable
    from .writer import MemoryIndex


ANY_LENGTH = "any length"  # a method: the first way of the index that finds strings of any length
ANY_MATCH = "any match"  # a method that finds maximal matches: "verify"; "sparse" if there is nothing else


@dataclass(frozen=True)
class FMIndex:
    """An index, or a part of one, opened for a method of search.

    ``method``: "verify", seed and verify, has the whole suffix array, the seed table and the packed text, but
    no ``layout``.  "backward", backward search, has a layout but no ``seeds``, and the text only on request.
    "sparse" has ``sparse`` and the packed text; ``shorter`` is the same part opened for another method, for
    shorter reads, or None.  ``path``: None in memory; ``sa``: FullSA or SampledSA; ``number`` of the part, 0
    for a whole index.
    """

    path: Path | None
    meta: dict
    number: int
    reference: Reference
    method: str
    layout_name: str | None
    layout: Any
    sa: Any
    prefix: PrefixTable | None
    seeds: SeedTable | None
    text_words: np.ndarray | None
    sparse: "SparseTable | None" = None
    shorter: "FMIndex | None" = None

    @property
    def parts(self) -> tuple["FMIndex", ...]:
        """The index itself, as its only part."""
        return (self,)


@dataclass(frozen=True)
class JoinedIndex:
    """An index in several parts: ``reference`` is the whole one, each part has its own blocks."""

    path: Path | None
    meta: dict
    reference: Reference
    parts: tuple[FMIndex, ...]


AnyIndex = FMIndex | JoinedIndex


def reference_arrays(reference: Reference) -> dict:
    """Return the arrays that store a Reference on disk."""
    return {
        "contig_names": _lines(reference.names),
        "contig_lengths": reference.lengths,
        "contig_md5": reference.md5,
        **(group_arrays(reference.groups) if reference.groups else {}),
        **{f"block_{column}": getattr(reference.blocks, column) for column in COLUMNS},
    }


def group_arrays(groups: Groups) -> dict:
    """Return the arrays that store Groups on disk."""
    return {"group_names": _lines(groups.names), "group_of_contig": groups.of_contig}


def _lines(names: Iterable[str]) -> np.ndarray:
    return np.frombuffer("\n".join(names).encode(), np.uint8)


@disk.retrying
def load(
    path: str | os.PathLike,
    layout: str | None = None,
    method: str = "auto",
    n_threads: int = 1,
    max_memory: int | None = None,
    verify: bool = False,
    with_text: bool = False,
) -> FMIndex | JoinedIndex:
    """Open the index in a folder: map arrays from disk, and check the files that a search reads.

    Files that were checked before and have not changed are checked again only if ``verify``.  ``method``
    "auto" uses the choice of plan.choose_way, or backward search if a ``layout`` is named; ANY_LENGTH uses
    the first way of the index that finds strings of any length, ANY_MATCH one that finds maximal matches.
    ``with_text``: also load the packed text, for near matches.  Raises IndexFileError, UnsupportedError.
    """
    path = Path(path)
    meta = disk.read_meta(path)
    ways = _choose(meta, layout, method, max_memory)
    names = [name for name in meta["arrays"] if _is_read(name.rpartition("/")[2], ways, with_text)]
    arrays = disk.read_checked(path, meta, names, n_threads, verify)
    return _opened(path, meta, arrays, ways)


def take(
    index: "MemoryIndex", layout: str | None = None, method: str = "auto", with_text: bool = True
) -> FMIndex | JoinedIndex:
    """Open a MemoryIndex like ``load``, with its text whatever ``with_text``.  Raises UnsupportedError."""
    return _opened(None, index.meta, index.arrays, _choose(index.meta, layout, method, None))


def _choose(meta: dict, layout: str | None, method: str, max_memory: int | None) -> list:
    """Return [(method, layout or None)]: the way to search and, after "sparse", that for shorter reads."""
    if method == "auto" and layout in (None, "auto"):
        way, _ = plan.choose_way(meta, max_memory)
        method, layout = ("sparse", way) if parse_sparse(way) else (method, layout)
    elif layout and parse_sparse(layout) and method in ("auto", ANY_LENGTH):
        method = "sparse"
    elif method == ANY_LENGTH:
        method = "auto"
    elif method == ANY_MATCH:
        method = "verify" if meta["layouts"] else "sparse"
    if method != "sparse":
        return [_choose_full(meta, layout, method, max_memory)]
    sparse, n_bytes = meta.get("sparse"), plan.ways_to_search(meta)
    is_named = layout in (None, "auto", "sparse") or str(parse_sparse(layout)) == sparse
    if sparse is None or not is_named:
        raise _has_no(layout or "sparse", meta)
    spare = max_memory and max_memory - n_bytes.pop(sparse)
    has_other = meta["layouts"] and (not spare or min(n_bytes.values()) <= spare)
    return [("sparse", sparse), *([_choose_full(meta, None, "auto", spare)] if has_other else [])]


def _choose_full(meta: dict, layout: str | None, method: str, max_memory: int | None) -> tuple:
    """Return (method, layout or None) for a method that finds strings of any length."""
    if method == "verify" and layout is not None:
        raise UnsupportedError("--method verify cannot be combined with --layout: omit one of them")
    if not meta["layouts"]:
        what = "a whole suffix array" if method == "verify" else "a suffix array and a layout"
        why = f"has only {meta['sparse']}, but this command needs {what}"
        if layout not in (None, "auto"):
            why = f"has no layout {layout}, only {meta['sparse']}"
        raise UnsupportedError(
            f"this index {why}: build it again with --layout {meta['sparse']},{layouts.DEFAULT}"
        )
    if method == "auto" and layout in (None, "auto"):
        way, _ = plan.choose_way(meta, max_memory, any_length=True)
        return ("verify", None) if way == "verify" else ("backward", way)
    if method == "verify":
        if "seed_starts" not in part_arrays(meta, 0):
            raise UnsupportedError(
                "this index has no whole suffix array, which this search needs: build it without --sa-rate"
            )
        return method, None
    if layout is None or layout == "auto":
        return "backward", meta["layouts"][0]
    for name in layouts.matching(layout):
        if str(name) in meta["layouts"]:
            return "backward", str(name)
    raise _has_no(layout, meta)


def _opened(path: Path | None, meta: dict, arrays: dict, ways: list) -> FMIndex | JoinedIndex:
    """Return an index from its arrays, which include all that ``_is_read`` selects."""
    reference = reference_of(path, meta, arrays)
    n_parts = len(part_sizes(meta))
    if n_parts == 1:
        return _part(path, meta, 0, reference, ways, arrays)
    parts = []
    for number in range(n_parts):
        of_part = {key: arrays[name] for key, name in part_arrays(meta, number).items() if name in arrays}
        part = part_of(reference, *part_span(meta, number))
        parts.append(_part(path, meta, number, part, ways, of_part))
    return JoinedIndex(path, meta, reference, tuple(parts))


def load_reference(path: str | os.PathLike, meta: dict, n_threads: int = 1) -> Reference:
    """Load the Reference of an index, with its arrays checked.  Raises IndexFileError."""
    names = [name for name in meta["arrays"] if name.startswith(OF_REFERENCE)]
    return reference_of(path, meta, disk.read_checked(path, meta, names, n_threads))


def reference_of(path: Path | str | os.PathLike | None, meta: dict, arrays: dict) -> Reference:
    """Return the Reference of an index from its arrays.  Raises IndexFileError."""
    names = Names.of_lines(arrays["contig_names"])
    columns = [arrays[f"block_{column}"] for column in COLUMNS]
    try:
        check_reference(meta, names, arrays["contig_lengths"], columns)
    except ValueError as error:
        raise disk.bad_index(path, f"not a valid index ({error})") from error
    blocks, groups = make_blocks(*columns), None
    if "n_groups" in meta:
        groups = Groups(names_in(arrays["group_names"]), arrays["group_of_contig"])
    return Reference(names, arrays["contig_lengths"], arrays["contig_md5"], blocks, meta["n_text"], groups)


def _part(
    path: Path | None, meta: dict, number: int, reference: Reference, ways: list, arrays: dict
) -> FMIndex:
    method, layout_name = ways[0]
    if method == "sparse":
        sparse: Any = parse_sparse(layout_name)
        return FMIndex(
            path, meta, number, reference, method, layout_name, None, None, None, None, arrays["text_words"],
            sparse.table(arrays),
            _part(path, meta, number, reference, ways[1:], arrays) if ways[1:] else None,
        )  # fmt: skip
    sa: FullSA | SampledSA = FullSA(arrays["sa_positions"])
    layout, is_verify = None, method == "verify"
    if layout_name:
        begin = f"{layout_name}."
        fields = {name.removeprefix(begin): arrays[name] for name in arrays if name.startswith(begin)}
        layout = layouts.layout_from_arrays(layouts.parse_name(layout_name), fields)
    if "sa_marks" in arrays:
        reach = reach_of(meta["sa_rate"], max(layouts.parse_name(name).k for name in meta["layouts"]))
        sa = SampledSA(sa.positions, arrays["sa_marks"], part_sizes(meta)[number], reach)
    return FMIndex(
        path, meta, number, reference, method, layout_name, layout, sa,
        PrefixTable(arrays["prefix_pairs"], meta["prefix_length"]),
        SeedTable(arrays["seed_starts"], meta["seed_length"]) if is_verify else None,
        arrays.get("text_words"),
    )  # fmt: skip


def load_lcp(index: FMIndex) -> tuple:
    """Load (LCP, rank array) of an FMIndex, every byte checked.  Raises IndexFileError, UnsupportedError."""
    of_part = part_arrays(index.meta, index.number)
    if "lcp.rank" not in of_part:
        raise UnsupportedError(
            f"{index.path} has no LCP array; add it with 'fmx index --add --with-lcp {index.path}'"
        )
    names = {key: name for key, name in of_part.items() if key.startswith("lcp.")}
    arrays = disk.read_checked(str(index.path), index.meta, names.values())
    return LCP(*(arrays[names[f"lcp.{field}"]] for field in LCP._fields)), arrays[names["lcp.rank"]]


def _is_read(array_name: str, ways: list, with_text: bool) -> bool:
    """Return whether one of these ways to search needs an array."""
    if array_name.startswith(OF_REFERENCE):
        return True
    if "." in array_name:
        return any(name is not None and array_name.startswith(f"{name}.") for _, name in ways)
    methods = {method for method, _ in ways}
    if array_name == "text_words":
        return with_text or bool(methods & {"verify", "sparse"})
    return "verify" in methods or ("backward" in methods and array_name != "seed_starts")


def _has_no(layout: str, meta: dict) -> UnsupportedError:
    has = ", ".join([*meta["layouts"], *filter(None, [meta.get("sparse")])])
    if "sparse" not in meta and parse_sparse(layout):
        add = f"'fmx index --add --layout {layout} INDEX'"
        return UnsupportedError(f"this index has no layout {layout}, only {has}: add it with {add}")
    return UnsupportedError(f"this index has no layout {layout}; it has: {has}")


# Several indexes joined into one: their texts one after another; each is a group, named by its folder.

_SUFFIX = r"\.fmx$"


def join(indexes: Sequence) -> JoinedIndex:
    """Join several opened indexes, FMIndex or JoinedIndex, in their order."""
    references = [index.reference for index in indexes]
    n_text, n_contigs = np.array([(each.n_text, len(each.names)) for each in references]).T
    columns = [
        (each.blocks.text_start + n, each.blocks.contig + c, each.blocks.contig_start, each.blocks.length)
        for each, n, c in zip(
            references, np.cumsum(n_text) - n_text, np.cumsum(n_contigs) - n_contigs, strict=True
        )
    ]
    of_contig = np.repeat(np.arange(len(indexes), dtype=np.uint32), n_contigs)
    whole = Reference(
        [name for each in references for name in each.names],
        np.concatenate([each.lengths for each in references]),
        np.concatenate([each.md5 for each in references]),
        make_blocks(*map(np.concatenate, zip(*columns, strict=True))),
        int(n_text.sum()),
        Groups(stems_of([index.path for index in indexes], _SUFFIX), of_contig, "indexes"),
    )
    meta = {"n_text": whole.n_text, "parts": [n for index in indexes for n in part_sizes(index.meta)]}
    return JoinedIndex(indexes[0].path, meta, whole, tuple(part for index in indexes for part in index.parts))


def refuse_same_names(index: JoinedIndex, remedy: str) -> None:
    """Raise UnsupportedError, which ends with ``remedy``, if joined indexes have contigs of the same name."""
    seen: dict = {}
    groups = groups_of(index)
    for name, group in zip(index.reference.names, groups.of_contig, strict=True):
        if name in seen:
            raise UnsupportedError(
                f"contig {name} is in both {groups.names[seen[name]]} and {groups.names[group]}: {remedy}"
            )
        seen[name] = group
