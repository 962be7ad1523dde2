"""Searching reads that an index holds, to see how long it takes: a choice tried on an index, nothing else."""

import numpy as np

from ..errors import FmxError, UnsupportedError
from ..index.disk import store
from ..index.fm_index import load
from ..index.parts import part_arrays
from ..input.reads import Patterns
from ..machines.jobs import ONE_CORE
from ..measure.texts import cut, places, search
from ..search import engines
from ..search.mapping import make_query

N_READS = {"cpu": 200_000, "cuda": 4_000_000}  # a thread of the CPU, a GPU


def reads_per_second(path, choice, length, n_threads) -> dict:
    """{engine: reads a second}: searches for reads of ``length`` bases, one strand, in the index at ``path``.

    On a GPU by every engine that can, whatever the choice says.  Raises FmxError if a read is not found or no
    contig is that long.
    """
    way = {"method": "verify"} if choice.way == "verify" else {"layout": choice.way}
    fm_index = load(path, n_threads=n_threads, **way)
    is_cpu = choice.engine == "cpu"
    patterns = draw(fm_index, N_READS["cpu"] * n_threads if is_cpu else N_READS["cuda"], length)
    spent: dict = {}
    for part in fm_index.parts:
        query = make_query(part)
        found = {"cpu": search(query, patterns, n_threads)} if is_cpu else _on_gpu(query, patterns)
        for engine, (intervals, seconds) in found.items():
            if part is fm_index.parts[0] and not (intervals.lo < intervals.hi).all():
                raise FmxError(f"{path}: reads of the text itself are not found: the search is wrong")
            spent[engine] = spent.get(engine, 0) + seconds
    return {engine: patterns.length.size / seconds for engine, seconds in spent.items()}


def draw(fm_index, n, length) -> Patterns:
    """n strings of the first part of an index, packed."""
    blocks = fm_index.parts[0].reference.blocks
    block, offset = places(blocks, length, n, np.random.default_rng(1))
    words, _ = store.read_array(fm_index.path, fm_index.meta, part_arrays(fm_index.meta, 0)["text_words"])
    return cut(ONE_CORE, words, blocks.text_start[block] + offset, length)


def _on_gpu(query, patterns) -> dict:
    """{engine: (Intervals, seconds by events)}; reads and index lie on the device."""
    from ..machines import gpu
    from ..measure import gpu_timing
    from ..search.gpu import gpu_search
    from ..search.hits import Intervals

    spent = {}
    with gpu.errors():
        form = gpu_search.choose([query], gpu.free_bytes())
        on_gpu = gpu_search.bring(query, form), gpu_search.upload(patterns)
        for engine in engines.CUDA:
            try:
                launch = engines.prepare(engine, query)
            except UnsupportedError:
                continue
            found = Intervals(*(gpu.zeros(patterns.length.size, np.uint32) for _ in Intervals._fields))
            seconds = gpu_timing.seconds(lambda go=launch, to=found: go(*on_gpu, to))
            spent[engine] = Intervals(*map(gpu.to_host, found)), seconds
    return spent
