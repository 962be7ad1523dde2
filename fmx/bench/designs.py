"""The papers' GPU experiments (fmx bench gpu) with a random text, and what queries read from memory.

How many random places of memory a query reads per pattern, and what it reads there:

entries            the different entries of each step, one or two
COFI               for each step, the pair of offsets and the different sectors of changes that are read
seed and verify    each seed, each sector of rows that is read, and the text of each row
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..compiler.warp import WARP, device, kernel, thread_index
from ..errors import UnsupportedError
from ..index.contracts import address, find, occ, start, units
from ..index.layouts.cofi import HOLE
from ..input.dna import symbols
from ..input.reads import Patterns
from ..machines import gpu
from ..machines.gpu_jobs import Gpu
from ..machines.gpu_session import GpuSession
from ..measure import gpu_timing, roofline, tables, texts
from ..measure.texts import Randomize, make_codes, some
from ..search import engines
from ..search.engines.cuda_groups import SHARED_BYTES
from ..search.gpu.gpu_search import Launch
from ..search.queries.exact import Exact
from .patterns import DrawnPatterns

SECTOR = 32  # smallest unit that memory transfers, in bytes
_LOOKED_UP = 8  # symbols that the prefix table looks up


class Accesses(NamedTuple):
    """Memory accesses of a pattern.

    ``per_pattern``: mean number. ``slowest``: mean of the largest number in each warp, for which all threads
    wait. ``entry``: bytes of each access. ``apart``: units of 16 bytes that their addresses are multiples of.
    ``n_bytes``: bytes that they are spread over.
    """

    per_pattern: float
    slowest: float
    entry: int
    apart: int
    n_bytes: int


@kernel
def count_entries_kernel(query, patterns, counts, words):
    """Count the entries that each pattern reads, one thread per pattern.

    ``counts`` int64[n]. ``words`` uint64[n]: bitwise or of all words where these entries start.
    """
    i = thread_index()
    if i < patterns.length.size:
        lo, hi, left = start(query, patterns, i)
        k, n, bits = np.int64(query.layout.k), np.int64(0), np.int64(0)
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, patterns.first[i], left, k))
            lo_word, hi_word = address(query.layout, c, lo)[0], address(query.layout, c, hi)[0]
            n += 1 if lo_word == hi_word else 2
            bits |= lo_word | hi_word
            lo, hi = occ(query.layout, c, lo), occ(query.layout, c, hi)
        counts[i] = n
        words[i] = np.uint64(bits)


@device
def probe(changes, left, right, value, sector):
    """Return (first index whose value is not below ``value``, last sector read, number of other sectors)."""
    n = np.int64(0)
    while left < right:
        middle = (left + right) >> 1
        if 4 * middle // SECTOR != sector:
            sector, n = 4 * middle // SECTOR, n + 1
        if np.int64(changes[middle]) < value:
            left = middle + 1
        else:
            right = middle
    return left, sector, n


@kernel
def count_cofi_kernel(query, patterns, counts):
    """Count the pairs of offsets and sectors of changes that each pattern reads, one thread per pattern.

    ``counts`` int64[n].
    """
    i = thread_index()
    if i < patterns.length.size:
        lo, hi, left = start(query, patterns, i)
        k, layout, n = np.int64(query.layout.k), query.layout, np.int64(0)
        length = patterns.length[i] - left
        if length > query.prefix.q:  # looked up by the layout: the borders of a shorter string
            c = np.int64(symbols(patterns.words, patterns.first[i], left, length)) << (2 * (k - length))
            for code, value in ((c, HOLE + length), (c + (np.int64(1) << (2 * (k - length))), HOLE)):
                begins = np.int64(layout.offsets[code - 1]) if code > 0 else np.int64(0)
                n += 1 + probe(layout.changes, begins, np.int64(layout.offsets[code]), value, np.int64(-1))[2]
        while left > 0 and lo < hi:
            left -= k
            c = np.int64(symbols(patterns.words, patterns.first[i], left, k))
            begins, ends = np.int64(layout.offsets[c]), np.int64(layout.offsets[c + 1])
            first, sector, n_first = probe(layout.changes, begins, ends, lo, np.int64(-1))
            last, _, n_second = probe(layout.changes, first, min(ends, first + hi - lo), hi, sector)
            lo, hi = first, last
            n += 1 + n_first + n_second
        counts[i] = n


@kernel
def count_places_kernel(query, patterns, counts):
    """Count the places that seed and verify reads, one thread per pattern; ``counts`` int64[n]."""
    i = thread_index()
    if i < patterns.length.size:
        counts[i] = find(query, patterns, i)[2]


def count(query: Any, patterns: Patterns, n_sampled: int = 200_000) -> Accesses:
    """Return the Accesses of a query, from the first patterns."""
    n = min(n_sampled, patterns.length.size)
    patterns = some(patterns, 0, n)
    counts = gpu.zeros(n, np.int64)
    if not isinstance(query, Exact):
        gpu_timing.launch(count_places_kernel, n, query, patterns, counts)
        return Accesses(*means(counts), SECTOR, 2, _bytes_of(query))
    layout = query.layout
    if units(layout) == 0:
        gpu_timing.launch(count_cofi_kernel, n, query, patterns, counts)
        return Accesses(*means(counts), SECTOR, 2, layout.changes.nbytes + layout.offsets.nbytes)
    words = gpu.zeros(n, np.uint64)
    gpu_timing.launch(count_entries_kernel, n, query, patterns, counts, words)
    bits = int(np.bitwise_or.reduce(gpu.to_host(words)))
    apart = (bits & -bits) // 2 or 16
    return Accesses(*means(counts), 16 * units(layout), apart, layout.entries.nbytes)


def _bytes_of(value: Any) -> int:
    """Return the bytes of the arrays of a NamedTuple on the GPU."""
    if isinstance(value, tuple):
        return sum(map(_bytes_of, value))
    return 0 if isinstance(value, int | np.integer) else value.nbytes


def means(counts: Any) -> tuple[float, float]:
    """Return the mean of counts, and the mean of the largest of each 32, the threads of a warp."""
    counts = gpu.to_host(counts)
    warps = np.maximum.reduceat(counts, np.arange(0, counts.size, WARP))
    return float(counts.mean()), float(warps.mean())


# The experiments: each returns rows of a table.

ONE_STEP = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", "sampled-k1-d960")
TWO_STEP = ("kstep-k2-d64", "kstep-k2-d192", "kstep-k2-d448")
ALTERNATE = ("alternate-k2-d64", "alternate-k2-d192", "alternate-k2-d448")
BVSFM = ("bvsfm-k1-d224", "bvsfm-k2-d96", "bvsfm-k2-d224", "bvsfm-k3-d224")
ALL = (*ONE_STEP, *TWO_STEP, *ALTERNATE, *BVSFM, "cofi-k15", "verify")
BY_SIZE = ("sampled-k1-d64", "sampled-k1-d192", "sampled-k1-d448", *TWO_STEP[:2], *ALTERNATE)
BLOCKS = (32, 64, 96, 128, 192, 256, 512)  # threads


def _launches(query: Any, names: Iterable[str]) -> dict:
    """Return the engines among ``names`` that can search by a query, {name: Launch}."""
    launches = {}
    for name in names:
        try:
            launches[name] = engines.prepare(name, query)
        except UnsupportedError:
            continue
    return launches


def designs(
    drawn: DrawnPatterns,
    names: Iterable[str],
    engine_names: Iterable[str],
    ceiling: roofline.Ceiling,
    with_energy: bool,
) -> list:
    """Return a row for each combination of layout and engine that is possible."""
    rows = []
    for name in names:
        query = drawn.query(name)
        counted = count(query, drawn.patterns)
        one_kernel = not isinstance(query, Exact) or units(query.layout) == 0
        for engine, launch in _launches(query, engine_names).items():
            if one_kernel and engine != "cuda_task-naive16":
                continue
            intervals = drawn.no_intervals()
            row = {"layout": name, "engine": engine}
            row |= drawn.measured(partial(launch, query), intervals)
            row |= _accesses(query, counted, row.pop("s") / drawn.positions.size, drawn.length, ceiling)
            if with_energy:
                used, watts = gpu_timing.joules(partial(launch, query, drawn.patterns, intervals))
                bases = drawn.positions.size * drawn.length
                row |= {"Mbases/J": bases / used / 1e6 if used else None, "W": watts}
            rows.append(tables.tell(row))
        del query
    return rows


def by_block(drawn: DrawnPatterns, names: Iterable[str], engine_names: Iterable[str]) -> list:
    """Return a row for each layout and engine: Gbases/s by threads of a block."""
    rows = []
    for name in names:
        query = drawn.query(name)
        for engine, launch in _launches(query, engine_names).items():
            row = {"layout": name, "engine": engine, "block": launch.n_threads, "wrong": 0}
            for n_threads in BLOCKS:
                if launch.warp_bytes * n_threads <= SHARED_BYTES * WARP:
                    measured = drawn.measured(partial(replace(launch, n_threads=n_threads), query))
                    row |= {str(n_threads): measured["Gbases/s"], "wrong": row["wrong"] + measured["wrong"]}
            rows.append(tables.tell(row))
        del query
    return rows


def _accesses(query: Any, counted: Accesses, seconds: float, length: int, ceiling: roofline.Ceiling) -> dict:
    """Return LF mappings and accesses per second, and the fraction of the ceiling.

    ``seconds``: those per pattern.
    """
    steps = (length - query.prefix.q) // query.layout.k if isinstance(query, Exact) else 0
    fetched = counted.per_pattern / seconds
    return {
        "G LF/s": 2 * steps / seconds / 1e9 if steps else None,
        "entry B": counted.entry,
        "at every B": 16 * min(counted.apart, -(-counted.entry // 16)),
        "G entries/s": fetched / 1e9,
        "% of ceiling": 100 * fetched / ceiling(counted.entry, counted.n_bytes, counted.apart),
    }


def _speed(
    drawn: DrawnPatterns, query: Any, launch: Launch, n: int, ceiling: roofline.Ceiling, counted: Accesses
) -> dict:
    """Return bases and accesses per second of the search of the first n patterns."""
    some, intervals = texts.some(drawn.patterns, 0, n), drawn.no_intervals()
    seconds = gpu_timing.seconds(partial(launch, query, some, intervals)) / n
    row = {"Gbases/s": drawn.length / seconds / 1e9}
    return row | _accesses(query, counted, seconds, drawn.length, ceiling)


def by_threads(
    drawn: DrawnPatterns, names: Iterable[str], engine_names: Iterable[str], ceiling: roofline.Ceiling
) -> list:
    """Return throughput by number of active threads."""
    rows = []
    for name in names:
        query = drawn.query(name)
        counted = count(query, drawn.patterns)
        for engine, launch in _launches(query, engine_names).items():
            for exponent in range(9, 22):
                n = (1 << exponent) // launch.threads_per_pattern
                if n <= drawn.positions.size:
                    row = {"layout": name, "engine": engine, "threads": 1 << exponent}
                    rows.append(row | _speed(drawn, query, launch, n, ceiling, counted))
        del query
    return rows


def by_size(
    make_drawn: Callable[[int], DrawnPatterns],
    sizes: Iterable[int],
    names: Iterable[str],
    engine: str,
    ceiling: roofline.Ceiling,
) -> list:
    """Return throughput by length of the reference."""
    rows = []
    for n_bases in sizes:
        drawn = make_drawn(n_bases)
        for name in names:
            query = drawn.query(name)
            launch, counted = engines.prepare(engine, query), count(query, drawn.patterns)
            row = {"layout": name, "engine": engine, "reference Mb": n_bases / 1e6}
            rows.append(row | _speed(drawn, query, launch, drawn.positions.size, ceiling, counted))
        del drawn, query
    return rows


def run(given: dict[str, Any]) -> None:
    """Run the requested experiments; ``given`` {option of the command: value}."""
    name, asked = gpu_timing.open_gpu(given["device"]), given["experiment"]
    output, bases = given["output"], given["bases"]

    def make_drawn(n_bases: int) -> DrawnPatterns:
        backend = Gpu(GpuSession(given["device"]))
        codes = make_codes(backend, Randomize, n_bases + 1)
        return DrawnPatterns(backend, codes, given["queries"], given["length"], _LOOKED_UP)

    def keep(experiment: str, rows: list[dict]) -> None:
        tables.keep(output, experiment, name, rows)

    with gpu.errors():
        ceiling = roofline.Ceiling()
        if set(asked) - {"sizes"}:
            drawn = make_drawn(bases)
            if "designs" in asked:
                layouts, engine_names = given["names"] or ALL, given["engines"] or engines.CUDA
                keep("designs", designs(drawn, layouts, engine_names, ceiling, given["energy"]))
            if "blocks" in asked:
                layouts, engine_names = given["names"] or ALL, given["engines"] or engines.CUDA
                keep("blocks", by_block(drawn, layouts, engine_names))
            if "threads" in asked:
                layouts = given["names"] or ONE_STEP[:1]
                keep("threads", by_threads(drawn, layouts, engines.CUDA, ceiling))
            del drawn
        if "sizes" in asked:
            sizes = [bases // 16, bases // 8, bases // 4, bases // 2, bases, 2 * bases]
            keep("sizes", by_size(make_drawn, sizes, BY_SIZE, "cuda_full", ceiling))
