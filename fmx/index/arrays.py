"""Arrays of an index: their required forms, checked in one pass with checksums; their names and sizes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xxhash

_STRETCH = 1 << 18  # bytes that are still in the cache when they are read a second time


class ArraySpec(NamedTuple):
    """The form required of an array.

    ``shape``: None in it means any length; ``at_most``: largest value; ``ascends``: values never decrease;
    ``holds``: for small arrays, a function that checks the whole array for what compiled code relies on.
    """

    dtype: str
    shape: tuple
    at_most: int | None = None
    ascends: bool = False
    holds: Callable | None = None

    def takes(self, shape: Sequence) -> bool:
        """Return whether an array may have this shape."""
        return len(shape) == len(self.shape) and all(
            required in (None, n) for required, n in zip(self.shape, shape, strict=True)
        )


def scan(array: Any, start: int, stop: int, form: ArraySpec) -> tuple:
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

OF_REFERENCE = "contig_", "block_", "group_"


def part_sizes(meta: dict) -> list:
    """Return the number of symbols of each part of an index."""
    return meta.get("parts", [meta["n_text"]])


def part_span(meta: dict, number: int) -> tuple:
    """Return (start, stop) of a part in the text of an index."""
    sizes = part_sizes(meta)
    return sum(sizes[:number]), sum(sizes[: number + 1])


def own_name(array_name: str) -> str:
    """Return the name of an array within its part."""
    return array_name.rpartition("/")[2]


def part_arrays(meta: dict, number: int) -> dict:
    """Return {own name: name} for the arrays of a part, and for those of the whole reference."""
    folders = ("", f"part{number}")
    return {own_name(name): name for name in meta["arrays"] if name.rpartition("/")[0] in folders}


def own_sizes(meta: dict) -> dict:
    """Return the bytes of the arrays by their names within a part, summed over all parts."""
    sizes: dict = {}
    for name, array in meta["arrays"].items():
        sizes[own_name(name)] = sizes.get(own_name(name), 0) + array["bytes"]
    return sizes


def of_reference(array_name: str) -> bool:
    """Return whether an array, by its own name, describes contigs rather than the searchable text."""
    return array_name.startswith(OF_REFERENCE)
