"""Arrays of an index: what each must be, checked in one pass with its checksum; their names and sizes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xxhash

_STRETCH = 1 << 18  # bytes that are still in the cache when they are looked at again


class ArraySpec(NamedTuple):
    """``shape``: None in it is any length; ``at_most``: the largest value; ``ascends``: values never fall.

    ``holds``: of the whole array, whether it is as compiled code relies on it to be, for small arrays.
    """

    dtype: str
    shape: tuple
    at_most: int | None = None
    ascends: bool = False
    holds: Callable | None = None

    def takes(self, shape: Sequence) -> bool:
        """Whether an array may have this shape."""
        return len(shape) == len(self.shape) and all(
            wanted in (None, n) for wanted, n in zip(self.shape, shape, strict=True)
        )


def scan(array: Any, start: int, stop: int, form: ArraySpec) -> tuple:
    """(hexadecimal xxh3-64, whether values are as the form says) of elements start to stop of a flat array.

    Whether they ascend is seen with the element before ``start``.
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


# Names and sizes of arrays, by meta.json: those of an index in several parts lie in folders part0, part1 ...


def part_sizes(meta: dict) -> list:
    """Symbols of each part of an index."""
    return meta.get("parts", [meta["n_text"]])


def part_span(meta: dict, number: int) -> tuple:
    """(start, stop) of a part in the text of an index."""
    sizes = part_sizes(meta)
    return sum(sizes[:number]), sum(sizes[: number + 1])


def own_name(array_name: str) -> str:
    """Name of an array within its part."""
    return array_name.rpartition("/")[2]


def part_arrays(meta: dict, number: int) -> dict:
    """{own name: name} of the arrays of a part of an index, and of those of the whole reference."""
    folders = ("", f"part{number}")
    return {own_name(name): name for name in meta["arrays"] if name.rpartition("/")[0] in folders}


def own_sizes(meta: dict) -> dict:
    """Bytes of the arrays of an index by their names within a part, over all parts."""
    sizes: dict = {}
    for name, array in meta["arrays"].items():
        sizes[own_name(name)] = sizes.get(own_name(name), 0) + array["bytes"]
    return sizes


def of_reference(array_name: str) -> bool:
    """Whether an array, by its own name, is of the contigs, and not of what is searched."""
    return array_name.startswith(("contig_", "block_", "group_"))
