"""Mapping on the CPU and beside it on GPUs that start meanwhile, with stand-ins for both."""

import threading
import time
from dataclasses import dataclass, field

import pytest

from fmx.errors import DeviceError
from fmx.machines import gpu
from fmx.search import auto
from fmx.search.auto import AutoMapper
from fmx.search.mapping import MapOptions
from fmx.search.summary import Summary


@dataclass
class Place:
    """A mapper of 1000 reads a span."""

    seconds: float
    options: MapOptions = field(default_factory=MapOptions)
    tally: None = None
    timed: None = None
    n: int = 0

    def map(self, span, writer, emit):
        time.sleep(self.seconds)
        self.n += 1
        emit(b"piece")
        return Summary(reads=1000)


@pytest.fixture
def run(monkeypatch):
    """A function (the CPU's seconds a span, the GPU's, or an error) -> (spans of each, what is said)."""

    def run(cpu, gpu, n=12, n_bytes=None):
        cpu = Place(cpu)

        def start(writer):
            if isinstance(gpu, Exception):
                raise gpu
            return [gpu]

        gpu, pieces = Place(gpu) if isinstance(gpu, float) else gpu, []
        mapper = AutoMapper(cpu, start, n_bytes)
        for _ in range(n):
            assert mapper.map("span", "writer", pieces.append).reads == 1000
            if mapper._starter:
                mapper._starter.join()  # what is ready when is left to chance otherwise
        assert len(pieces) == n
        return cpu.n, getattr(gpu, "n", 0), mapper.sentence()

    monkeypatch.setattr(auto, "START", 0.01)
    monkeypatch.setattr(auto, "SETTLE", 0.0)
    monkeypatch.setattr(auto, "TRIAL", 0.01)
    return run


def test_a_faster_gpu_takes_spans_once_it_has_started(run):
    on_cpu, on_gpu, said = run(0.006, 0.001, n=40)
    assert (on_cpu >= 2, on_gpu >= 25, on_cpu + on_gpu) == (True, True, 40)
    assert said.startswith(f"GPUs for {100 * on_gpu / 40:.0f} % of the reads, the CPU for the others; tried")


def test_a_slower_gpu_is_tried_and_left(run):
    _, on_gpu, said = run(0.002, 0.03, n=40)
    assert 0 < on_gpu <= 6
    assert ", the GPUs alone 0.0" in said


def test_each_way_is_tried_and_the_fastest_kept(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(auto.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(auto, "SETTLE", 0)
    monkeypatch.setattr(auto, "TRIAL", 2)
    rates = {auto.ON_CPU: 10, auto.ON_BOTH: 30, auto.ON_GPUS: 20}
    ways, seen = auto.Ways(), []
    for n in range(20):
        seen.append(ways.now)
        ways.note(rates[ways.now], n > 4)
    assert list(dict.fromkeys(seen)) == [auto.ON_CPU, auto.ON_BOTH, auto.ON_GPUS]
    assert ways.now == auto.ON_BOTH
    assert ways.speeds == rates


def test_a_thread_waits_for_stream_bytes_where_gpus_alone_are_faster(run):
    gpu = Place(0.02)
    mapper = AutoMapper(Place(0.0), None, 1)
    mapper._ways.now, mapper._idle = auto.ON_GPUS, [gpu]
    threads = [threading.Thread(target=mapper.map, args=("span", "writer", len)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gpu.n == 3


def test_a_thread_whose_records_are_due_does_not_wait_for_ever(run, monkeypatch):
    monkeypatch.setattr(auto, "PATIENCE", 0.01)
    cpu = Place(0.0)
    mapper = AutoMapper(cpu, None, 1)
    mapper._ways.now = auto.ON_GPUS  # and no stream is idle
    mapper.map("span", "writer", len)
    assert cpu.n == 1


def test_a_gpu_that_cannot_be_used_leaves_all_to_the_cpu(run):
    assert run(0.006, DeviceError("no GPU here")) == (12, 0, "the CPU: no GPU here")


def test_no_gpu_is_started_for_what_is_soon_done(run):
    assert run(0.0, 0.0, n=3, n_bytes=1)[:2] == (3, 0)
    on_cpu, on_gpu, said = run(0.006, 0.0, n_bytes=12 * auto.CHUNK_SIZE)
    assert (on_cpu, on_gpu) == (12, 0) or "GPUs for" in said  # a slow machine takes longer than it sleeps
    assert run(0.006, 0.0, n_bytes=1000 * auto.CHUNK_SIZE)[1] > 0


def test_nobody_waits_for_a_gpu_that_is_still_starting(monkeypatch):
    monkeypatch.setattr(auto, "START", 0.0)
    go_on = threading.Event()
    mapper = AutoMapper(Place(0.01), lambda writer: go_on.wait(60) and [], None)
    for _ in range(3):
        mapper.map("span", "writer", len)
    assert mapper.sentence() == "the CPU: it was done before a GPU had started"
    go_on.set()
    mapper._starter.join()


def test_the_driver_is_not_asked_for_a_short_run(monkeypatch):
    monkeypatch.setattr(auto, "_DEVICES", ("/dev/null",))
    monkeypatch.setattr(gpu, "open_device", lambda: pytest.fail("it takes a second"))
    mapper = AutoMapper(Place(0.0), None, 1)
    mapper.map("span", "writer", len)
    assert mapper.sentence() == "the CPU: it was done before a GPU would have been of use"


def test_streams_go_to_those_who_wait_in_turn():
    mapper = AutoMapper(Place(0.0), None, 1)
    mapper._ways.now = auto.ON_GPUS
    found: list = []
    threads = [
        threading.Thread(target=lambda n=n: found.append((n, mapper._take("writer")))) for n in range(3)
    ]
    for n, thread in enumerate(threads):
        thread.start()
        while len(mapper._waiting) <= n and thread.is_alive():
            time.sleep(0.001)
    for n in range(3):
        with mapper._lock:
            mapper._give(n)
        threads[n].join()
    assert found == [(0, 0), (1, 1), (2, 2)]
