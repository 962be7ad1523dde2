"""Backward search on a GPU, by engines that differ in how many threads share a pattern; seed and verify.

Task-parallel (Chacon et al. 2014 and 2015, section 4.1): each thread works alone. Queries other than backward
search, and layouts with their own step, run with one thread per pattern (naive16).

    cuda_task-   threads per pattern   an entry is loaded
    naive        1, for lo and hi      by 4-byte loads
    naive16      1, for lo and hi      by 16-byte loads
    improved     2, one for each end   by 16-byte loads; the other end is read in shared memory

Cooperative (Chacon et al. 2014): one thread per end of a pattern's interval. Lanes 2i and 2i + 1 have the two
ends of one interval. A group of 2 to 16 threads loads the entries of its members in turn, one unit per
thread.

cuda_memory (section 4.2): the group loads; each thread counts alone, from shared memory:

    shared memory of a warp   | 32 addresses | entry of thread 0 | spare | ... | entry of thread 31 | spare |

cuda_full (section 4.3): the group loads and counts together, both ends of a pattern at a time:

    1 send the address to the group        4 count, each thread in its own unit
    2 load the entry                       5 add up over the group
    3 send the symbol and both offsets     6 the owners keep their sums

Step 3 sends one number. The entry of hi is loaded only if it differs from that of lo, which is rare once an
interval is narrow. Several sums are added up together: first, even threads give their part of hi to their
neighbour for its part of lo and continue with lo only, odd threads with hi. Then each half of four threads
continues with one pattern, and so on: 7 shuffles add up the 8 sums of a group of 8.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.functions import by_type, inlined, static_type
from ...compiler.primitives import load_unit
from ...compiler.warp import (
    UINT32,
    UINT64,
    WARP,
    add_across,
    any_lane,
    cuda,
    device,
    is_odd,
    kernel,
    load_unit_narrow,
    store_unit,
    sync_warp,
    take,
    take_across,
    thread_in_block,
    thread_index,
)
from ...dna import symbol_before
from ...errors import UnsupportedError
from ...index.contracts import (
    OFFSET_BITS,
    ROW,
    SYMBOL_BITS,
    address,
    extend,
    find,
    on_device,
    own_launch,
    share,
    start,
    units,
)
from ...limits import GPU_ENGINES
from ...machines import gpu
from ..hits import Intervals, SARows

if TYPE_CHECKING:
    from ...input.reads import Patterns
    from ...machines.gpu import GpuStream


_SHARED_BYTES = 48 << 10  # shared memory that a block has without a special request
_N_THREADS = 128
_N_ALONE = 32  # threads of a block if each loads whole entries, columns or texts
_LARGE_TABLE = 3 << 28  # bytes: 0.8 GB
_GROUPS: dict = {size: static_type(f"Group{size}", "size", __name__) for size in (2, 4, 8, 16)}


@dataclass(frozen=True)
class Launch:
    """A kernel (…, query, patterns, intervals), its threads per pattern and per block, its first arguments.

    ``warp_bytes``: shared memory per warp of a block.
    """

    kernel: Any
    threads_per_pattern: float
    n_threads: int
    arguments: tuple = ()
    warp_bytes: int = 0

    def __call__(self, query: Any, patterns: "Patterns", intervals: Any, stream: int = 0) -> None:
        """Start the search; ``intervals``, or what another query fills, must hold zeros."""
        n = int(patterns.length.size * self.threads_per_pattern)
        if n:
            n_threads = gpu.block_size(self.n_threads)
            launch = self.kernel[-(-n // n_threads), n_threads, stream, self.warp_bytes * n_threads // WARP]
            launch(*self.arguments, query, patterns, intervals)

    def occurrences_of(
        self, query: Any, locating: tuple, stream: "GpuStream", patterns: "Patterns", report: Any
    ) -> Any:
        """Launch the search of Patterns; return occurrences on the GPU that hits are chosen from (hits.py).

        ``locating``: (suffix array, layout), which locate rows. ``report`` int64[1 or more]: its first number
        becomes 1 if a read cannot be searched this way.
        """
        n = patterns.length.size
        intervals = Intervals(*(stream.device_array(name, n, np.uint32)[:n] for name in ("lo", "hi")))
        for array in intervals:
            gpu.fill_zero(array, stream.handle)
        self(query, patterns, intervals, stream.handle)
        return SARows(locating[0], locating[1], *intervals)


@inlined
def _group_size(n_units):
    """Return the threads of a group for entries of ``n_units`` units: a power of two from 2 to 16."""
    return 2 if n_units <= 2 else 4 if n_units <= 4 else 8 if n_units <= 8 else 16


def launch_of(name: str, query: Any) -> Launch:
    """Return the Launch of an engine, one of GPU_ENGINES, for a query.

    Raises UnsupportedError if they cannot be combined.
    """
    if name not in GPU_ENGINES:
        raise UnsupportedError(f"no GPU engine {name!r}; the GPU engines are {', '.join(GPU_ENGINES)}")
    family, _, variant = name.partition("-")
    by_steps = start.knows(query)
    n_units = units(query.layout) if by_steps else 0
    if family == "cuda_task":
        if variant == "naive" and n_units == 0:
            raise UnsupportedError(
                "cuda_task-naive needs a layout with entries: use cuda_task-naive16, or another --layout"
            )
        if not by_steps:
            return own_launch(query) if own_launch.knows(query) else Launch(_find_kernel, 1, _N_ALONE)
        if n_units == 0:
            return Launch(_alone_kernel, 1, _N_ALONE, (Own(0),))
        if variant == "improved":
            return Launch(_improved_kernel, 2, _N_THREADS, warp_bytes=4 * WARP)
        return Launch(_alone_kernel, 1, _N_ALONE, (Narrow(4) if variant == "naive" else Wide(16),))
    if not by_steps:
        raise UnsupportedError(f"{family} runs only backward search: use cuda_task, or --method backward")
    if n_units < 2:
        raise UnsupportedError(
            f"{family} needs a layout with entries of 32 bytes or more: use cuda_task, or another --layout"
        )
    if family == "cuda_memory":
        n_bytes = 8 * WARP * (1 + 2 * (n_units + 1))
        n_warps = max(1, min(4, _SHARED_BYTES // n_bytes))
        return Launch(_memory_kernel, 2, n_warps * WARP, warp_bytes=n_bytes)
    # As measured: about four units per thread, except for six, and for eight if entries take much memory.
    is_wide = n_units == 6 or (n_units == 8 and query.layout.entries.nbytes > _LARGE_TABLE)
    size, most = int(variant or (8 if is_wide else 2 if n_units <= 8 else 4)), _group_size(n_units)
    if size > most:
        raise UnsupportedError(
            f"cuda_full-{size}: entries of this layout allow groups of at most {most} threads: use "
            f"cuda_full-{most}"
        )
    return Launch(_full_kernel, 2, _N_THREADS, (_GROUPS[size](size),))


def upload(value: Any) -> Any:
    """Return a NamedTuple (or array, or number) with its arrays copied to the device."""

    def for_device(item: Any) -> Any:
        if isinstance(item, tuple) and hasattr(item, "_fields"):
            item = on_device(item)
            return type(item)(*map(for_device, item))
        return item

    return gpu.to_device(for_device(value))


def n_bytes(value: Any) -> int:
    """Return the bytes of the arrays of a NamedTuple; an array that occurs twice counts once."""
    seen, waiting = {}, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, np.ndarray):
            seen[item.__array_interface__["data"][0], item.nbytes] = item.nbytes
        elif isinstance(item, tuple):
            waiting += item
    return sum(seen.values())


@device
def _begin_search(query, patterns, i, unit):
    """Return where a thread begins pattern i: (its end, other end, symbols left, first word, searching)."""
    end, other, left, first = np.uint32(0), np.uint32(0), np.int32(0), np.int64(0)
    if i < patterns.length.size and patterns.length[i] > 0:
        first = patterns.first[i]
        lo, hi, to_come = start(query, patterns, i)
        left = np.int32(to_come)
        end, other = (np.uint32(hi), np.uint32(lo)) if is_odd(unit) else (np.uint32(lo), np.uint32(hi))
    return end, other, left, first, left > 0 and end != other


@device
def write(intervals, i, lo, hi):
    """Store an interval, unless it is empty: the arrays hold zeros before."""
    if lo < hi:
        intervals.lo[i] = np.uint32(lo)
        intervals.hi[i] = np.uint32(hi)


@kernel
def _memory_kernel(query, patterns, intervals):
    """Fill ``intervals`` (zeros) of ``patterns``, in groups of a warp's threads, one thread per end.

    Shared memory: 8 * WARP * (1 + 2 * (units + 1)) bytes per warp, as in the picture of the module's
    docstring.
    """
    thread, in_block = thread_index(), np.int32(thread_in_block())
    layout, k, n_units = query.layout, np.int32(query.layout.k), np.int32(units(query.layout))
    size, stride = np.int32(_group_size(n_units)), np.int32(2 * (n_units + 1))
    words = cuda.shared.array(0, UINT64)
    board = np.int32((in_block >> 5) * WARP * (1 + stride))  # of this warp
    lane = np.int32(in_block & (WARP - 1))
    base, member = np.int32(lane & ~(size - 1)), np.int32(lane & (size - 1))
    mine = np.int32(board + WARP + lane * stride)
    i = thread >> 1
    end, other, left, first, searching = _begin_search(query, patterns, i, lane)
    n_ahead, ahead = np.int32(0), np.uint64(0)
    while any_lane(searching):
        c, offset, spot, surplus = np.int32(0), np.int32(0), np.int64(0), np.int64(0)
        if searching:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            spot, row, surplus = address(layout, np.int64(c), np.int64(end))
            offset = np.int32(row)
        words[board + lane] = np.uint64(spot)
        sync_warp()
        for j in range(0, size, 2):  # two at a time, so that two loads are in flight
            this, that = np.int64(words[board + base + j]), np.int64(words[board + base + j + 1])
            to = np.int32(board + WARP + (base + j) * stride)
            for turn in range((n_units + size - 1) // size):
                part = np.int32(member + turn * size)
                if part < n_units:
                    a, b = load_unit(layout.entries, this + 2 * part)
                    x, y = load_unit(layout.entries, that + 2 * part)
                    store_unit(words, to + 2 * part, a, b)
                    store_unit(words, to + stride + 2 * part, x, y)
        sync_warp()
        if searching:
            end = np.uint32(-surplus)
            for part in range(n_units):
                a, b = load_unit(words, mine + 2 * part)
                end = np.uint32(end + share(layout, np.int32(part), a, b, c, offset))
            words[board + lane] = np.uint64(end)
        sync_warp()
        if searching:
            other = np.uint32(words[board + (lane ^ 1)])
            searching = left > 0 and end != other
        sync_warp()
    if not is_odd(lane) and i < patterns.length.size:
        write(intervals, i, end, other)


# What a group must know of a pattern's step, in one number: the k-symbol, whether the ends are in different
# entries, and their offsets.
_APART, _LO, _HI = SYMBOL_BITS, 32 - 2 * OFFSET_BITS, 32 - OFFSET_BITS
_SYMBOL, _OFFSET = (1 << SYMBOL_BITS) - 1, (1 << OFFSET_BITS) - 1


@device
def fetch(layout, about, spot, lane, size, j):
    """Return what a thread needs for the pattern of members j and j + 1 of its group.

    (number of the step, place of lo's entry, lane that knows the place of hi's entry, two words of lo's
    entry)
    """
    first, part = np.int32((lane & ~(size - 1)) + j), min(lane & (size - 1), np.int32(units(layout) - 1))
    lo_spot = take(spot, first)
    words = load_unit(layout.entries, 2 * lo_spot + 2 * part)
    return np.uint32(take(about, first)), lo_spot, first + 1, words


@device
def _shares(layout, first, size, spot, words, c, offset):
    """Return the sum over a thread's units of the entry at ``spot``: each ``size``-th from ``first`` on.

    ``words``: the two words of the first unit.
    """
    n_units = np.int32(units(layout))
    total = share(layout, first, words[0], words[1], c, offset) if first < n_units else np.int64(0)
    for turn in range(1, (n_units + size - 1) // size):
        unit = np.int32(first + turn * size)
        if unit < n_units:
            a, b = load_unit(layout.entries, 2 * spot + 2 * unit)
            total += share(layout, unit, a, b, c, offset)
    return total


@device
def _one(layout, spot, lane, size, fetched):
    """Return sums of one pattern over two neighbours: lo's in even threads, hi's in odd ones."""
    about, lo_spot, hi_owner, words = fetched
    c, member = np.int32(about & _SYMBOL), np.int32(lane & (size - 1))
    lo_offset, hi_offset = np.int32(about >> _LO & _OFFSET), np.int32(about >> _HI)
    lo_share = _shares(layout, member, size, lo_spot, words, c, lo_offset)
    if any_lane(about & np.uint32(1 << _APART) != 0):
        hi_spot = take(spot, hi_owner)
        others = load_unit(layout.entries, 2 * hi_spot + 2 * min(member, np.int32(units(layout) - 1)))
        hi_share = _shares(layout, member, size, hi_spot, others, c, hi_offset)
    else:
        hi_offset = np.int32(lo_offset & ~ROW | hi_offset & ROW)  # the compiler sees what both have in common
        hi_share = _shares(layout, member, size, lo_spot, words, c, hi_offset)
    ours, theirs = (hi_share, lo_share) if is_odd(lane) else (lo_share, hi_share)
    return np.uint32(add_across(ours, theirs, 1))


@device
def _fold(lane, first, second, mask):
    """Merge two sums: threads with the bit of ``mask`` keep the second, the others the first."""
    ours, theirs = (second, first) if lane & mask else (first, second)
    return np.uint32(add_across(ours, theirs, mask))


@device
def _two(layout, spot, lane, size, fetched, following):
    """Return the sums of two patterns, each in one half of four threads."""
    sums = _one(layout, spot, lane, size, fetched), _one(layout, spot, lane, size, following)
    return _fold(lane, sums[0], sums[1], 2)


@device
def _four(layout, about, spot, lane, size, j):
    """Return the sums of four patterns, each in two threads of eight."""
    a, b = fetch(layout, about, spot, lane, size, j), fetch(layout, about, spot, lane, size, j + 2)
    c, d = fetch(layout, about, spot, lane, size, j + 4), fetch(layout, about, spot, lane, size, j + 6)
    return _fold(lane, _two(layout, spot, lane, size, a, b), _two(layout, spot, lane, size, c, d), 4)


@by_type
def gather(group, layout, about, spot, lane):
    """Return the sum over the entry of each member of a group, in the thread that owns it."""


@gather.register(_GROUPS[2])
def _gather_2(group, layout, about, spot, lane):
    size = np.int32(2)
    return _one(layout, spot, lane, size, fetch(layout, about, spot, lane, size, 0))


@gather.register(_GROUPS[4])
def _gather_4(group, layout, about, spot, lane):
    size = np.int32(4)
    fetched, following = fetch(layout, about, spot, lane, size, 0), fetch(layout, about, spot, lane, size, 2)
    return _two(layout, spot, lane, size, fetched, following)


@gather.register(_GROUPS[8])
def _gather_8(group, layout, about, spot, lane):
    return _four(layout, about, spot, lane, np.int32(8), 0)


@gather.register(_GROUPS[16])
def _gather_16(group, layout, about, spot, lane):
    size = np.int32(16)
    sums = _four(layout, about, spot, lane, size, 0), _four(layout, about, spot, lane, size, 8)
    return _fold(lane, sums[0], sums[1], 8)


@kernel
def _full_kernel(group, query, patterns, intervals):
    """Fill ``intervals`` (zeros) of ``patterns``, in groups of a warp's threads, one thread per end."""
    thread, lane = thread_index(), np.int32(thread_in_block() & (WARP - 1))
    layout, k, i = query.layout, np.int32(query.layout.k), thread >> 1
    end, other, left, first, searching = _begin_search(query, patterns, i, lane)
    n_ahead, ahead = np.int32(0), np.uint64(0)
    while any_lane(searching):
        c, offset, spot, surplus = np.int32(0), np.int32(0), np.uint32(0), np.int64(0)
        if searching:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            word, row, surplus = address(layout, np.int64(c), np.int64(end))
            offset, spot = np.int32(row), np.uint32(word >> 1)
        about = np.uint32(np.int64(c) | np.int64(offset) << _LO | take_across(offset, 1) << _HI)
        if take_across(spot, 1) != spot:
            about = np.uint32(about | np.uint32(1 << _APART))
        total = gather(group, layout, about, spot, lane)
        if searching:
            end = np.uint32(np.int64(total) - surplus)
        searching = take_across(end, 1) != end and left > 0 and searching
    other = take_across(end, 1)
    if not is_odd(lane) and i < patterns.length.size:
        write(intervals, i, end, other)


# How an entry is loaded: by 4 bytes, by 16 bytes, or not at all, because the layout has its lane step.
Narrow, Wide, Own = (static_type(name, "n_bytes", __name__) for name in ("Narrow", "Wide", "Own"))


@by_type
def _step(how, layout, c, lo, hi):
    """Return the interval of the string with interval (lo, hi), extended by the k-symbol c before it."""


@_step.register(Narrow)
def _step_narrow(how, layout, c, lo, hi):
    return count(load_unit_narrow, layout, c, lo), count(load_unit_narrow, layout, c, hi)


@_step.register(Wide)
def _step_wide(how, layout, c, lo, hi):
    return count(load_unit, layout, c, lo), count(load_unit, layout, c, hi)


@_step.register(Own)
def _step_own(how, layout, c, lo, hi):
    return extend(layout, c, lo, hi)


@inlined
def count(load, layout, c, i):
    """Return C[c] + Occ(c, i), from all units of the entry."""
    word, offset, surplus = address(layout, c, i)
    total = np.uint32(-surplus)
    for unit in range(units(layout)):
        a, b = load(layout.entries, word + 2 * unit)
        total = np.uint32(total + share(layout, np.int32(unit), a, b, c, np.int32(offset)))
    return np.int64(total)


@kernel
def _alone_kernel(how, query, patterns, intervals):
    """Fill ``intervals`` (zeros) by backward search, one thread per pattern; ``how`` entries are loaded."""
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi, to_come = start(query, patterns, i)
        k, first, left = np.int32(query.layout.k), patterns.first[i], np.int32(to_come)
        n_ahead, ahead = np.int32(0), np.uint64(0)
        while left > 0 and lo < hi:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            lo, hi = _step(how, query.layout, np.int64(c), lo, hi)
        write(intervals, i, lo, hi)


@partial(kernel, max_registers=64)  # so that all loads of an entry are in flight at once
def _improved_kernel(query: Any, patterns: "Patterns", intervals: "Intervals") -> None:
    """Fill ``intervals`` (zeros), one thread per end. Shared memory: 4 bytes per thread."""
    thread, in_block = thread_index(), thread_in_block()
    i, ends, k = thread >> 1, cuda.shared.array(0, UINT32), np.int32(query.layout.k)
    end, other, left, first, searching = _begin_search(query, patterns, i, in_block)
    n_ahead, ahead = np.int32(0), np.uint64(0)
    while any_lane(searching):
        if searching:
            c, left, ahead, n_ahead = symbol_before(patterns.words, first, left, k, ahead, n_ahead)
            end = np.uint32(count(load_unit, query.layout, np.int64(c), np.int64(end)))
            ends[in_block] = end
        sync_warp()
        if searching:
            other = ends[in_block ^ 1]
            searching = left > 0 and end != other
        sync_warp()
    if not is_odd(in_block) and i < patterns.length.size:
        write(intervals, i, end, other)


@kernel
def _find_kernel(query, patterns, intervals):
    """Fill ``intervals`` (zeros) by seed and verify, one thread per pattern."""
    i = thread_index()
    if i < patterns.length.size and patterns.length[i] > 0:
        lo, hi = find(query, patterns, i)
        write(intervals, i, lo, hi)
