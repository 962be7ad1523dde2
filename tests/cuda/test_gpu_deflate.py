"""Blocks of BGZF made by a GPU: any reader of gzip and the headers of BGZF agree on what they hold.

In the simulator, where threads of a warp are Python's, blocks and sections are small.
"""

import gzip

import numpy as np
import pytest
from conftest import SIMULATED
from texts import random_letters

from fmx.codecs import bgzf, deflate_gpu
from fmx.codecs.bgzf import BGZF_END
from fmx.codecs.inflate import MOST_BITS, N_DISTANCES, N_LITERALS
from fmx.machines import gpu
from fmx.machines.gpu import GpuSession
from fmx.machines.gpu_jobs import KernelReport

BLOCK, SECTION = (300, 128) if SIMULATED else (bgzf.BLOCK, deflate_gpu.SECTION)
LETTERS = random_letters(BLOCK, "deflate").encode()
RANDOM = np.random.default_rng(8).integers(0, 256, BLOCK, np.uint8).tobytes()
RECORDS = b"".join(b"r%05d\0ACGTTGCA\0IIII%c" % (i * 7919 % 10**5, i % 251) for i in range(BLOCK // 20))
DATA = {  # and what share of it blocks are, at most
    "a byte": (b"A", 32),
    "letters, and a byte of another block": (LETTERS + b"A", 0.7),
    "records": (RECORDS, 0.82),
    "zeros, which copies that reach into themselves make": (bytes(BLOCK), 0.3),
    "a copy as long as can be": (RANDOM[:20] + LETTERS[:258] + LETTERS[:270], 0.65),
    "what cannot shrink": (RANDOM, 1 + 31 / BLOCK),
    "every length of a copy": (
        b"".join(RANDOM[:n] + b"%d" % n for n in range(4, 20 if SIMULATED else 260)),
        0.9,
    ),
}


@pytest.fixture
def device(monkeypatch):
    if SIMULATED:
        monkeypatch.setattr(deflate_gpu, "SECTION", SECTION)
        monkeypatch.setattr(deflate_gpu, "BLOCK", BLOCK)
    session = GpuSession()
    return session.run(deflate_gpu.GpuDeflater), gpu.GpuStream(session.clock, timed=False)


def deflated(device, data, **how) -> bytes:
    """The blocks."""
    deflater, stream = device
    there = gpu.to_device(np.frombuffer(data, np.uint8))
    return gpu.to_host(deflater.deflate(stream, there, KernelReport(stream), 20, **how)).tobytes()


def held_by(blocks) -> list:
    """Bytes of each block, by the lengths in their headers and at their ends."""
    sizes, at = [], 0
    while at < len(blocks):
        at += int.from_bytes(blocks[at + 16 : at + 18], "little") + 1
        sizes.append(int.from_bytes(blocks[at - 4 : at], "little"))
    return sizes


@pytest.mark.parametrize("name", DATA)
def test_blocks_hold_the_data(name, device):
    data, share = DATA[name]
    blocks = deflated(device, data, at_once=1)
    assert gzip.decompress(blocks + BGZF_END) == data
    n_whole, rest = divmod(len(data), BLOCK)
    assert held_by(blocks) == [BLOCK] * n_whole + [rest] * (rest > 0)
    assert len(blocks) <= share * len(data)


@pytest.mark.parametrize("seed", range(1 if SIMULATED else 60))
def test_any_mixture_is_held_and_its_bytes_are_the_same_again(seed, device):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(rng.integers(4, 9)):
        source = (RECORDS, RANDOM, LETTERS, bytes(BLOCK))[rng.integers(4)]
        start = rng.integers(len(source))
        parts.append(source[start : start + rng.integers(1, BLOCK // 4)])
    data = b"".join(parts)
    blocks = deflated(device, data)
    assert gzip.decompress(blocks + BGZF_END) == data
    assert blocks == deflated(device, data)


def lengths_of(counts) -> list:
    """Lengths of the codes of a block by its counts: of letters and lengths, of distances, of these."""
    stream = gpu.GpuStream(GpuSession().clock, timed=False)
    n, kinds = deflate_gpu.N_SECTIONS, (np.uint32, np.int32, np.uint32, np.uint32)
    sizes = n * deflate_gpu.SECTION, n, n, counts.size
    tokens = deflate_gpu.Tokens(*map(gpu.empty, sizes, kinds))
    codes = deflate_gpu.BlockCodes(gpu.empty(deflate_gpu.N_CODES, np.uint32), gpu.empty(2, np.int64))
    gpu.copy(counts.astype(np.uint32), tokens.counts, stream.handle)
    gpu.fill_zero(tokens.sums, stream.handle)
    deflate_gpu.codes_kernel[1, gpu.block_size(deflate_gpu.CODE_THREADS), stream.handle](
        tokens, bgzf.BLOCK, codes
    )
    found = stream.pinned_array("codes", deflate_gpu.N_CODES, np.uint32)
    stream.receive([codes.codes], [found])
    stream.wait()
    ends = [N_LITERALS, N_LITERALS + N_DISTANCES, deflate_gpu.N_SYMBOLS]
    return np.split(found.astype(np.int64) >> 16, ends)[:3]


def test_codes_are_as_long_as_deflate_allows_and_whole():
    counts, used = np.zeros(deflate_gpu.N_COUNTS, np.int64), 7 * np.arange(17)
    counts[used] = 2 ** np.arange(17)  # without a limit, their codes are of up to 17 bits
    counts[256] = counts[N_LITERALS + 3] = 1
    letters, distances, of_lengths = lengths_of(counts)
    assert letters.max() == MOST_BITS
    assert sum(0.5 ** letters[letters > 0]) == sum(0.5 ** of_lengths[of_lengths > 0]) == 1
    assert of_lengths.max() <= 7
    assert (letters > 0).tolist() == (counts[:N_LITERALS] > 0).tolist()
    assert (np.diff(letters[used]) <= 0).all()  # what occurs more often is not longer
    assert distances.tolist() == [0, 0, 0, 1] + [0] * 26
