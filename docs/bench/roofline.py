"""Roofline: how many random entries per second a GPU fetches."""

from typing import Any

import click
import numpy as np
import runner
from peers import COUNT
from synthetic import below, scramble

from fmx.compiler.functions import by_type, static_type
from fmx.compiler.primitives import load_unit
from fmx.compiler.warp import add_across, kernel, thread_index
from fmx.machines import gpu

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
def together_kernel(cells, n_steps, out):
    """A group of threads fetches a cell (of uint64), 16 bytes per thread.

    ``out`` uint64[1] keeps the compiler from removing the work.
    """
    size, thread = np.int64(cell_units(cells)), thread_index()
    x = scramble(thread // size)
    for _ in range(n_steps):
        a, b = load_unit(cells.words, 2 * (below(x, cells.n) * size + (thread & (size - 1))))
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
    fill_kernel[-(-words.size // BLOCK_THREADS), BLOCK_THREADS](words, np.uint64(5))
    return words


def rate(words: Any, n_bytes: int, n_units: int, together: bool) -> float:
    """Return how many entries are fetched per second from the first n_bytes of ``words``.

    An entry has 16 n_units bytes, or 8 bytes for n_units = 0.
    """
    cells = CELLS[max(n_units, 1)](words, n_bytes // (16 * n_units or 8))
    function = word_kernel if n_units == 0 else together_kernel if together else alone_kernel
    n_blocks = _PER_MULTIPROCESSOR * gpu.n_multiprocessors()
    n_steps = 3000 if not together or n_units < 4 else 1500 * n_units
    out = gpu.zeros(1, np.uint64)
    spent = runner.gpu_seconds(lambda: function[n_blocks, BLOCK_THREADS](cells, n_steps, out))
    return n_blocks * BLOCK_THREADS * n_steps / (max(n_units, 1) if together else 1) / spent


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


@click.command("roofline")
@click.option("--largest", type=COUNT, default="64G", show_default=True, help="Most bytes of memory.")
@click.option("--device", type=int, default=0, help="Number of the GPU.")
@runner.common
def roofline_command(largest: int, device: int, output: str, **_: Any) -> None:
    """Measure random access to the memory of a GPU: figures 3 and 10 of Chacon et al. 2015."""
    name = runner.open_gpu(device)
    with gpu.errors():
        rows = table([n for e in range(-2, 7) if (n := int(GB * 2.0**e)) <= largest])
    runner.keep(output, "roofline", name, rows)
