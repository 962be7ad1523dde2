"""Blocks of BGZF made by a GPU: any reader of gzip and the headers of BGZF agree on what they hold."""

import gzip

import numpy as np
import pytest

from fmx.compiler import nvcomp
from fmx.input.bgzf import BGZF_END
from fmx.input.deflate import BLOCK
from fmx.machines import gpu
from fmx.machines.gpu_session import GpuSession
from fmx.machines.gpu_sums import Report
from fmx.output import deflate_gpu


@pytest.fixture
def device():
    if reason := nvcomp.why_not():
        pytest.skip(reason)
    session = GpuSession()
    return session.run(deflate_gpu.GpuDeflater), session.flight(timed=False)


def deflated(device, data):
    """The blocks as bytes; None if a GPU cannot make them."""
    deflater, flight = device
    there = gpu.take(np.frombuffer(data, np.uint8))
    blocks = deflater.deflate(flight, there, Report(flight), 20)
    return None if blocks is None else gpu.to_host(blocks).tobytes()


def held_by(blocks) -> list:
    """Bytes of each block, by the lengths in their headers and at their ends."""
    sizes, at = [], 0
    while at < len(blocks):
        at += int.from_bytes(blocks[at + 16 : at + 18], "little") + 1
        sizes.append(int.from_bytes(blocks[at - 4 : at], "little"))
    return sizes


@pytest.mark.parametrize("n", [1, BLOCK, 2 * BLOCK + 7])
def test_blocks_hold_the_data(n, device, monkeypatch):
    monkeypatch.setattr(deflate_gpu, "AT_ONCE", 1)
    data = np.random.default_rng(n).integers(65, 69, n, np.uint8).tobytes()
    blocks = deflated(device, data)
    assert gzip.decompress(blocks + BGZF_END) == data
    assert held_by(blocks) == [BLOCK] * (n // BLOCK) + [n % BLOCK] * (n % BLOCK > 0)


def test_what_cannot_be_deflated_is_left_to_the_cpu(device):
    deflater, _ = device
    make = deflater._streams

    def failing(flight, *given):
        made = make(flight, *given)
        gpu.copy(np.ones(1, np.int32), made.statuses, flight.stream)
        return made

    deflater._streams = failing
    assert deflated(device, b"A" * 200) is None
