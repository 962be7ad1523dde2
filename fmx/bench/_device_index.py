"""Queries over one random text on a GPU, and how many entries they fetch."""

import numpy as np

from .. import device, jit_device, layouts
from ..contracts import address, lanes, occ, start
from ..dna import symbols
from ..jit_warp import atomic_add, kernel, thread_index
from ..queries import Exact, Verify
from ..work import Cores
from . import _random_text as random_text
from ._random_text import launch


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


def host_layout(codes, sa, name, n_threads):
    """A layout in the host's memory, by the code that builds indexes."""
    name = layouts.parse_name(name)
    return layouts.REGISTRY[name.family].build(codes, sa, name.k, name.d, Cores(n_threads))


def exact(prefix, layout) -> Exact:
    """Backward search over a layout that is in the host's memory or on the device."""
    return Exact(prefix, device.upload(layout))


def verify(text, s) -> Verify:
    """Seed and verify over a random text, with seeds of s symbols."""
    prefix = random_text.make_prefix_table(text, 4)
    seeds = random_text.make_seed_table(text, s)
    blocks = device.upload(random_text.blocks_of(text.n))
    return Verify(prefix, seeds, text.sa, text.words, blocks)
