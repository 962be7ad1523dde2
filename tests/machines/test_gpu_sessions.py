"""Sessions of several GPUs in one process do not mix, with a stand-in for the driver."""

import threading
import time
from ctypes import CDLL

import fake_cuda
import numpy as np
import pytest

from fmx.errors import DeviceError
from fmx.machines import gpu, gpu_session, places
from fmx.machines.gpu_session import GpuSession
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
    assert [str(session) for session in sessions] == ["GPU 0, gpu 0", "GPU 1, gpu 1"]
    assert sessions[1].memory - sessions[0].memory == 1
    for session in (*sessions, *sessions):
        assert session.run(lambda: gpus.current) == session.number
        assert session.run(session.stream).handle == session.number
        assert session.streams(2)._idle.get().handle == session.number


@pytest.mark.parametrize(
    ("device", "numbers", "words"),
    [
        (Device("cuda"), [0], "GPU 0, gpu 0"),
        (Device("cuda", 1), [1], "GPU 1, gpu 1"),
        (Device("cuda", n_gpus=2), [0, 1], "GPUs 0 and 1, gpu 0 and gpu 1"),
        (Device("auto", n_gpus=None), [0, 1], "GPUs 0 and 1, gpu 0 and gpu 1"),
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
        (
            12040,
            13000,
            "CUDA 12.4, .* need CUDA 13: pip install '.\\[cuda12\\]' in a clone of fmx, or install a newer",
        ),
        (11080, 12090, "CUDA 11.8, .* need CUDA 12: install a newer driver"),
    ],
)
def test_a_driver_older_than_the_packages_is_told_before_the_work(knows, installed, remedy, gpus):
    gpus.knows, gpus.CUDA_VERSION = knows, installed
    told = []
    with pytest.raises(DeviceError, match=remedy):
        choose_place(Device("cuda"), list, None, told.append)
    assert choose_place(Device("auto"), list, lambda: ["cpu"], told.append) == ["cpu"]
    assert len(told) == 1


@pytest.mark.parametrize(("knows", "installed"), [(12000, 12090), (13000, 12090), (13000, 13050)])
def test_a_driver_serves_the_packages_of_its_cuda_and_of_older_ones(knows, installed, gpus):
    gpus.knows, gpus.CUDA_VERSION = knows, installed
    assert choose_place(Device("cuda"), len, None, list) == 1


def test_a_gpu_that_is_in_use_is_not_selected_again(gpus):
    session = GpuSession(1)
    for _ in range(3):
        session.run(gpu_session.Clock)
    assert gpus.used == [1]


def test_buffers_and_clocks_belong_to_one_session(gpus, monkeypatch):
    monkeypatch.setattr(gpu, "empty", lambda n, dtype: object())
    monkeypatch.setattr(gpu, "pinned", lambda n, dtype: object())
    one, two = (GpuSession(number) for number in range(2))
    streams = [session.run(session.stream) for session in (one, one, two)]
    for place in ("there", "here"):
        assert len({id(getattr(stream, place)("out", 1, "u1")) for stream in streams}) == 3
    with streams[0].clock.timed("score"):
        pass
    assert one.clock.seconds.keys() == {"score"}
    assert not two.clock.seconds


def test_the_size_of_a_pinned_array_may_be_a_number_of_numpy(gpus):
    """CUDA's arrays take a Python integer or a tuple as their shape."""
    assert gpu.pinned(np.int64(3), np.uint8).size == 3


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


def test_a_gpu_is_woken_up_beside_the_start_where_one_is_wanted(monkeypatch, command, tmp_path):
    before, gpus = threading.active_count(), Driver()
    monkeypatch.setattr(places, "CDLL", lambda name: gpus)
    monkeypatch.setattr(places, "LARGE", 100)
    there = ["--engine", "cuda", "--scheduler", "tcp://there"]
    for more in ([], ["--engine", "cpu"], ["--engine", "auto"], there):
        assert command("search", "-x", "none.fmx", "none.fq", *more).code == 1
        assert gpus.used == []
    for engine, number in (("cuda", 1), ("cuda_full", 0)):
        assert (
            command("search", "-x", "none.fmx", "none.fq", "--engine", engine, "--device", number).code == 1
        )
        while threading.active_count() > before:
            time.sleep(0.01)
        assert gpus.used.pop() == number
    search = "search", "-x", "none.fmx", tmp_path / "much.fq", "--engine", "auto"
    (tmp_path / "much.fq").write_bytes(b"@" * 100)
    for more in (
        ["--mismatches", 1],
        ["--collapse"],
        ["--first", 9],
        ["--shard", "1/2", "-o", tmp_path / "d"],
    ):
        assert command(*search, *more).code == 1
        assert gpus.used == []
    assert command(*search).code == 1
    while threading.active_count() > before:
        time.sleep(0.01)
    assert gpus.used.pop() == 0
    gpus.status = 100  # no device
    places.start_driver(0)
    monkeypatch.setattr(places, "CDLL", lambda name: CDLL("/no/driver"))
    places.start_driver(0)
    assert gpus.used == []


def test_arrays_of_a_stream_are_made_when_they_are_needed_first_and_grow(gpus):
    stream = GpuSession(0).stream()
    assert sum(map(len, gpus.held.values())) == 0
    assert stream.here("out", 3, "u1").size == stream.there("out", 3, "u1").size == 3
    assert stream.here("out", 300, "u1").size >= 300
    assert stream.here("out", 200, "u1").size >= 300
