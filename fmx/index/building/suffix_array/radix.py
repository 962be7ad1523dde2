"""Suffix arrays by radix sort and prefix doubling, in the stretches of machines/jobs.py, as used on a GPU.

    passes   sort the suffixes by their first 21 symbols, 3 bits each, in as many passes as memory requires;
             the rank of a suffix is the first row of those with the same symbols so far
    rounds   h = 21, 42, 84 ...: sort tied suffixes by their rank and the rank of the suffix h further on;
             suffixes that remain tied share their first 2 h symbols

A round touches only the tied rows, and writes rows and ranks in place (Larsson and Sadakane 2007, "Faster
suffix sorting"), so repeats of m symbols end after log2(m / 21) rounds.  The tied rows are kept in order, and
the rank of a group is its first row: a sort by rank puts each suffix in a row of its group.
"""

import numpy as np

from ....compiler.functions import by_type, inlined
from ....compiler.primitives import at
from ....errors import DeviceError
from ....input import dna
from ....input.dna import PER_KEY, key_at
from ....machines.gpu import memory_beside
from ....machines.jobs import Array, Backend, choose, do
from ....machines.progress import Progress

_SAMPLE = 1 << 16  # suffixes by which the passes are cut
# Bytes per symbol: text, its words, rows, ranks, tied rows before and after a round; bytes per suffix to
# sort.
_STANDING, _SORTED = 1 + 8 / 21 + 4 + 4 + 8, 2 * (8 + 4)


@by_type
def row_of(rows, j):
    """Return the row of thing j."""


@row_of.of("first")
def RowRange(rows, j):
    """The rows from ``first`` on."""
    return rows.first + j


@row_of.of("rows")
def RowList(rows, j):
    """A list of ``rows`` uint32, ascending."""
    return np.int64(at(rows.rows, j))


@inlined
def _first_like(keys, j):
    """Return the first index with the key of j; keys ascend.  Fast if it is near."""
    key, step = at(keys, j), np.int64(1)
    while step <= j and at(keys, j - step) == key:
        step <<= 1
    high, low = j - (step >> 1), max(j - step, np.int64(-1))
    while high - low > 1:
        middle = (high + low) >> 1
        if at(keys, middle) == key:
            high = middle
        else:
            low = middle
    return high


@choose.of("words low high")
def InRange(choice, i):
    """Choose the suffixes whose first symbols are a key from ``low`` to ``high``, both included (uint64)."""
    key = key_at(choice.words, i, PER_KEY)
    return i if choice.low <= key and key <= choice.high else np.int64(-1)


@choose.of("keys rows")
def Tied(choice, j):
    """Choose the rows whose key another row also has."""
    keys = choice.keys
    before = j > 0 and at(keys, j - 1) == at(keys, j)
    after = j + 1 < keys.size and at(keys, j + 1) == at(keys, j)
    return row_of(choice.rows, j) if before or after else np.int64(-1)


@do.of("words positions keys")
def FirstKeys(job, stretch, start, stop):
    """Set ``keys`` uint64 to the first symbols of suffixes at ``positions`` uint32."""
    for j in range(start, stop):
        job.keys[j] = key_at(job.words, np.int64(at(job.positions, j)), PER_KEY)


@do.of("rows sa rank h n_bits positions keys")
def RankKeys(job, stretch, start, stop):
    """Make keys of a round: the rank of each row's suffix and of that h further on, ``n_bits`` each."""
    for j in range(start, stop):
        position = np.int64(at(job.sa, np.int64(at(job.rows, j))))
        further = position + job.h
        second = np.uint64(0)  # nothing is left: sorts before all others
        if further < job.sa.size:
            second = np.uint64(at(job.rank, further)) + np.uint64(1)
        job.keys[j] = (np.uint64(at(job.rank, position)) << np.uint64(job.n_bits)) | second
        job.positions[j] = position


@do.of("keys positions rows sa rank")
def PlaceSorted(job, stretch, start, stop):
    """Write sorted ``keys`` and ``positions`` of some rows to ``sa`` and ``rank``."""
    for j in range(start, stop):
        position = at(job.positions, j)
        job.sa[row_of(job.rows, j)] = position
        job.rank[position] = row_of(job.rows, _first_like(job.keys, j))


def plan_passes(n: int, memory: int) -> int:
    """Return how many passes sort n suffixes within ``memory`` bytes.  Raises DeviceError if too few."""
    least = _SORTED * max(n // 64, 1)
    left = memory_beside(memory, int(_STANDING * n), least, f"the suffix array of {n} symbols")
    return -(-_SORTED * n // left)


def _cuts(backend: Backend, words: Array, n: int, n_passes: int) -> list:
    """Return ranges of keys (low, high) with about as many suffixes each, from a sample of the text."""
    everything = np.uint64(1 << 63)
    if n_passes == 1:
        return [(np.uint64(0), everything)]
    chosen = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.uint32)
    keys = backend.empty(chosen.size, np.uint64)
    backend.run(FirstKeys(words, backend.take(chosen), keys), chosen.size)
    ascending = np.sort(backend.to_host(keys))
    n_ranges = n_passes + -(-n_passes // 4)  # a margin for the error of the sample
    highs = np.unique(ascending[np.arange(1, n_ranges) * chosen.size // n_ranges])
    return list(zip([np.uint64(0), *(highs + np.uint64(1))], [*highs, everything], strict=True))


def sort_suffixes(backend: Backend, text: Array, memory: int, progress: Progress | None = None) -> tuple:
    """Return (sa uint32[n], number of rounds) of ``text`` (uint8[n] codes, not empty), all on the backend.

    The end of the text sorts before every symbol, as in divsufsort.  ``memory`` in bytes, text included.
    Raises DeviceError if that is too little.
    """
    n = text.size
    n_passes = plan_passes(n, memory)
    limit = min(n, int(memory - _STANDING * n) // _SORTED)
    words = dna.pack_keys(backend, text)
    sa, rank = (backend.empty(n, np.uint32) for _ in range(2))
    keys, spare_keys = (backend.empty(limit, np.uint64) for _ in range(2))
    positions, spare_positions = (backend.empty(limit, np.uint32) for _ in range(2))

    def sort(m: int, n_bits: int, rows: Array) -> Array:
        """Sort m keys and positions into ``rows`` (RowRange, RowList); return the tied rows."""
        spare = spare_keys[:m], spare_positions[:m]
        sorted_keys, by_key = backend.sort_pairs(keys[:m], positions[:m], *spare, n_bits)
        backend.run(PlaceSorted(sorted_keys, by_key, rows, sa, rank), m)
        return backend.select(Tied(sorted_keys, rows), m)

    tied, n_sorted = [], 0
    for low, high in _cuts(backend, words, n, n_passes):
        chosen = InRange(words, low, high)
        ends = backend.count(chosen, n)
        m = int(ends[-1])
        if m > limit:
            raise DeviceError(
                f"{m} suffixes begin alike, but only {limit} fit in memory: raise --gpu-memory, or use "
                "--engine cpu"
            )
        if m == 0:
            continue
        backend.pick(chosen, n, ends, positions[:m])
        backend.run(FirstKeys(words, positions[:m], keys[:m]), m)
        tied.append(sort(m, 3 * PER_KEY, RowRange(np.int64(n_sorted))))
        n_sorted += m
    del words, chosen
    n_bits, h, n_rounds = n.bit_length(), PER_KEY, 0
    while tied := [rows for rows in tied if rows.size]:
        if progress:
            n_tied = sum(rows.size for rows in tied)
            progress.show(f"suffix array: {n_tied} of {n} suffixes share {h} symbols with another")
        remaining = []
        for rows in tied:
            m, by_rank = rows.size, (rows, sa, rank, np.int64(h), np.int64(n_bits))
            backend.run(RankKeys(*by_rank, positions[:m], keys[:m]), m)
            remaining.append(sort(m, 2 * n_bits, RowList(rows)))
        tied, h, n_rounds = remaining, 2 * h, n_rounds + 1
    return sa, n_rounds
