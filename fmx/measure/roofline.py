"""Roofline: how many random entries per second a GPU fetches."""

from typing import Any

import numpy as np

from ..compiler.functions import by_type, static_type
from ..compiler.primitives import load_unit
from ..compiler.warp import add_across, kernel, thread_index
from ..machines import gpu
from .gpu_timing import launch, seconds
from .texts import below, scramble

GROUPS = (1, 2, 4, 8, 16)  # units of 16 bytes
CELLS: dict = {n: static_type(f"Cells{n}", "words n", __name__) for n in GROUPS}
BLOCK_THREADS, GB = 256, 10**9
# Blocks per multiprocessor: all threads are active from the first to the last step.
_PER_MULTIPROCESSOR = 2048 // BLOCK_THREADS


@by_type
def cell_units(cells):
    """Return the units of a cell, a constant of its type."""


def _register(cls: type, n: int) -> None:
    @cell_units.register(cls)
    def lanes_of_cell(cells):
        return n


for _n, _cls in CELLS.items():
    _register(_cls, _n)


@kernel
def fill_kernel(words, seed):
    """Fill ``words`` uint64[n] with pseudorandom values, one thread per word."""
    i = thread_index()
    if i < words.size:
        words[i] = scramble(np.uint64(i) ^ np.uint64(seed))


@kernel
def together_kernel(cells, apart, n_steps, out):
    """A group of threads fetches a cell (of uint64), 16 bytes per thread.

    Cells begin ``apart`` units from one another. ``out`` uint64[1] keeps the compiler from removing the work.
    """
    size, thread = np.int64(cell_units(cells)), thread_index()
    x = scramble(thread // size)
    for _ in range(n_steps):
        a, b = load_unit(cells.words, 2 * (below(x, cells.n) * apart + (thread & (size - 1))))
        seen = np.int64((a ^ b) & np.uint64(0xFFFFFFFF))
        for step in range(4):
            if (1 << step) < size:
                seen = add_across(seen, seen, 1 << step)
        x = scramble(x ^ np.uint64(seen))
    if x == np.uint64(1):
        out[0] = x


@kernel
def alone_kernel(cells, n_steps, out):
    """Each thread fetches a cell, 16 bytes at a time; otherwise as together_kernel."""
    size = np.int64(cell_units(cells))
    x = scramble(thread_index())
    for _ in range(n_steps):
        word, seen = 2 * below(x, cells.n) * size, np.uint64(0)
        for unit in range(size):
            a, b = load_unit(cells.words, word + 2 * unit)
            seen ^= a ^ b
        x = scramble(x ^ seen)
    if x == np.uint64(1):
        out[0] = x


@kernel
def word_kernel(cells, n_steps, out):
    """Each thread fetches a cell of 8 bytes; otherwise as together_kernel."""
    x = scramble(thread_index())
    for _ in range(n_steps):
        x = scramble(x ^ cells.words[below(x, cells.n)])
    if x == np.uint64(1):
        out[0] = x


def random_words(n_bytes: int) -> Any:
    """Return pseudorandom words on the device."""
    words = gpu.empty(n_bytes // 8, np.uint64)
    launch(fill_kernel, words.size, words, np.uint64(5))
    return words


def rate(words: Any, n_bytes: int, n_units: int, together: bool, apart: int | None = None) -> float:
    """Return how many entries are fetched per second from the first n_bytes of ``words``.

    An entry has 16 n_units bytes, or 8 bytes for n_units = 0.

    Entries that are fetched ``together`` may overlap: they begin every ``apart`` units (None: one after the
    other).
    """
    entry, apart = 16 * n_units or 8, apart or n_units
    n_cells = n_bytes // entry if apart == n_units else (n_bytes - entry) // (16 * apart)
    cells = CELLS[max(n_units, 1)](words, n_cells)
    function = word_kernel if n_units == 0 else together_kernel if together else alone_kernel
    arguments = (cells, apart) if function is together_kernel else (cells,)
    n_blocks = _PER_MULTIPROCESSOR * gpu.n_multiprocessors()
    n_steps = 3000 if not together or n_units < 4 else 1500 * n_units
    out = gpu.zeros(1, np.uint64)
    spent = seconds(lambda: function[n_blocks, BLOCK_THREADS](*arguments, n_steps, out))
    return n_blocks * BLOCK_THREADS * n_steps / (max(n_units, 1) if together else 1) / spent


class Ceiling:
    """Entries per second that the device fetches, by units that threads fetch together; measured on demand.

    Measures in at most ``largest`` bytes, which are freed afterwards.
    """

    def __init__(self, largest: int = 32 * GB) -> None:
        self.largest = largest
        self.known: dict[tuple, float] = {}

    def __call__(self, entry: int, n_bytes: int, apart: int = GROUPS[-1]) -> float:
        """Return entries of ``entry`` bytes per second from ``n_bytes``.

        They begin at multiples of ``apart`` units.

        Sizes between 16 2^i bytes are interpolated by their times.
        """
        n_units = max(1, -(-entry // 16))
        small = 1 << (n_units.bit_length() - 1)
        if small >= GROUPS[-1]:
            return self._measured(GROUPS[-1], n_bytes, apart) * 16 * GROUPS[-1] / entry
        share = (n_units - small) / small
        seconds = (1 - share) / self._measured(small, n_bytes, apart)
        return 1 / (seconds + (share / self._measured(2 * small, n_bytes, apart) if share else 0))

    def _measured(self, n_units: int, n_bytes: int, apart: int) -> float:
        n_bytes, apart = min(n_bytes, self.largest), min(apart, n_units)
        key = n_units, apart, round(n_bytes / GB, 2)
        if key not in self.known:
            self.known[key] = rate(random_words(n_bytes), n_bytes, n_units, together=True, apart=apart)
        return self.known[key]


def table(footprints: list[int]) -> list:
    """Return a row for each entry size, group and footprint (bytes)."""
    words, rows = random_words(max(footprints)), []
    for n_units in (0, *GROUPS):
        for together in (False, True) if n_units > 1 else (False,):
            for n_bytes in footprints:
                speed, entry = rate(words, n_bytes, n_units, together), 16 * n_units or 8
                row = {"entry B": entry, "threads": n_units if together else 1, "footprint GB": n_bytes / GB}
                rows.append(row | {"G entries/s": speed / 1e9, "GB/s": speed * entry / 1e9})
    return rows
