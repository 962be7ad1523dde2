"""The memory of a GPU as its host sees it, with stand-ins for the driver."""

import gc
from typing import NamedTuple
from unittest.mock import Mock

import fake_cuda
import numpy as np
import pytest

from fmx.compiler import cuda_driver
from fmx.errors import DeviceError
from fmx.machines import gpu


@pytest.fixture
def device(monkeypatch):
    """A device with 100 bytes of memory; garbage is left lying."""
    gc.collect()
    gc.disable()
    yield fake_cuda.install(monkeypatch, memory=100)
    gc.enable()


def leave_in_a_cycle(array):
    """Let an array be held by garbage alone, as by the frames of an exception that a compiler keeps."""
    garbage = [array]
    garbage.append(garbage)


def test_garbage_gives_way_to_a_new_array(device):
    leave_in_a_cycle(gpu.empty(60, "uint8"))
    assert len(device.held) == 1
    new = gpu.empty(60, "uint8")
    assert device.held.keys() == {new.address}


def test_memory_that_is_in_use_is_an_error(device):
    held = gpu.empty(60, "uint8")
    with pytest.raises(DeviceError, match="the GPU's memory is full"), gpu.errors():
        gpu.empty(60, "uint8")
    assert device.held.keys() == {held.address}


def test_free_memory_is_told_without_garbage(device):
    leave_in_a_cycle(gpu.empty(60, "uint8"))
    assert gpu.free_bytes() == 100


def test_garbage_is_not_collected_before_any_memory_is_used(device, monkeypatch):
    monkeypatch.setattr(cuda_driver.Memory, "is_used", False)
    monkeypatch.setattr(gc, "collect", collected := Mock())
    assert gpu.free_bytes() == 100
    assert not collected.called
    held = gpu.empty(60, "uint8")
    assert gpu.free_bytes() == 100 - held.nbytes
    assert collected.called


class LazyDriver(fake_cuda.FakeDriver):
    """Copies once a stream is waited for, as late as a GPU may; ``sizes`` {stream: bytes of each copy}."""

    def __init__(self, **how):
        super().__init__(**how)
        self.sizes, self._left = {}, {}

    def cuMemcpyHtoDAsync(self, target, source, n_bytes, stream):
        self.sizes.setdefault(stream, []).append(n_bytes)
        self._left.setdefault(stream, []).append((target, source, n_bytes))
        return (fake_cuda.Status.CUDA_SUCCESS,)

    def cuStreamSynchronize(self, stream):
        for copy in self._left.pop(stream, []):
            self.cuMemcpyHtoD(*copy)
        return (fake_cuda.Status.CUDA_SUCCESS,)


class Arrays(NamedTuple):
    """What is taken: arrays, one in two dimensions, and a number."""

    line: np.ndarray
    table: np.ndarray
    n: int


@pytest.mark.parametrize("n", [0, 12, 14, 500])
def test_threads_copy_large_arrays_in_pieces(n, monkeypatch):
    """Of 28 bytes, by three threads, each through a buffer, to the GPU of the thread that asks."""
    driver = fake_cuda.install(monkeypatch, LazyDriver, n=2)
    gpu.use(1)
    driver.used.clear()
    for name, value in (("_LARGE", 100), ("_PIECE", 28), ("_PIECES", 2), ("available_cores", lambda: 3)):
        monkeypatch.setattr(gpu, name, value)
    rng = np.random.default_rng(n)
    here = Arrays(rng.integers(0, 99, n), rng.integers(0, 99, (n, 2), np.uint8)[::2], n)
    there = gpu.take(here)
    assert there.n == n
    for array, copied in zip(here[:2], there[:2], strict=True):
        assert (copied.shape, copied.dtype) == (array.shape, array.dtype)
        assert np.array_equal(gpu.to_host(copied), array)
    sizes = sorted(size for own in driver.sizes.values() for size in own)
    large = [array.nbytes for array in here[:2] if array.nbytes >= 100]
    assert sizes == sorted(size for n in large for size in [28] * (n // 28) + [n % 28] * (n % 28 > 0))
    assert set(driver.used) <= {1}
    assert len(driver.sizes) <= min(3, -(-len(sizes) // 2))
