"""Blocks of BGZF inflated by a GPU: what they hold, and that damage is noticed, whatever it is."""

import zlib

import numpy as np
import pytest
from output_of import bgzf
from texts import random_letters

from fmx.codecs import bgzf as deflate
from fmx.codecs.inflate_gpu import SLACK, Inflater
from fmx.machines.gpu import GpuSession, GpuStream
from fmx.machines.gpu_jobs import KernelReport

LETTERS = random_letters(700, "inflate").encode()
TEXTS = {
    "letters": LETTERS,
    "nothing": b"",
    "alike": b"I" * 3000,  # copies that reach into themselves
    "periods": b"ACGTTGCAAGGCTA" * 60,
    "every byte": bytes(range(256)) * 3,
}
DYNAMIC, FIXED, STORED = (9, zlib.Z_DEFAULT_STRATEGY), (9, zlib.Z_FIXED), (0, zlib.Z_DEFAULT_STRATEGY)


@pytest.fixture(scope="module")
def gpu():
    session = GpuSession()
    return session.run(Inflater), GpuStream(session.clock, timed=False)


def framed(body, data, size=None) -> bytes:
    """A block of BGZF of a deflate stream."""
    head = bytes.fromhex("1f8b08040000000000ff060042430200") + (len(body) + 25).to_bytes(2, "little")
    return head + body + zlib.crc32(data).to_bytes(4, "little") + (size or len(data)).to_bytes(4, "little")


def block_of(data, level, strategy, flush=None) -> bytes:
    """A block of BGZF; ``flush``: after how many bytes blocks of deflate end."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    body = b""
    for start in range(0, len(data), flush or len(data) + 1):
        body += packer.compress(data[start : start + (flush or len(data))])
        body += packer.flush(zlib.Z_FULL_FLUSH) if flush else b""
    return framed(body + packer.flush(), data)


def inflated(gpu, blocks):
    """(what they hold, whether damage was noticed)."""
    inflater, stream = gpu
    whole = b"".join(blocks)
    packed = np.frombuffer(whole + bytes(SLACK), np.uint8).copy()
    report = KernelReport(stream)
    found = inflater.inflate(stream, packed, np.cumsum([len(block) for block in blocks]), report, 3)
    if found is None:
        return b"", True
    out, n = found
    here = stream.pinned_array("out", n + 1, np.uint8)[: n + 1]
    stream.receive([out[: n + 1]], [here])
    report.read()
    return here[:n].tobytes(), report[3] == 1


@pytest.mark.parametrize("how", [DYNAMIC, FIXED, STORED], ids=["dynamic", "fixed", "stored"])
def test_blocks_hold_what_was_put_in(how, gpu):
    blocks = [block_of(text, *how) for text in TEXTS.values()]
    assert inflated(gpu, blocks) == (b"".join(TEXTS.values()), False)


def test_several_blocks_of_deflate_and_long_codes(gpu):
    rare = bytes(b for i in range(14) for b in [65 + i] * 2 ** min(i, 9))  # codes of all lengths
    isal = bytes(deflate.deflate(np.frombuffer(rare, np.uint8)))
    blocks = [block_of(LETTERS, *DYNAMIC, flush=250), block_of(rare, *DYNAMIC), isal]
    assert inflated(gpu, blocks) == (LETTERS + rare + rare, False)


RNG = np.random.default_rng(6)
QUALITIES = np.frombuffer(b"#,:AFJIIIIIIIIII", np.uint8)
READS = [(random_letters(50, f"read {i}").encode(), RNG.choice(QUALITIES, 50).tobytes()) for i in range(90)]
WORDS = RNG.integers(0, 256, (16, 4), np.uint8)
LARGE = {
    "reads": b"".join(b"@read.%06d\n%s\n+\n%s\n" % (i, *read) for i, read in enumerate(READS)),
    "more copies than are listed at a time": WORDS[RNG.integers(0, 16, 3000)].tobytes(),
    "codes that are as long as bytes": RNG.integers(0, 150, 4000, np.uint8).tobytes(),
}


@pytest.mark.parametrize("name", LARGE)
def test_lanes_that_begin_anywhere_find_the_same_tokens(name, gpu):
    block = block_of(LARGE[name], 1, zlib.Z_DEFAULT_STRATEGY)
    assert inflated(gpu, [block]) == (LARGE[name], False)


def test_damage_is_noticed_and_stays_within_its_block(gpu):
    data = LETTERS[:60]
    whole = bgzf(data, 60)[:-28]
    rng = np.random.default_rng(5)
    for _ in range(3):
        spoiled = bytearray(whole)
        spoiled[rng.integers(18, len(whole))] ^= 1 << rng.integers(8)
        found, is_noticed = inflated(gpu, [whole, bytes(spoiled), whole])
        assert is_noticed
        if found:
            assert (found[:60], found[-60:]) == (data, data)
    assert inflated(gpu, [whole] * 2) == (data * 2, False)


def test_lengths_must_be_right(gpu):
    data = LETTERS[:120]
    body = zlib.compress(data, 9, -15)
    for changed, size in ((body, 119), (body, 121), (body[:-1], 120), (body + b"\0", 120)):
        assert inflated(gpu, [framed(changed, data, size)])[1]
    assert inflated(gpu, [framed(body, data)]) == (data, False)
