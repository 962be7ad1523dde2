"""A GPU as its host sees it, with a stand-in for the driver: sessions that do not mix, and memory."""

import gc
import threading
import time
from ctypes import CDLL
from typing import NamedTuple
from unittest.mock import Mock

import fake_cuda
import numpy as np
import pytest

from fmx.compiler import cuda_driver
from fmx.errors import DeviceError
from fmx.machines import gpu, places
from fmx.machines.gpu import GpuSession, GpuStream
from fmx.machines.places import Device, choose_place


@pytest.fixture
def gpus(monkeypatch):
    """Two GPUs, as a FakeDriver; of the second there is a byte more."""
    gpus = fake_cuda.install(monkeypatch, n=2, memory=4 << 30)
    monkeypatch.setattr(gpu, "check_compiler", lambda: None)
    monkeypatch.setattr(gpu, "stream", lambda: gpus.current)
    return gpus


def test_each_session_works_on_its_own_gpu_whichever_was_opened_last(gpus):
    sessions = [GpuSession(number) for number in range(2)]
    assert sessions[1].memory - sessions[0].memory == 1
    for session in (*sessions, *sessions):
        assert session.run(lambda: gpus.current) == session.number
        assert session.run(GpuStream, session.clock).handle == session.number
        assert session.streams(2)._idle.get().handle == session.number


@pytest.mark.parametrize(
    ("device", "numbers", "words"),
    [
        (Device("cuda"), [0], "GPU 0, gpu 0"),
        (Device("cuda", 1), [1], "GPU 1, gpu 1"),
        (Device("cuda", n_gpus=2), [0, 1], "GPU 0, gpu 0 and GPU 1, gpu 1"),
        (Device("auto", n_gpus=None), [0, 1], "GPU 0, gpu 0 and GPU 1, gpu 1"),
        (Device("auto", 1, n_gpus=None), [1], "GPU 1, gpu 1"),
    ],
    ids=str,
)
def test_the_gpus_that_are_asked_for_are_opened_and_told(device, numbers, words, gpus):
    told = []

    def on_gpus(sessions):
        return [(session.number, session.run(lambda: gpus.current)) for session in sessions]

    made = choose_place(device, on_gpus, None, told.append)
    assert made == [(number, number) for number in numbers]
    assert told == [words]


def test_more_gpus_than_there_are_is_an_error_or_the_cpu(gpus):
    told = []
    with pytest.raises(DeviceError, match="no GPU number 2: this machine has 2"):
        choose_place(Device("cuda", n_gpus=3), list, list, told.append)
    assert choose_place(Device("auto", n_gpus=3), list, lambda: ["cpu"], told.append) == ["cpu"]
    assert [line[:8] for line in told] == ["the CPU:"]


@pytest.mark.parametrize(
    ("knows", "installed", "remedy"),
    [
        (12040, 13000, r"12.4, .* CUDA 13: pip install '.\[cuda12\]' in a clone of fmx, or install a newer"),
        (11080, 12090, "CUDA 11.8, .* need CUDA 12: install a newer driver"),
        *((*versions, None) for versions in ((12000, 12090), (13000, 12090), (13000, 13050))),
    ],
)
def test_a_driver_older_than_the_packages_is_told_before_the_work(knows, installed, remedy, gpus):
    gpus.knows, gpus.CUDA_VERSION = knows, installed
    told = []
    if remedy:
        with pytest.raises(DeviceError, match=remedy):
            choose_place(Device("cuda"), list, None, told.append)
    place = choose_place(Device("auto"), lambda sessions: ["gpu"], lambda: ["cpu"], told.append)
    assert (place, len(told)) == (["cpu" if remedy else "gpu"], 1)


class Driver:
    """What ctypes calls before NVIDIA's bindings are imported; ``used``: GPUs."""

    def __init__(self):
        self.used, self.status = [], 0

    def cuInit(self, flags):
        return self.status

    def cuDeviceGet(self, device, number):
        device._obj.value = number
        return 0

    def cuDevicePrimaryCtxRetain(self, context, device):
        self.used.append(device.value)


def test_a_gpu_is_woken_up_at_the_start_where_one_is_wanted(monkeypatch, command, tmp_path):
    before, gpus = threading.active_count(), Driver()
    monkeypatch.setattr(places, "CDLL", lambda name: gpus)
    monkeypatch.setattr(places, "LARGE", 100)
    (tmp_path / "much.fq").write_bytes(b"@" * 100)
    much = [tmp_path / "much.fq", "--engine", "auto"]
    for words, numbers in (
        (["none.fq"], []),
        (["none.fq", "--engine", "auto"], []),
        (["none.fq", "--engine", "cuda", "--scheduler", "tcp://there"], []),
        (["none.fq", "--engine", "cuda", "--device", 1], [1]),
        (["none.fq", "--engine", "cuda_full"], [0]),
        *(([*much, *more], []) for more in (["--mismatches", 1], ["--collapse"], ["--first", 9])),
        ([*much, "--shard", "1/2", "-o", tmp_path / "d"], []),
        (much, [0]),
    ):
        assert command("search", "-x", "none.fmx", *words).code == 1
        while threading.active_count() > before:
            time.sleep(0.01)
        assert gpus.used == numbers, words
        gpus.used.clear()
    gpus.status = 100  # no device
    places.start_driver(0)
    monkeypatch.setattr(places, "CDLL", lambda name: CDLL("/no/driver"))
    places.start_driver(0)
    assert gpus.used == []


# Memory


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
    leave_in_a_cycle(new)
    del new
    assert gpu.free_bytes() == 100


def test_memory_that_is_in_use_is_an_error(device):
    held = gpu.empty(60, "uint8")
    with pytest.raises(DeviceError, match="the GPU's memory is full"), gpu.errors():
        gpu.empty(60, "uint8")
    assert device.held.keys() == {held.address}


def test_garbage_is_not_collected_before_any_memory_is_used(device, monkeypatch):
    monkeypatch.setattr(cuda_driver.Handle, "is_used", False)
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
    arrays = Arrays(rng.integers(0, 99, n), rng.integers(0, 99, (n, 2), np.uint8)[::2], n)
    copies = gpu.to_device(arrays)
    assert copies.n == n
    for array, copied in zip(arrays[:2], copies[:2], strict=True):
        assert (copied.shape, copied.dtype) == (array.shape, array.dtype)
        assert np.array_equal(gpu.to_host(copied), array)
    sizes = sorted(size for each in driver.sizes.values() for size in each)
    large = [array.nbytes for array in arrays[:2] if array.nbytes >= 100]
    assert sizes == sorted(size for n in large for size in [28] * (n // 28) + [n % 28] * (n % 28 > 0))
    assert set(driver.used) <= {1}
    assert len(driver.sizes) <= min(3, -(-len(sizes) // 2))
