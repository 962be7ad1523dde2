"""The same searches on this machine's CPU, for comparison."""

import time

import numpy as np

from ...index.prefix_table import PrefixTable
from ...input.reads import Patterns
from ...machines import gpu
from ...machines.threads import run_all, spans
from ...search import gpu_search
from ...search.engines import cpu
from ...search.queries import Exact
from . import device_index as indexes

NAMES = ("sampled-k1-d64", "kstep-k2-d64", "bvsfm-k2-d96")
N_PATTERNS = 2 * 10**6


def table(bench, n_threads) -> list:
    """Bases a second by the CPU engine and all threads, for some layouts."""
    n = min(N_PATTERNS, bench.n_patterns)
    n_words = -(-bench.length // 32)
    patterns = Patterns(
        gpu.to_host(bench.patterns.words)[: n * n_words + 1],
        np.arange(n, dtype=np.int64) * n_words,
        np.full(n, bench.length, np.int64),
    )
    prefix = PrefixTable(gpu.to_host(bench.prefix.pairs), bench.prefix.q)
    rows = []
    for name in NAMES:
        query = Exact(prefix, gpu_search.download(indexes.make_layout(bench.machine, bench.text, name)))
        parts = [
            (query, Patterns(patterns.words, patterns.first[a:b], patterns.length[a:b]))
            for a, b in spans(n, 8 * n_threads)
        ]
        spent = []
        for _ in range(3):
            start = time.perf_counter()
            run_all(cpu.search, parts, n_threads)
            spent.append(time.perf_counter() - start)
        best = {"layout": name, "engine": "cpu", "threads": n_threads}
        rows.append(best | {"Gbases/s": n * bench.length / min(spent) / 1e9})
    return rows
