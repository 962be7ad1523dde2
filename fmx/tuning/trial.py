"""Searching reads that an index holds, to see how long it takes: a choice tried on an index, nothing else."""

import time
from functools import partial

import numpy as np

from ..compiler.functions import compiled
from ..errors import FmxError, UnsupportedError
from ..index import store
from ..index.fm_index import load
from ..index.parts import part_arrays
from ..input.dna import WORD, symbols
from ..input.reads import Patterns
from ..machines.threads import run_all, spans
from ..search import engines
from ..search.engines import cpu
from ..search.mapper import make_query

N_READS = {"cpu": 200_000, "cuda": 4_000_000}  # a thread of the CPU, a GPU
_RUNS = 3
_PIECE = 8192  # reads that a thread takes at a time


def reads_per_second(path, choice, length, n_threads) -> dict:
    """{engine: reads a second}: searches for reads of ``length`` bases, one strand, in the index at ``path``.

    On a GPU by every engine that can, whatever the choice says.  Raises FmxError if a read is not found or no
    contig is that long.
    """
    way = {"method": "verify"} if choice.way == "verify" else {"layout": choice.way}
    fm_index = load(path, n_threads=n_threads, **way)
    is_cpu = choice.engine == "cpu"
    n = N_READS["cpu"] * n_threads if is_cpu else N_READS["cuda"]
    patterns = draw(fm_index, n, length)
    spent: dict = {}
    for number, part in enumerate(fm_index.parts):
        found = (
            {"cpu": _on_cpu(part, patterns, n_threads, number)} if is_cpu else _on_gpu(part, patterns, number)
        )
        for engine, seconds in found.items():
            spent[engine] = spent.get(engine, 0) + seconds
    return {engine: patterns.length.size / seconds for engine, seconds in spent.items()}


def draw(fm_index, n, length) -> Patterns:
    """n strings of the first part of an index, packed."""
    blocks = fm_index.parts[0].reference.blocks
    rooms = np.maximum(blocks.length - length + 1, 0)
    if not rooms.sum():
        raise FmxError(f"{fm_index.path}: no contig holds {length} bases in a row: give a smaller --length")
    name = part_arrays(fm_index.meta, 0)["text_words"]
    words = store.read_array(fm_index.path, fm_index.meta, name)
    edges = np.append(0, np.cumsum(rooms))
    drawn = np.random.default_rng(1).integers(0, edges[-1], n)
    block = np.searchsorted(edges, drawn, "right") - 1
    n_words = -(-length // WORD)
    patterns = Patterns(
        np.zeros(n * n_words + 1, np.uint64), np.arange(n) * n_words, np.full(n, length, np.int64)
    )
    _pack(words, blocks.text_start[block] + drawn - edges[block], patterns)
    return patterns


@compiled
def _pack(words, positions, patterns):
    for i in range(positions.size):
        for start in range(0, patterns.length[i], WORD):
            k = min(WORD, patterns.length[i] - start)
            word = symbols(words, 0, positions[i] + start, k) << np.uint64(2 * (WORD - k))
            patterns.words[patterns.first[i] + (start >> 5)] = word


def _check(part, found, number) -> None:
    if number == 0 and not (found.lo < found.hi).all():
        raise FmxError(f"{part.path}: reads of the text itself are not found: the search is wrong")


def _on_cpu(part, patterns, n_threads, number) -> float:
    """Seconds of the best run."""
    query = make_query(part)
    pieces = [
        (query, Patterns(patterns.words, patterns.first[a:b], patterns.length[a:b]))
        for a, b in spans(patterns.length.size, max(n_threads, patterns.length.size // _PIECE))
    ]
    _check(part, cpu.search(*pieces[0]), number)
    best = np.inf
    for _ in range(_RUNS):
        start = time.perf_counter()
        run_all(cpu.search, pieces, n_threads)
        best = min(best, time.perf_counter() - start)
    return best


def _on_gpu(part, patterns, number) -> dict:
    """{engine: seconds of the best run}, by events; reads and index lie on the device."""
    from ..machines import gpu
    from ..search import gpu_search
    from ..search.hits import Intervals

    query, spent = make_query(part), {}
    with gpu.errors():
        on_device = gpu_search.upload(query), gpu_search.upload(patterns)
        for engine in engines.CUDA:
            try:
                launch = engines.prepare(engine, query)
            except UnsupportedError:
                continue
            found = Intervals(*(gpu.zeros(patterns.length.size, np.uint32) for _ in Intervals._fields))
            launch(*on_device, found)
            _check(part, Intervals(*(gpu.to_host(array) for array in found)), number)
            runs = [gpu.timed(partial(launch, *on_device, found)) for _ in range(_RUNS)]
            spent[engine] = min(runs)
    return spent
