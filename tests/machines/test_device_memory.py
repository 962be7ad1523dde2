"""The memory of a GPU as its host sees it, with stand-ins for the driver."""

import gc
import weakref
from types import SimpleNamespace

import pytest

pytest.importorskip("numba_cuda", reason="pip install 'fmx-mapper[cuda]'")
from fmx.machines import gpu
from fmx.measure import gpu_timing

ALIVE: weakref.WeakSet = weakref.WeakSet()


class Array:
    """An array of a device that has room for one."""

    def __init__(self, n, dtype):
        if ALIVE:
            raise RuntimeError("Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        ALIVE.add(self)


@pytest.fixture
def device(monkeypatch):
    """A device for one Array at a time; garbage is left lying."""
    monkeypatch.setattr(gpu, "SIMULATED", False)
    monkeypatch.setattr(gpu, "cuda", SimpleNamespace(device_array=Array))
    gc.disable()
    yield
    gc.enable()


def leave_in_a_cycle(array):
    """Let an array be held by garbage alone, as by the frames of an exception that a compiler keeps."""
    garbage = [array]
    garbage.append(garbage)


def test_garbage_gives_way_to_a_new_array(device):
    leave_in_a_cycle(gpu.empty(3, "uint8"))
    assert len(ALIVE) == 1
    assert gpu.empty(3, "uint8") in ALIVE


def test_memory_that_is_in_use_is_an_error(device):
    held = gpu.empty(3, "uint8")
    with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
        gpu.empty(3, "uint8")
    assert held in ALIVE


def test_free_memory_is_told_without_garbage(device, monkeypatch):
    context = SimpleNamespace(
        get_memory_info=lambda: SimpleNamespace(free=100 - 60 * len(ALIVE)),
        memory_manager=SimpleNamespace(deallocations=SimpleNamespace(clear=lambda: None)),
    )
    monkeypatch.setattr(gpu.cuda, "current_context", lambda: context, raising=False)
    leave_in_a_cycle(gpu.empty(3, "uint8"))
    assert gpu.free_bytes() == 100


def test_energy_is_counted_between_moves_of_the_counter(monkeypatch):
    """A device of 400 W whose counter moves every 0.1 s, and work of 0.03 s."""
    clock = SimpleNamespace(now=0.07)
    counter = SimpleNamespace(
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetTotalEnergyConsumption=lambda device: 40_000 * int(clock.now / 0.1),
    )
    monkeypatch.setattr(gpu_timing, "_nvml", lambda: counter)
    monkeypatch.setattr(gpu_timing.time, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(gpu, "number", lambda: 0)
    monkeypatch.setattr(gpu, "synchronize", lambda: None)

    def work():
        clock.now += 0.03

    joules, watts = gpu_timing.joules(work, at_least=3)
    assert joules == pytest.approx(12, rel=0.01)
    assert watts == pytest.approx(400, rel=0.01)
