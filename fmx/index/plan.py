"""Planning: what an index contains and how it is searched, from options, reference size and memory.

Seed and verify is fast, finds strings of any length, and needs the whole suffix array.  A sparse suffix array
is as fast or faster for reads that are long enough, in a third of the memory or less.  Backward search over a
small layout with a sampled suffix array needs a sixth.  Sizes are the bytes that a search reads.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .. import system
from ..errors import UnsupportedError, size_in_words
from . import layouts, tables
from .disk import OF_REFERENCE, array_sizes
from .reference import MAX_SYMBOLS
from .sparse import SparseName, parse_sparse

if TYPE_CHECKING:
    from ..machines.progress import Progress

LARGE = 10**9  # symbols of a reference; above, the default is a sparse suffix array
_CONTIGS = 40_000  # bytes of a few contigs, and of rows without a k-symbol
# (layout, sa_rate), from fast and large to slow and small.
CHOICES = (
    ("bvsfm-k2-d96", 1), ("bvsfm-k2-d96", 4), ("bvsfm-k2-d96", 16), ("bvsfm-k2-d224", 16),
    ("alternate-k2-d192", 16), ("alternate-k2-d448", 32), ("alternate-k1-d448", 32),
    ("alternate-k1-d960", 64),
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What to build and how to search it: ``n_bytes`` that a search reads, and the reason as text.

    If ``layout`` is a sparse suffix array, there is no other layout, and ``sa_rate`` is 1, the default.
    """

    layout: str
    sa_rate: int
    method: str
    n_bytes: int
    reason: str


def available_memory() -> int:
    """Return the bytes that this process may still allocate, within the limit of a container or batch job."""
    return int(min(free_memory(), system.memory_left()))


def free_memory() -> int:
    """Return the bytes that are free by the kernel's estimate; if unknown, all memory of the machine."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def plan_index(sizes: Sequence[int], max_memory: int | None = None) -> Plan:
    """Plan an index whose search fits into ``max_memory`` bytes (default: half of the free memory).

    ``sizes``: symbols of each part of the text; the largest part sets the string lengths of all tables.
    Raises UnsupportedError if none fits.
    """
    limit = max_memory or available_memory() // 2
    allowed = f"{size_in_words(limit)} ({'--max-memory' if max_memory else 'half of the free memory'})"
    n_text, longest, sparse = sum(sizes), max(sizes), SparseName()
    small = len(sizes) * 8 * tables.n_pairs(tables.prefix_length(longest)) + _CONTIGS
    seeds = len(sizes) * 4 * 4 ** tables.seed_length(longest)
    size = 4 * n_text + n_text // 4 + seeds + small
    if size <= limit:
        reason = f"the seed-and-verify search needs {size_in_words(size)} of memory; the limit is {allowed}"
        return Plan(CHOICES[0][0], 1, "verify", size, reason)
    too_large = f"the seed-and-verify search would need {size_in_words(size)} of memory, more than {allowed}"
    size = sum(int(sparse.bytes_per_symbol(n) * n) + n // 4 for n in sizes) + _CONTIGS
    if size <= limit:
        finds = f"needs {size_in_words(size)}, for reads of {sparse.shortest} bases or more"
        return Plan(str(sparse), 1, "sparse", size, f"{too_large}; {sparse} {finds}")
    for layout, sa_rate in CHOICES:
        name = layouts.parse_name(layout, longest)
        sa = 4 * n_text if sa_rate == 1 else 4 * n_text // sa_rate + n_text // 6  # with marks
        size = int(sum(name.bytes_per_symbol(n) * n for n in sizes)) + sa + small
        if size <= limit:
            reason = f"{too_large}; backward search over {layout} needs {size_in_words(size)}"
            return Plan(layout, sa_rate, "backward", size, reason)
    raise UnsupportedError(
        f"searching this reference needs at least {size_in_words(size)} of memory, more than {allowed}: "
        f"{'raise' if max_memory else 'set'} --max-memory, or split the reference by contigs"
    )


def ways_to_search(meta: dict) -> dict:
    """Return the bytes that each way of searching an index reads, by name, the preferred way first.

    The preferred way is the sparse suffix array if there is one, then "verify" (seed and verify), then
    layouts.
    """
    sizes, ways = array_sizes(meta), {}

    def total(*prefixes: str) -> int:
        return sum(size for name, size in sizes.items() if name.startswith(prefixes))

    shared = sum(size for name, size in sizes.items() if "." not in name)
    if "sparse" in meta:
        ways[meta["sparse"]] = total("text_words", *OF_REFERENCE, f"{meta['sparse']}.")
    if "seed_starts" in sizes:
        ways["verify"] = shared
    for layout in meta["layouts"]:
        ways[layout] = shared - total("seed_starts", "text_words") + total(f"{layout}.")
    return ways


def choose_way(meta: dict, max_memory: int | None = None, any_length: bool = False) -> tuple:
    """Return (way, reason): the first of ``ways_to_search`` that fits into ``max_memory`` (None: free
    memory).

    ``any_length``: consider only ways that find strings of any length; there is at least one.  Raises
    UnsupportedError if ``max_memory`` is given and nothing fits.
    """
    limit, ways = max_memory or available_memory(), ways_to_search(meta)
    if any_length:
        ways.pop(meta.get("sparse"), None)
    whose = "may be used" if max_memory else "is free"
    for way, n_bytes in ways.items():
        if n_bytes <= limit:
            return way, f"needs {size_in_words(n_bytes)}; {size_in_words(limit)} {whose}"
    way = min(ways, key=lambda name: ways[name])
    if max_memory:
        raise UnsupportedError(
            f"searching this index needs at least {size_in_words(ways[way])} of memory (with {way}), more "
            f"than {size_in_words(limit)} (--max-memory): raise --max-memory, or "
            + (
                "add a smaller layout with 'fmx index --add --layout NAME'"
                if meta["sa_rate"] == 1
                else "build a smaller index with 'fmx index --max-memory SIZE'"
            )
        )
    return way, f"needs {size_in_words(ways[way])}, more than the {size_in_words(limit)} that is free"


@dataclass(frozen=True)
class IndexOptions:
    """The contents of an index.

    ``layouts``: names.  With only "auto", plan_index chooses layout and sa_rate for ``max_memory``.  With
    none, DEFAULT is used, but a sparse suffix array for more than LARGE symbols, unless another option needs
    the suffix array; an index with a sparse one alone has no other.  ``sa_rate`` s: keep every s-th position
    of the suffix array.  ``prefix_length``: None to choose it by the size.  ``with_lcp``: also make the LCP
    and rank arrays.  A text of more than ``part_size`` symbols is indexed in parts (reference.py).
    ``prefixed``: put the names of files before those of their contigs.  ``groups``: a table of contigs and
    groups, or None to make each of several files a group.
    """

    layouts: Sequence = ()
    sa_rate: int = 1
    prefix_length: int | None = None
    max_memory: int | None = None
    with_lcp: bool = False
    part_size: int = MAX_SYMBOLS
    prefixed: bool = False
    groups: str | None = field(default=None, metadata=system.PLACE)
    sparse: SparseName | None = None  # this and seed_length, 0 for no seed table, are set by ``settled``
    seed_length: int = 0

    def settled(self, sizes: Sequence[int], progress: "Progress") -> "IndexOptions":
        """Return complete options for a text with parts of these sizes: ``layouts`` are LayoutNames.

        Without layouts, ``sa_rate`` and ``prefix_length`` are 0.  Raises UnsupportedError for options that
        exclude each other or exceed the limits for such a text.
        """
        options, longest = self, tables.longest_strings(max(sizes))
        if list(self.layouts) == ["auto"]:
            chosen = plan_index(sizes, self.max_memory)
            options = replace(self, layouts=[chosen.layout], sa_rate=chosen.sa_rate)
            progress.say(f"chose --layout {chosen.layout} --sa-rate {chosen.sa_rate}: {chosen.reason}")
        elif not self.layouts:
            default, needs_sa = layouts.DEFAULT, self.sa_rate != 1 or self.prefix_length or self.with_lcp
            if sum(sizes) > LARGE and not needs_sa:
                default = str(SparseName())
                progress.say(
                    f"chose --layout {default}, because the reference has more than {LARGE:,} bases: it "
                    "takes 2 bytes of memory per base to build, not 12, but finds only sequences of "
                    f"{SparseName().shortest} bases or more, and no IUPAC codes or primer pairs; for these, "
                    f"use --layout {layouts.DEFAULT}"
                )
            options = replace(self, layouts=[default])
        if options.with_lcp and options.sa_rate != 1:
            raise UnsupportedError(
                "--with-lcp needs the whole suffix array: omit --sa-rate, or raise --max-memory"
            )
        names, sparse = named(options.layouts, max(sizes))
        if not names:
            if options.sa_rate != 1 or options.prefix_length or options.with_lcp:
                raise UnsupportedError(
                    f"{sparse} alone has no suffix array: omit --sa-rate, --prefix-length and "
                    f"--with-lcp, or add a layout: --layout {sparse},{layouts.DEFAULT}"
                )
            return replace(options, layouts=[], sparse=sparse, sa_rate=0, prefix_length=0)
        if options.prefix_length and options.prefix_length > longest:
            raise UnsupportedError(
                f"--prefix-length {options.prefix_length} is too long for a reference of {max(sizes):,} "
                f"symbols: use at most {longest}"
            )
        q = options.prefix_length or tables.prefix_length(max(sizes))
        s = tables.seed_length(max(sizes)) if options.sa_rate == 1 else 0
        return replace(options, layouts=names, sparse=sparse, prefix_length=q, seed_length=s)


def named(layout_names: Sequence, n_text: int | None = None) -> tuple:
    """Return the layouts of these names, each once, for a text of n_text symbols, and a SparseName or None.

    Raises UnsupportedError.
    """
    parsed = list(dict.fromkeys(parse_sparse(x) or layouts.parse_name(x, n_text) for x in layout_names))
    names = [name for name in parsed if not isinstance(name, SparseName)]
    sparse = [name for name in parsed if isinstance(name, SparseName)]
    if sparse[1:]:
        raise UnsupportedError(f"an index may have one sparse suffix array: {sparse[0]} or {sparse[1]}")
    most = tables.longest_strings(n_text) if n_text else None
    for name in names:
        if most and name.k > most:
            raise UnsupportedError(
                f"layout {name} is too large for a reference of {n_text:,} symbols: k is at most {most}"
            )
    return names, (sparse[0] if sparse else None)
