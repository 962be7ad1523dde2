"""What an index is to hold, and how it is searched: by options, the size of the reference and the memory.

Seed and verify is fast, finds strings of any length, and needs the whole suffix array; a sparse suffix array
is as fast or faster for reads that are long enough, in a third of its memory or less; backward search over a
small layout with a sampled suffix array needs a sixth.  Sizes are of what a search reads, in bytes.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import UnsupportedError
from ..system import process
from . import layouts, prefix_table, seed_table
from .arrays import of_reference, own_sizes
from .reference import MAX_SYMBOLS
from .sparse.table import DEFAULT, SparseName, parse_sparse

if TYPE_CHECKING:
    from ..machines.progress import Progress

_CONTIGS = 40_000  # bytes of a few contigs, and of rows without a k-symbol
# (layout, sa_rate), from fast and large to slow and small.
CHOICES = (
    ("bvsfm-k2-d96", 1),
    ("bvsfm-k2-d96", 4),
    ("bvsfm-k2-d96", 16),
    ("bvsfm-k2-d224", 16),
    ("alternate-k2-d192", 16),
    ("alternate-k2-d448", 32),
    ("alternate-k1-d448", 32),
    ("alternate-k1-d960", 64),
)


@dataclass(frozen=True)
class Plan:
    """What to build and how it will be searched: ``n_bytes`` that a search reads, and the reason in words.

    ``layout`` may be a sparse suffix array, beside which there is no other: ``sa_rate`` is 1, the usual one.
    """

    layout: str
    sa_rate: int
    method: str
    n_bytes: int
    reason: str


def available_memory() -> int:
    """Bytes that this process may take now, within the limit of a container or a batch job."""
    return int(min(_free_memory(), process.memory()))


def _free_memory() -> int:
    """Bytes that programs may take, by the kernel's estimate; else all of the machine."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def verify_bytes(sizes: Sequence[int], prefix_length: int | None = None) -> int:
    """What seed and verify reads: suffix array, packed text, seed table, prefix table.

    ``sizes``: symbols of each part of the text; the largest sets the length of strings in the tables of all.
    """
    n_text, seed_length = sum(sizes), seed_table.default_length(max(sizes))
    return 4 * n_text + n_text // 4 + len(sizes) * 4 * 4**seed_length + _other_bytes(sizes, prefix_length)


def backward_bytes(sizes: Sequence[int], layout: str, sa_rate: int, prefix_length: int | None = None) -> int:
    """What backward search reads: layout, suffix array (sampled: and its marks), prefix table."""
    n_text, name = sum(sizes), layouts.parse_name(layout, max(sizes))
    sa = 4 * n_text if sa_rate == 1 else 4 * n_text // sa_rate + n_text // 6
    return int(sum(name.bytes_per_symbol(n) * n for n in sizes)) + sa + _other_bytes(sizes, prefix_length)


def sparse_bytes(sizes: Sequence[int], name: SparseName) -> int:
    """What a search by a sparse suffix array reads: rows, their buckets, packed text."""
    return sum(int(name.bytes_per_symbol(n) * n) + n // 4 for n in sizes) + _CONTIGS


def _other_bytes(sizes: Sequence[int], prefix_length: int | None) -> int:
    """The prefix tables, and what else is small."""
    q = prefix_length or prefix_table.default_length(max(sizes))
    return len(sizes) * 8 * prefix_table.n_pairs(q) + _CONTIGS


def plan_index(sizes: Sequence[int], max_memory: int | None = None) -> Plan:
    """The fastest index whose search fits into ``max_memory`` bytes (default: half of what is available).

    ``sizes``: symbols of each part of the text.  Raises UnsupportedError if none does.
    """
    limit = max_memory or available_memory() // 2
    needed = verify_bytes(sizes)
    if needed <= limit:
        reason = f"seed and verify needs {_megabytes(needed)} of {_megabytes(limit)}"
        return Plan(CHOICES[0][0], 1, "verify", needed, reason)
    too_large = f"seed and verify would need {_megabytes(needed)}, more than {_megabytes(limit)}"
    sparse = SparseName(*DEFAULT)
    smaller = sparse_bytes(sizes, sparse)
    if smaller <= limit:
        reason = (
            f"{too_large}; {sparse} needs {_megabytes(smaller)}, for reads of {sparse.shortest} bases or more"
        )
        return Plan(str(sparse), 1, "sparse", smaller, reason)
    for layout, sa_rate in CHOICES:
        smaller = backward_bytes(sizes, layout, sa_rate)
        if smaller <= limit:
            reason = f"{too_large}; backward search over {layout} needs {_megabytes(smaller)}"
            return Plan(layout, sa_rate, "backward", smaller, reason)
    raise UnsupportedError(
        f"an index of {sum(sizes):,} symbols needs at least {_megabytes(smaller)}, and "
        f"{_megabytes(limit)} are allowed; raise --max-memory, or split the reference by contigs"
    )


def ways_to_search(meta: dict) -> dict:
    """What each way of searching an index reads, in bytes, by its name, the way to take first.

    That is "verify" for seed and verify, else a layout, or a sparse suffix array.
    """
    sizes, ways = own_sizes(meta), {}

    def total(wanted):
        return sum(size for name, size in sizes.items() if wanted(name))

    shared = total(lambda name: "." not in name)
    verify_only = sizes.get("seed_starts", 0) + sizes.get("text_words", 0)
    if "sparse" in meta:
        prefix = f"{meta['sparse']}."
        ways[meta["sparse"]] = sizes["text_words"] + total(
            lambda name: of_reference(name) or name.startswith(prefix)
        )
    if "seed_starts" in sizes:
        ways["verify"] = shared
    for layout in meta["layouts"]:
        ways[layout] = shared - verify_only + total(lambda name, own=f"{layout}.": name.startswith(own))
    return ways


def choose_way(meta: dict, max_memory: int | None = None, any_length: bool = False) -> tuple:
    """(way, reason): the first of ``ways_to_search`` that fits into ``max_memory`` (default: what is free).

    ``any_length``: of those that find strings of any length, of which there is one at least.  Raises
    UnsupportedError if the memory was given and nothing fits.
    """
    limit, ways = max_memory or available_memory(), ways_to_search(meta)
    if any_length:
        ways = {way: n_bytes for way, n_bytes in ways.items() if not parse_sparse(way)}
    whose = "may be used" if max_memory else "are free"
    for way, n_bytes in ways.items():
        if n_bytes <= limit:
            return way, f"needs {_megabytes(n_bytes)}; {_megabytes(limit)} {whose}"
    way = min(ways, key=lambda name: ways[name])
    if max_memory:
        raise UnsupportedError(
            f"searching this index needs at least {_megabytes(ways[way])} (with {way}), and "
            f"{_megabytes(limit)} are allowed; raise --max-memory, or add a smaller layout"
        )
    return way, f"needs {_megabytes(ways[way])}, more than the {_megabytes(limit)} that are free"


def _megabytes(n: int) -> str:
    return f"{n / 1e6:,.0f} MB" if n >= 10**7 else f"{n / 1e6:.2g} MB"


@dataclass(frozen=True)
class IndexOptions:
    """What an index is to hold.

    ``layouts``: names, or "auto" alone for what plan_index chooses for ``max_memory``, together with its
    sa_rate; a sparse suffix array is one of them, and without others there is no suffix array beside it.
    ``sa_rate`` keeps every s-th position of the suffix array.  ``prefix_length`` None: by the size.
    ``with_lcp``: the LCP and rank arrays too.  A text of more than ``part_size`` symbols is indexed in parts
    (reference.py).  ``prefixed``: names of contigs begin with those of their files; ``groups``: a table of
    contigs and groups, or None: several files are groups.
    """

    layouts: Sequence = (layouts.DEFAULT,)
    sa_rate: int = 1
    prefix_length: int | None = None
    max_memory: int | None = None
    with_lcp: bool = False
    part_size: int = MAX_SYMBOLS
    prefixed: bool = False
    groups: str | None = None
    sparse: SparseName | None = None  # once settled

    @property
    def by_size(self) -> bool:
        """Whether layouts and sa_rate are chosen by the size of the text."""
        return list(self.layouts) == ["auto"]

    def settled(self, sizes: Sequence[int], progress: "Progress") -> "IndexOptions":
        """These options for a text whose parts have these sizes: ``layouts`` LayoutName, nothing left open.

        Without layouts ``sa_rate`` and ``prefix_length`` are 0.  Raises UnsupportedError for what does not go
        together, or is more than such a text needs.
        """
        given, longest = self, seed_table.longest_strings(max(sizes))
        if self.by_size:
            chosen = plan_index(sizes, self.max_memory)
            given = replace(self, layouts=[chosen.layout], sa_rate=chosen.sa_rate)
            progress.say(f"chose --layout {chosen.layout} --sa-rate {chosen.sa_rate}: {chosen.reason}")
        if given.with_lcp and given.sa_rate != 1:
            raise UnsupportedError(
                "--with-lcp needs the whole suffix array: leave out --sa-rate, or raise --max-memory"
            )
        names, sparse = named(given.layouts, max(sizes))
        if not names:
            if given.sa_rate != 1 or given.prefix_length or given.with_lcp:
                raise UnsupportedError(
                    f"{sparse} alone has no suffix array, so leave out --sa-rate, --prefix-length and "
                    f"--with-lcp, or add a layout: --layout {sparse},{layouts.DEFAULT}"
                )
            return replace(given, layouts=[], sparse=sparse, sa_rate=0, prefix_length=0)
        if given.prefix_length and given.prefix_length > longest:
            raise UnsupportedError(
                f"--prefix-length {given.prefix_length} is too long for a reference of {max(sizes):,} "
                f"symbols: give at most {longest}"
            )
        q = given.prefix_length or prefix_table.default_length(max(sizes))
        return replace(given, layouts=names, sparse=sparse, prefix_length=q)


def named(layout_names: Sequence, n_text: int | None = None) -> tuple:
    """The layouts of these names, each once, for a text of n_text symbols; and a SparseName or None.

    Raises UnsupportedError.
    """
    parsed = list(dict.fromkeys(parse_sparse(x) or layouts.parse_name(x, n_text) for x in layout_names))
    names = [name for name in parsed if not isinstance(name, SparseName)]
    sparse = [name for name in parsed if isinstance(name, SparseName)]
    if sparse[1:]:
        raise UnsupportedError(f"an index may have one sparse suffix array: {sparse[0]} or {sparse[1]}")
    most = seed_table.longest_strings(n_text) if n_text else None
    for name in names:
        if most and name.k > most:
            raise UnsupportedError(
                f"layout {name} is too large for a reference of {n_text:,} symbols: k is at most {most}"
            )
    return names, (sparse[0] if sparse else None)
