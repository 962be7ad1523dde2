"""Queries over a text on a GPU."""

from ...index import layouts, seed_table
from ...index.contracts import on_device
from ...index.prefix_table import make_prefix_table
from ...index.seed_table import SeedTable, first_rows
from ...search import gpu_search
from ...search.queries import Exact, Verify
from .device_text import blocks_of


def first_patterns(patterns, n):
    """The first n patterns."""
    return type(patterns)(patterns.words, patterns.first[:n], patterns.length[:n])


def make_layout(machine, text, name):
    """A layout of a DeviceText by its name."""
    name = layouts.parse_name(name, text.n)
    return name.kind.build(text.codes, text.sa, name.k, name.d, machine)


def exact(prefix, layout) -> Exact:
    """Backward search over a layout that is on the device."""
    return Exact(prefix, gpu_search.upload(layout))


def verify(machine, text, s=None):
    """Seed and verify over a DeviceText, with seeds of s symbols (None: what an index would have)."""
    s = s or seed_table.default_length(text.n)
    prefix = make_prefix_table(machine, text.codes, text.sa, 4)
    seeds = SeedTable(first_rows(machine, text.codes, text.sa, s), s)
    blocks = gpu_search.upload(blocks_of(machine, text.codes))
    return on_device(Verify(prefix, seeds, text.sa, text.words, blocks))
