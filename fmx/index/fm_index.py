"""FMIndex: what is held of an index in memory, and which arrays on disk it is; JoinedIndex: several."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from . import layouts, plan, store
from .check import check_reference
from .groups import Groups
from .names import ContigNames, names_in
from .parts import own_name, part_arrays, part_of, part_sizes, part_span
from .prefix_table import PrefixTable
from .reference import COLUMNS, Reference, make_blocks
from .sampled_sa import FullSA, SampledSA, reach_of
from .seed_table import SeedTable


@dataclass(frozen=True)
class FMIndex:
    """What a search holds of an index.

    ``method`` "verify" (seed and verify: whole suffix array, seed table, packed text; ``layout`` is None) or
    "backward" (backward search: one layout; ``seeds`` is None, and ``text_words`` unless it was asked
    for).  ``path`` is None in memory.  ``sa`` is FullSA or SampledSA; the reference holds no letters.
    ``number`` of the part that it is, 0 if it is whole.
    """

    path: Path | None
    meta: dict
    number: int
    reference: Reference
    method: str
    layout_name: str | None
    layout: Any
    sa: Any
    prefix: PrefixTable
    seeds: SeedTable | None
    text_words: np.ndarray | None

    @property
    def parts(self) -> tuple["FMIndex", ...]:
        """Itself, the only part."""
        return (self,)


@dataclass(frozen=True)
class JoinedIndex:
    """An index in several parts: ``reference`` is the whole one, each part has its own blocks (parts.py)."""

    path: Path | None
    meta: dict
    reference: Reference
    parts: tuple[FMIndex, ...]


def reference_arrays(reference) -> dict:
    """The arrays that hold a Reference on disk."""
    return {
        "contig_names": _lines(reference.names),
        "contig_lengths": reference.lengths,
        "contig_md5": reference.md5,
        **(group_arrays(reference.groups) if reference.groups else {}),
        **{f"block_{column}": getattr(reference.blocks, column) for column in COLUMNS},
    }


def group_arrays(groups) -> dict:
    """The arrays that hold Groups on disk."""
    return {"group_names": _lines(groups.names), "group_of_contig": groups.of_contig}


def _lines(names):
    return np.frombuffer("\n".join(names).encode(), np.uint8)


@store.settled
def load(
    path,
    layout: str | None = None,
    method: str = "auto",
    n_threads=1,
    max_memory: int | None = None,
    verify=False,
    with_text=False,
) -> FMIndex | JoinedIndex:
    """Open the index in a folder: arrays mapped from disk, every byte that a search reads checked first.

    Files that were checked before and have not changed since are not read again, unless with ``verify``.
    ``method`` "auto" takes what plan.choose_way takes, unless a ``layout`` is named: that asks for backward
    search over it.  ``with_text``: the packed text is wanted in any case.  Raises IndexFileError,
    UnsupportedError.
    """
    path = Path(path)
    meta = store.read_meta(path)
    method, layout_name = _choose(meta, layout, method, max_memory)
    wanted = [name for name in meta["arrays"] if _is_wanted(own_name(name), method, layout_name, with_text)]
    arrays = store.read_checked(path, meta, wanted, n_threads, verify)
    return _opened(path, meta, arrays, method, layout_name)


def take(held, layout=None, method="auto") -> FMIndex | JoinedIndex:
    """The same of a HeldIndex, whose text is there in any case.  Raises UnsupportedError."""
    return _opened(None, held.meta, held.arrays, *_choose(held.meta, layout, method))


def _choose(meta, layout, method, max_memory=None) -> tuple:
    """(method, name of a layout or None)."""
    method, layout = _choose_method(meta, layout, method, max_memory)
    return method, _choose_layout(meta, layout) if method == "backward" else None


def _opened(path, meta, arrays, method, layout_name):
    """An index whose arrays are there, those that ``_is_wanted`` wants at least."""
    reference = _reference(path, meta, arrays)
    n_parts = len(part_sizes(meta))
    if n_parts == 1:
        return _part(path, meta, 0, reference, method, layout_name, arrays)
    parts = []
    for number in range(n_parts):
        own = {key: arrays[name] for key, name in part_arrays(meta, number).items() if name in arrays}
        blocks = part_of(reference, *part_span(meta, number))
        parts.append(_part(path, meta, number, blocks, method, layout_name, own))
    return JoinedIndex(path, meta, reference, tuple(parts))


def verify(path, meta, n_threads=1) -> None:
    """Read every array of an index, needed or not, and compare them.  Raises IndexFileError."""
    from .verify import contradictions

    arrays = store.read_checked(path, meta, list(meta["arrays"]), n_threads, verify=True)
    _reference(path, meta, arrays)
    for number, n in enumerate(part_sizes(meta)):
        own = {key: arrays[name] for key, name in part_arrays(meta, number).items()}
        held = {name: _load_layout(name, own) for name in meta["layouts"]}
        lcp = _lcp_of(own) if "lcp.rank" in own else None
        for wrong in contradictions(held, _load_sa(meta, number, own), lcp, n, n_threads):
            raise store.not_whole(path, f"not a valid index ({wrong})")


def _reference(path, meta, arrays) -> Reference:
    names = ContigNames(arrays["contig_names"])
    columns = [arrays[f"block_{column}"] for column in COLUMNS]
    try:
        check_reference(meta, names, arrays["contig_lengths"], columns)
    except ValueError as error:
        raise store.not_whole(path, f"not a valid index ({error})") from error
    blocks, groups = make_blocks(*columns), None
    if "n_groups" in meta:
        groups = Groups(names_in(arrays["group_names"]), arrays["group_of_contig"])
    return Reference(names, arrays["contig_lengths"], arrays["contig_md5"], blocks, meta["n_text"], groups)


def _part(path, meta, number, reference, method, layout_name, arrays) -> FMIndex:
    is_verify = method == "verify"
    return FMIndex(
        path,
        meta,
        number,
        reference,
        method,
        layout_name,
        _load_layout(layout_name, arrays),
        _load_sa(meta, number, arrays),
        PrefixTable(arrays["prefix_pairs"], meta["prefix_length"]),
        SeedTable(arrays["seed_starts"], meta["seed_length"]) if is_verify else None,
        arrays.get("text_words"),
    )


def load_lcp(index, n_threads=1) -> tuple:
    """(LCP, rank array) of an FMIndex, every byte checked.  Raises IndexFileError, UnsupportedError."""
    held = part_arrays(index.meta, index.number)
    if "lcp.rank" not in held:
        raise UnsupportedError(
            f"{index.path} has no LCP array; add it with 'fmx index --add --with-lcp {index.path}'"
        )
    names = {key: name for key, name in held.items() if key.startswith("lcp.")}
    arrays = store.read_checked(index.path, index.meta, names.values(), n_threads)
    return _lcp_of({key: arrays[name] for key, name in names.items()})


def _lcp_of(arrays) -> tuple:
    from .building.suffix_array import LCP  # which imports divsufsort

    return LCP(*(arrays[f"lcp.{name}"] for name in LCP._fields)), arrays["lcp.rank"]


def _choose_method(meta, layout, method, max_memory) -> tuple:
    """(method, layout or None)."""
    if method == "auto" and layout in (None, "auto"):
        way, _ = plan.choose_way(meta, max_memory)
        return ("verify", None) if way == "verify" else ("backward", way)
    if method == "verify" and layout is not None:
        raise UnsupportedError(
            "seed and verify uses no layout; leave out one of --method verify and --layout"
        )
    if method == "verify" and "seed_starts" not in part_arrays(meta, 0):
        raise UnsupportedError(
            "this index has no whole suffix array, so it cannot seed and verify: build it without --sa-rate"
        )
    return ("verify" if method == "verify" else "backward"), (None if layout == "auto" else layout)


def _is_wanted(array_name, method, layout_name, with_text) -> bool:
    if "." in array_name:
        return layout_name is not None and array_name.startswith(f"{layout_name}.")
    if array_name == "text_words" and with_text:
        return True
    return method == "verify" or array_name not in ("seed_starts", "text_words")


def _load_layout(layout_name, arrays):
    if layout_name is None:
        return None
    fields = {
        name.split(".")[1]: array for name, array in arrays.items() if name.startswith(f"{layout_name}.")
    }
    return layouts.layout_from_arrays(layouts.parse_name(layout_name), fields)


def _load_sa(meta, number, arrays):
    if "sa_marks" in arrays:
        reach = reach_of(meta["sa_rate"], max(layouts.parse_name(name).k for name in meta["layouts"]))
        return SampledSA(arrays["sa_positions"], arrays["sa_marks"], part_sizes(meta)[number], reach)
    return FullSA(arrays["sa_positions"])


def _choose_layout(meta, layout) -> str:
    if layout is None:
        return meta["layouts"][0]
    for name in layouts.matching(layout):
        if str(name) in meta["layouts"]:
            return str(name)
    raise UnsupportedError(f"this index has no layout {layout}; it has: {', '.join(meta['layouts'])}")
