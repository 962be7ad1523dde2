"""Entries per second that a device fetches from random places, by size of entry and of the array.

Each address depends on the entry fetched before, as in a search.  On the CPU each thread keeps many chains of
fetches in flight, as the engine does; for a GPU, see measure/roofline.py.  Results are kept beside the
compiled code.
"""

import hashlib
import json
import mmap
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from typing import Any

import numpy as np

from ..compiler import private
from ..compiler.functions import compiled, inlined
from ..compiler.primitives import prefetch
from ..index.plan import available_memory
from ..machines.threads import run_all
from ..measure import timing
from ..search.engines.cpu import N_SLOTS

LINE = 64  # bytes of a cache line
CPU_ENTRIES = (LINE, 2 * LINE, 4 * LINE)
CPU_FOOTPRINTS = tuple(2**e for e in (20, 23, 25, 27, 29, 31))
GPU_ENTRIES = (8, 16, 32, 64, 128, 256)
GPU_FOOTPRINTS = tuple(2**e for e in (25, 28, 30, 32, 35))
_N_STEPS = 20_000


@dataclass(frozen=True)
class Rates:
    """``device``: its name; ``table`` {bytes of an entry: {bytes of the array: entries per second}}."""

    device: str
    table: dict

    def seconds(self, entry: float, footprint: float) -> float:
        """Return the seconds of a fetch.

        Between measured entry sizes, interpolate linearly; a smaller entry costs as much as the smallest, a
        larger one is a multiple of the largest.  Between array sizes, interpolate by the logarithm; outside,
        use the nearest.
        """
        sizes = sorted(self.table)
        known = [(size, self._seconds(size, footprint)) for size in sizes]
        return max(1, entry / sizes[-1]) * _between(known, entry)

    def _seconds(self, size: int, footprint: float) -> float:
        known = sorted((log2(n_bytes), 1 / rate) for n_bytes, rate in self.table[size].items())
        return _between(known, log2(max(footprint, 1)))


def _between(known: Sequence[tuple[float, float]], x: float) -> float:
    """Interpolate at x between pairs (x, value) in ascending order; constant outside."""
    if x <= known[0][0]:
        return known[0][1]
    for (left, low), (right, high) in pairwise(known):
        if x <= right:
            return low + (high - low) * (x - left) / (right - left)
    return known[-1][1]


def measure_cpu(device: str, n_threads: int) -> Rates:
    """Measure the rates of ``n_threads`` threads together, with pages of 4 kB."""
    footprints = [n for n in CPU_FOOTPRINTS if n <= available_memory() // 4]
    memory = mmap.mmap(-1, footprints[-1])
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    words = np.frombuffer(memory, np.uint64)
    _fill(words)
    table = {
        entry: {n: _cpu_rate(words[: n // 8], entry // LINE, n_threads) for n in footprints}
        for entry in CPU_ENTRIES
    }
    return Rates(device, table)


def _cpu_rate(words: np.ndarray, n_lines: int, n_threads: int) -> float:
    chains = [np.arange(N_SLOTS, dtype=np.uint64) + np.uint64(N_SLOTS * i) for i in range(n_threads)]
    _chase(words, n_lines, chains[0], 10)  # compiles
    work = [(words, n_lines, chain, _N_STEPS) for chain in chains]
    return n_threads * N_SLOTS * _N_STEPS / timing.best(lambda: run_all(_chase, work, n_threads))


@inlined
def _mixed(x):
    """Hash a word cheaply, so that fetching dominates the time."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(27))


@compiled
def _fill(words):
    for i in range(words.size):
        words[i] = _mixed(np.uint64(i) + np.uint64(0x9E3779B97F4A7C15))


@compiled
def _chase(words, n_lines, chain, n_steps):
    """Make n_steps fetches in each chain, in turn; each step reads what the previous step prefetched."""
    n_entries = np.uint64(words.size // (8 * n_lines))
    for _ in range(n_steps):
        for slot in range(chain.size):
            first = np.int64(((chain[slot] >> np.uint64(32)) * n_entries) >> np.uint64(32)) * 8 * n_lines
            seen = np.uint64(0)
            for line in range(n_lines):
                seen ^= words[first + 8 * line]
            x = _mixed(chain[slot] ^ seen) + np.uint64(0x9E3779B97F4A7C15)
            chain[slot] = x
            following = np.int64(((x >> np.uint64(32)) * n_entries) >> np.uint64(32)) * 8 * n_lines
            for line in range(n_lines):
                prefetch(words, following + 8 * line)


def measure_gpu(device: str) -> Rates:
    """Measure the rates of the GPU that this thread has opened, 16 bytes per thread.  Raises DeviceError."""
    from ..machines import gpu
    from ..measure import roofline

    with gpu.errors():
        footprints = [n for n in GPU_FOOTPRINTS if n <= gpu.free_bytes() // 2]
        words = roofline.random_words(footprints[-1])
        table = {
            entry: {n: roofline.rate(words, n, entry // 16, together=True) for n in footprints}
            for entry in GPU_ENTRIES
        }
    return Rates(device, table)


# Measurements of a device, kept beside the compiled code: <cache>/fmx/tune/<device>.json.


class Store:
    """The file of one device; a file that is unreadable or was changed counts as empty."""

    def __init__(self, device: str) -> None:
        name = re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-").lower()
        base = private.base()
        self.device, self.path = device, base / "tune" / f"{name}.json" if base else None
        self._held: dict = {}
        try:
            held = json.loads(self.path.read_text()) if self.path else {}
            if held.pop("checksum", "") == _checksum(held):
                self._held = held
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):  # no such file, or no dict
            pass

    def rates(self, measure: Callable[[], Rates]) -> Rates:
        """Return the kept rates of the device, or else ``measure()``, which are then kept."""
        if "rates" not in self._held:
            found = measure()
            rows = [[entry, n, rate] for entry, row in found.table.items() for n, rate in row.items()]
            self._keep("rates", rows)
        table: dict = {}
        for entry, n, rate in self._held["rates"]:
            table.setdefault(entry, {})[n] = rate
        return Rates(self.device, table)

    def result(self, question: str) -> dict | None:
        """Return the kept result of a question, if any."""
        return self._held.get("results", {}).get(question)

    def keep_result(self, question: str, result: dict) -> dict:
        """Keep a result, with the date."""
        result = {**result, "date": time.strftime("%Y-%m-%d")}
        self._keep("results", {**self._held.get("results", {}), question: result})
        return result

    def _keep(self, key: str, value: Any) -> None:
        self._held[key] = value
        if self.path:
            data = json.dumps({**self._held, "checksum": _checksum(self._held)}, indent=1) + "\n"
            private.write(self.path.parent, self.path.name, data.encode(), alone=False)


def _checksum(held: dict) -> str:
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:16]
