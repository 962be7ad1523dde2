"""Form: what an array of an index must be, beside its checksums, and one pass over its data for both."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xxhash

_STRETCH = 1 << 18  # bytes that are still in the cache when they are looked at again


class Form(NamedTuple):
    """``shape``: None in it is any length; ``at_most``: the largest value; ``ascends``: values never fall.

    ``holds``: of the whole array, whether it is as compiled code relies on it to be, for small arrays.
    """

    dtype: str
    shape: tuple
    at_most: int | None = None
    ascends: bool = False
    holds: Callable | None = None

    def takes(self, shape) -> bool:
        """Whether an array may have this shape."""
        return len(shape) == len(self.shape) and all(
            wanted in (None, n) for wanted, n in zip(self.shape, shape, strict=True)
        )


def scan(array, start: int, stop: int, form: Form) -> tuple:
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
