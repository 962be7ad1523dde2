"""Prefix sums by all of a GPU, bytes by aligned words, arrays cut from one block: against NumPy."""

import numpy as np
import pytest

from fmx.compiler.primitives import find_byte, load_big_endian, load_little_endian, load_two_bits
from fmx.compiler.warp import SIMULATED, kernel, thread_index
from fmx.machines import gpu
from fmx.machines.gpu import Block, GpuSession
from fmx.machines.gpu_jobs import KernelReport, add_up

N_BYTES = 40 if SIMULATED else 300
SIZES = [1, 31, 32, 33, 64, 200] if SIMULATED else [1, 1023, 1024, 1025, 70_000, 1_500_000]


@pytest.mark.parametrize("n", SIZES)
def test_sizes_are_added_up_in_place(n):
    stream = gpu.GpuStream(GpuSession().clock, timed=False)
    for seed in range(2):  # the second time over the memory of the first
        sizes = np.random.default_rng(seed).integers(0, 1 << 40, n + 1)
        there, report = gpu.to_device(sizes), KernelReport(stream)
        add_up(stream, there, n, report, 7)
        report.read()
        sums = np.append(0, np.cumsum(sizes[:n]))
        assert (gpu.to_host(there) == sums).all()
        assert report[7] == sums[-1]


@kernel
def read_kernel(data, sought, places, words):
    """Find a byte from i on, before its end less i; load 8 bytes from i on, and 2 bits of 32 bytes."""
    i = thread_index()
    if i < data.size:
        places[i] = find_byte(data, sought, i, max(data.size - i // 2, i))
        if i + 32 <= data.size:
            words[3 * i] = load_little_endian(data, i)
            words[3 * i + 1] = load_big_endian(data, i)
            words[3 * i + 2] = load_two_bits(data, i)


@pytest.mark.parametrize("begin", [0, 1, 7, 8, 13])
def test_bytes_are_read_at_any_place(begin):
    whole = np.random.default_rng(begin).integers(0, 256, begin + N_BYTES).astype(np.uint8)
    whole[::3] = 10
    data, there = whole[begin:], gpu.to_device(whole)[begin:]
    places, words = gpu.zeros(data.size, np.int64), gpu.zeros(3 * data.size, np.uint64)
    for sought in (10, 11):
        read_kernel[-(-data.size // 32), 32](there, np.uint8(sought), places, words)
        for i, found in enumerate(gpu.to_host(places)):
            stop = max(data.size - i // 2, i)
            expected = np.flatnonzero(data[i:stop] == sought)
            assert found == (i + expected[0] if expected.size else -1)
    found = gpu.to_host(words).reshape(-1, 3)
    for i in range(data.size - 31):
        bits = sum(((int(x) >> 1) & 3) << (62 - 2 * j) for j, x in enumerate(data[i : i + 32]))
        orders = (int.from_bytes(data[i : i + 8].tobytes(), order) for order in ("little", "big"))
        assert found[i].tolist() == [*orders, bits]


def test_arrays_are_cut_from_one_block_as_long_as_it_has_room():
    make = Block(1 << 12)
    arrays = [make(100, np.int64), make(3, np.uint8), make(1000, np.uint32), make(10, np.int64)]
    for number, array in enumerate(arrays):
        gpu.copy(np.full(array.size, number, array.dtype), array)
    for number, array in enumerate(arrays):
        assert (gpu.to_host(array) == number).all()
    first = gpu.address(arrays[0])
    assert [0 <= gpu.address(array) - first < 1 << 12 for array in arrays] == [True, True, False, True]
    assert all((gpu.address(array) - first) % 256 == 0 for array in arrays[:2])
