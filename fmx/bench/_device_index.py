"""Queries over a text on a GPU, and how many entries they fetch."""

import numpy as np

from .. import device, jit_device, layouts, seed_table
from ..contracts import address, lanes, occ, start
from ..dna import symbols
from ..jit_warp import atomic_add, kernel, thread_index
from ..prefix_table import make_prefix_table
from ..queries import Exact, Verify
from ..seed_table import SeedTable, first_rows
from ._device_runs import launch
from ._device_text import blocks_of


@kernel
def count_entries_kernel(query, patterns, n_entries):
    """Count the different entries that each step of backward search needs: one or two."""
    i = thread_index()
    if i < patterns.length.size:
        lo, hi, left = start(query, patterns, i)
        k, n = np.int64(query.layout.k), np.int64(0)
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, patterns.first[i], left, k))
            n += 1 if address(query.layout, c, lo)[0] == address(query.layout, c, hi)[0] else 2
            lo, hi = occ(query.layout, c, lo), occ(query.layout, c, hi)
        atomic_add(n_entries, 0, np.uint64(n))


def entries_per_pattern(query, patterns, n_sampled=200_000) -> float:
    """Mean number of different entries that the steps of a pattern need."""
    n = min(n_sampled, patterns.length.size)
    counted = jit_device.zeros(1, np.uint64)
    launch(count_entries_kernel, n, query, first_patterns(patterns, n), counted)
    return int(jit_device.to_host(counted)[0]) / n


def first_patterns(patterns, n):
    """The first n patterns."""
    return type(patterns)(patterns.words, patterns.first[:n], patterns.length[:n])


def entry_bytes(query) -> int:
    """Bytes of an entry of the query's layout."""
    return 16 * lanes(query.layout)


def make_layout(machine, text, name):
    """A layout of a DeviceText by its name."""
    name = layouts.parse_name(name, text.n)
    return layouts.REGISTRY[name.family].build(text.codes, text.sa, name.k, name.d, machine)


def exact(prefix, layout) -> Exact:
    """Backward search over a layout that is on the device."""
    return Exact(prefix, device.upload(layout))


def verify(machine, text, s=None) -> Verify:
    """Seed and verify over a DeviceText, with seeds of s symbols (None: what an index would have)."""
    s = s or seed_table.default_length(text.n)
    prefix = make_prefix_table(machine, text.codes, text.sa, 4)
    seeds = SeedTable(first_rows(machine, text.codes, text.sa, s), s)
    blocks = device.upload(blocks_of(machine, text.codes))
    return Verify(prefix, seeds, text.sa, text.words, blocks)
