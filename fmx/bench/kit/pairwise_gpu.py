"""GPU parts of fmx bench pairwise: the paper's figures 8 to 11 and tables 4 and 5 on this device."""

import statistics
import time

import numpy as np

from ...align.cuda.lazy import run_lazy
from ...align.cuda.packed import Doubles, gain_words, packed_kernel, pair_up
from ...align.scoring import Scoring
from ...align.sequences import Sequences
from ...compiler.cuda import add_max_u16x2, cuda, fresh_kernel, max_u16x2, permute_bytes
from ...machines.gpu import n_multiprocessors
from .dscan import run_dscan
from .pairwise_batch import global_bytes, make_batch, matrix_starts, shared_bytes
from .rscan import run_rscan
from .tiled import run_tiled

GAINS = Scoring().gains
MATRIX_BYTES = 24 << 30  # of matrices in a batch, at most


def random_sequences(n, length, seed=1):
    """n random sequences of one length."""
    codes = np.random.default_rng(seed).integers(0, 4, n * length).astype(np.uint8)
    return Sequences(codes, np.arange(n + 1, dtype=np.int64) * length)


def timed(function, n_runs=3):
    """Median seconds of ``function()`` with the device idle before and after; one run uncounted."""
    seconds = []
    for _ in range(n_runs + 1):
        cuda.synchronize()
        start = time.perf_counter()
        function()
        cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def row(part, name, seconds, pairs, length, **more):
    """One measurement."""
    return {
        "part": part,
        "name": name,
        **more,
        "pairs": pairs,
        "length": length,
        "seconds": seconds,
        "pairs_per_s": pairs / seconds,
        "gcells_per_s": pairs * length * length / seconds / 1e9,
    }


class Matrices:
    """A batch of equal pairs with room for whole matrices."""

    def __init__(self, n_pairs, length):
        self.n, self.length = n_pairs, length
        queries, targets = random_sequences(n_pairs, length), random_sequences(n_pairs, length, 2)
        index = np.arange(n_pairs)
        self.batch = make_batch(queries, targets, index, index, GAINS)
        self.starts = cuda.to_device(matrix_starts(queries, targets, index, index))
        self.matrix = cuda.device_array(n_pairs * length * length + 1, np.int32)

    def run(self, kernel, block=0, k=32, stream=0):
        longest = self.length, self.length
        if kernel == "tiled":
            run_tiled(self.batch, self.starts, self.matrix, longest, self.n, k, stream)
        elif kernel == "dscan":
            run_dscan(self.batch, self.starts, self.matrix, longest, self.n, block or 512, stream=stream)
        else:
            run_rscan(self.batch, self.starts, self.matrix, self.n, block or 32, k, stream)


def _lazy(n_pairs, length, block, k, n_runs=3):
    queries, targets = random_sequences(4096, length), random_sequences(4096, length, 2)
    index = np.arange(n_pairs) % 4096
    batch = make_batch(queries, targets, index, np.roll(index, 1), GAINS)
    column = cuda.device_array(global_bytes("lazy", n_pairs, length) // 4, np.int32)
    out = cuda.device_array(n_pairs, np.int32)
    return timed(lambda: run_lazy(batch, column, out, n_pairs, block, k), n_runs)


def _packed(length, k, registers, block, waves=4, n_runs=3):
    """(seconds, pairs, registers, threads) of the packed kernel at full occupancy."""
    kernel = packed_kernel(k, registers)
    queries, targets = random_sequences(2048, length), random_sequences(2048, length, 2)
    tiny = random_sequences(1, 8)

    def arguments(s, t, query, target, n_threads, n_rows):
        query, first, second, _ = pair_up(query, target)
        words = np.append(gain_words(s.codes, GAINS), np.uint32(0))
        arrays = (words, s.starts, np.append(t.codes, np.uint8(0)), t.starts, query, first, second)
        column = cuda.device_array((n_rows + 1) * n_threads, np.uint32)
        out = cuda.device_array(query.size, np.uint32)
        return Doubles(*map(cuda.to_device, arrays)), np.uint32(GAINS[1]), column, out, query.size

    zeros = np.zeros(2, np.int64)
    kernel[1, block](*arguments(tiny, tiny, zeros, zeros, block, 8))
    used = max(kernel.get_regs_per_thread().values())
    per_sm = min(2048 // block, 65536 // (-(-used // 8) * 8 * block))
    blocks = n_multiprocessors() * per_sm
    n_pairs = 2 * blocks * block * waves
    query = np.sort(np.arange(n_pairs) // 2 % 2048)
    target = (np.arange(n_pairs) * 7) % 2048
    call = arguments(queries, targets, query, target, blocks * block, length)
    return timed(lambda: kernel[blocks, block](*call), n_runs), n_pairs, used, blocks * block


def peak():
    """Instructions a second (lanes counted) of the packed kernel's three, each alone."""

    def make(step):
        def run(out, n):
            x = cuda.grid(1)
            a, b = np.uint32(x), np.uint32(x * 3)
            c, d = np.uint32(x * 5), np.uint32(x * 7)
            for _ in range(n):
                for _ in range(8):
                    a, b, c, d = step(a, b), step(b, c), step(c, d), step(d, a)
            out[x] = max_u16x2(max_u16x2(a, b), max_u16x2(c, d))

        return fresh_kernel(run)

    steps = {
        "VIMNMX.U16x2": cuda.jit(device=True)(lambda x, y: max_u16x2(x, y)),
        "VIADDMNMX.U16x2": cuda.jit(device=True)(lambda x, y: add_max_u16x2(x, y, y)),
        "PRMT": cuda.jit(device=True)(lambda x, y: permute_bytes(x, y, y)),
    }
    rows = []
    blocks, block, n = n_multiprocessors() * 8, 256, 2000
    out = cuda.device_array(blocks * block, np.uint32)
    for name, step in steps.items():
        kernel = make(step)
        seconds = timed(lambda kernel=kernel: kernel[blocks, block](out, n))
        rows.append({"part": "peak", "name": name, "gops_per_s": blocks * block * n * 32 / seconds / 1e9})
    return rows


def kernels(lengths=(256, 512, 1024, 1536, 2048)):
    """Figures 8 and 9: the kernels on sequences of several lengths, batches as large as memory allows."""
    rows = []
    for length in lengths:
        n = min(MATRIX_BYTES // (4 * length * length), 16384)
        m = Matrices(n, length)
        for name, block, k in (
            ("tiled", 0, 32), ("tiled", 0, 64), ("dscan", 128, 0), ("dscan", 256, 0), ("dscan", 512, 0),
            ("rscan", 32, 32), ("rscan", 64, 32),
        ):  # fmt: skip
            seconds = timed(lambda m=m, name=name, block=block, k=k: m.run(name, block, k), 1)
            rows.append(row("kernels", name, seconds, n, length, block=block, k=k))
        n = 132 * 1024
        rows.append(row("kernels", "lazy", _lazy(n, length, 128, 18, 1), n, length, block=128, k=18))
        seconds, pairs, _, _ = _packed(length, 48, 168, 384, waves=2, n_runs=3)
        rows.append(row("kernels", "packed", seconds, pairs, length, block=384, k=48))
    return rows


def batches(length=1536, sizes=(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)):
    """Figures 8 and 10b: pairs at a time."""
    rows = []
    for n in sizes:
        m = Matrices(n, length)
        for name in ("tiled", "dscan", "rscan"):
            seconds = timed(lambda m=m, name=name: m.run(name), 1)
            rows.append(row("batches", name, seconds, n, length))
    return rows


def copies(length=1536, n=128, n_batches=6):
    """Figure 10a: DScan with its matrices copied out: pageable, pinned, pinned and double-buffered."""
    m = Matrices(n, length)
    halves = [Matrices(n // 2, length) for _ in range(2)]
    pageable = np.empty(m.matrix.size, np.int32)
    pinned = cuda.pinned_array(m.matrix.size, np.int32)
    rows = []
    for name, host in (("pageable", pageable), ("pinned", pinned)):

        def run(host=host):
            for _ in range(n_batches // 2):
                m.run("dscan")
                m.matrix.copy_to_host(host)

        rows.append(row("copies", name, timed(run, 1), n * (n_batches // 2), length))
    streams = [cuda.stream(), cuda.stream()]
    parts = [pinned[: halves[0].matrix.size], pinned[m.matrix.size - halves[1].matrix.size :]]

    def double():
        for i in range(n_batches):
            half = halves[i % 2]
            half.run("dscan", stream=streams[i % 2])
            half.matrix.copy_to_host(parts[i % 2], streams[i % 2])

    rows.append(row("copies", "double-buffered", timed(double, 1), n // 2 * n_batches, length))
    return rows


def slices(length=1536):
    """Table 4 and figure 11: block and slice size of LazyRScan; k and registers of the packed kernel."""
    rows = []
    for block in (32, 64, 128, 256, 512):
        for k in (4, 8, 12, 18, 37, 75):
            if shared_bytes("lazy", k, block) <= 48 << 10:
                n = 132 * 512
                rows.append(row("slices", "lazy", _lazy(n, length, block, k, 1), n, length, block=block, k=k))
    for k, registers, block in (
        (8, None, 128), (16, 64, 128), (16, None, 128), (24, None, 128), (24, 96, 128), (32, None, 128),
        (32, 112, 128), (32, 128, 128), (32, 112, 64), (32, 112, 256), (40, 128, 128), (48, 168, 128),
        (48, 168, 384), (64, 224, 256),
    ):  # fmt: skip
        seconds, pairs, used, threads = _packed(length, k, registers, block, waves=2, n_runs=2)
        more = {"block": block, "k": k, "registers": used, "threads": threads}
        rows.append(row("slices", "packed", seconds, pairs, length, **more))
    return rows
