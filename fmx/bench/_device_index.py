"""Queries over one random text on a GPU."""

from .. import device, layouts
from ..queries import Exact, Verify
from . import _random_text as random_text


def first_patterns(patterns, n):
    """The first n patterns."""
    return type(patterns)(patterns.words, patterns.first[:n], patterns.length[:n])


def host_layout(codes, sa, name, n_threads):
    """A layout in the host's memory, by the code that builds indexes."""
    name = layouts.parse_name(name)
    return layouts.REGISTRY[name.family].build(codes, sa, name.k, name.d, n_threads)


def exact(prefix, layout) -> Exact:
    """Backward search over a layout that is in the host's memory or on the device."""
    return Exact(prefix, device.upload(layout))


def verify(text, s) -> Verify:
    """Seed and verify over a random text, with seeds of s symbols."""
    prefix = random_text.make_prefix_table(text, 4)
    seeds = random_text.make_seed_table(text, s)
    blocks = device.upload(random_text.blocks_of(text.n))
    return Verify(prefix, seeds, text.sa, text.words, blocks)
