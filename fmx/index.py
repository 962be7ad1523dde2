"""FMIndex: what is held of an index in memory, and which arrays on disk it comes from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import index_store, layouts
from .errors import IndexFileError, UnsupportedError
from .prefix_table import PrefixTable
from .reference import COLUMNS, Reference, make_blocks
from .sampled_sa import FullSA, SampledSA
from .seed_table import SeedTable


@dataclass(frozen=True)
class FMIndex:
    """The bundle: reference (no letters), one layout, suffix array (whole or sampled), prefix table,
    packed text; and the seed table where the suffix array is whole."""

    path: Path
    meta: dict
    reference: Reference
    layout_name: str
    layout: Any
    sa: Any
    prefix: PrefixTable
    seeds: SeedTable | None
    text_words: np.ndarray


def reference_arrays(reference) -> dict:
    """The arrays that hold a Reference on disk."""
    names = [name.encode() for name in reference.names]
    return {
        "contig_names": np.frombuffer(b"\n".join(names), np.uint8),
        "contig_lengths": reference.lengths,
        "contig_md5": reference.md5,
        **{f"block_{column}": getattr(reference.blocks, column) for column in COLUMNS},
    }


def load(path, layout: str | None = None, n_threads=1) -> FMIndex:
    """Open an index: arrays mapped from disk, every byte that a search reads checked first.

    ``layout`` defaults to the first one of the index.  Raises IndexFileError, UnsupportedError.
    """
    path = Path(path)
    meta = index_store.read_meta(path)
    layout_name = _choose_layout(meta, layout)
    name = layouts.parse_name(layout_name)
    prefix = f"{layout_name}."
    wanted = [n for n in meta["arrays"] if "." not in n or n.startswith(prefix)]
    index_store.verify(path, meta, wanted, n_threads)
    arrays = {n: index_store.read_array(path, meta, n) for n in wanted}
    try:
        reference = Reference(
            arrays["contig_names"].tobytes().decode().split("\n"),
            arrays["contig_lengths"],
            arrays["contig_md5"],
            make_blocks(*(arrays[f"block_{column}"] for column in COLUMNS)),
            meta["n_text"],
        )
        fields = {n[len(prefix) :]: array for n, array in arrays.items() if n.startswith(prefix)}
        return FMIndex(
            path,
            meta,
            reference,
            layout_name,
            layouts.layout_from_arrays(name, fields),
            _load_sa(arrays),
            PrefixTable(arrays["prefix_pairs"], meta["prefix_length"]),
            SeedTable(arrays["seed_starts"], meta["seed_length"]) if "seed_starts" in arrays else None,
            arrays["text_words"],
        )
    except (KeyError, TypeError) as error:
        raise IndexFileError(f"{path}: incomplete ({error}); build the index again") from error


def _load_sa(arrays):
    if "sa_marks" in arrays:
        return SampledSA(arrays["sa_positions"], arrays["sa_marks"])
    return FullSA(arrays["sa_positions"])


def _choose_layout(meta, layout) -> str:
    if layout is None:
        return meta["layouts"][0]
    name = str(layouts.parse_name(layout))
    if name not in meta["layouts"]:
        raise UnsupportedError(f"this index has no layout {name}; it has: {', '.join(meta['layouts'])}")
    return name
