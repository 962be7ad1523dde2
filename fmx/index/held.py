"""An index that is kept in memory, and never was a file."""

import numpy as np

from ..machines.jobs import ONE_CORE
from .store import FORMAT


class HeldIndex:
    """Stands in the place of writer.IndexWriter; afterwards ``meta`` and ``arrays`` are those of an index.

    fm_index.load opens it.
    """

    def __init__(self):
        self.meta: dict = {}
        self.arrays: dict = {}

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        """There is nothing to tidy up."""

    def add(self, name: str, array, backend=ONE_CORE) -> None:
        """Keep one array of a backend; as those that are mapped from disk, nobody may write to it."""
        held = np.ascontiguousarray(backend.to_host(array)).view()
        held.flags.writeable = False
        self.arrays[name] = held

    def commit(self, meta: dict) -> None:
        """Note what is said of the index beside its arrays."""
        entries = {
            name: {"dtype": str(held.dtype), "shape": list(held.shape), "bytes": held.nbytes}
            for name, held in sorted(self.arrays.items())
        }
        self.meta = {"format": FORMAT, **meta, "arrays": entries}
