"""Sessions of several GPUs in one process do not mix, with a stand-in for the driver."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="pip install 'fmx-mapper[cuda]'")
from fmx.machines import gpu, gpu_session
from fmx.machines.gpu_session import GpuSession


class Gpus(list):
    """Two GPUs, of which the thread uses ``current``; ``selected`` numbers in order."""

    def __init__(self):
        super().__init__(SimpleNamespace(id=number, name=f"gpu {number}") for number in range(2))
        self.current, self.selected = None, []

    def select(self, number):
        self.current = self[number]
        self.selected.append(number)


@pytest.fixture
def gpus(monkeypatch):
    gpus = Gpus()
    driver = SimpleNamespace(
        gpus=gpus, is_available=lambda: True, select_device=gpus.select,
        get_current_device=lambda: gpus.current, stream=lambda: gpus.current.id,
    )  # fmt: skip
    monkeypatch.setattr(gpu, "SIMULATED", False)
    monkeypatch.setattr(gpu, "cuda", driver)
    monkeypatch.setattr(gpu, "check_compiler", lambda: None)
    monkeypatch.setattr(gpu, "free_bytes", lambda: (4 + gpus.current.id) << 30)
    return gpus


def test_each_session_works_on_its_own_gpu_whichever_was_opened_last(gpus):
    sessions = [GpuSession(number) for number in range(2)]
    assert [str(session) for session in sessions] == ["GPU 0, gpu 0", "GPU 1, gpu 1"]
    assert sessions[1].memory - sessions[0].memory == 1 << 30
    for session in (*sessions, *sessions):
        assert session.run(lambda: gpus.current.id) == session.number
        assert session.run(session.flight).stream == session.number
        assert session.flights(2)._idle.get().stream == session.number


def test_a_gpu_that_is_in_use_is_not_selected_again(gpus):
    session = GpuSession(1)
    for _ in range(3):
        session.run(gpu_session.Clock)
    assert gpus.selected == [1]


def test_buffers_and_clocks_belong_to_one_session(gpus, monkeypatch):
    monkeypatch.setattr(gpu, "empty", lambda n, dtype: object())
    monkeypatch.setattr(gpu, "pinned", lambda n, dtype: object())
    one, two = (GpuSession(number) for number in range(2))
    flights = [session.run(session.flight) for session in (one, one, two)]
    for place in ("there", "here"):
        assert len({id(getattr(flight, place)("out", 1, "u1")) for flight in flights}) == 3
    with flights[0].clock.timed("score"):
        pass
    assert one.clock.seconds.keys() == {"score"}
    assert not two.clock.seconds


def test_the_size_of_a_pinned_array_may_be_a_number_of_numpy(gpus):
    """CUDA's arrays take a Python integer or a tuple as their shape."""
    gpu.cuda.pinned_array = lambda shape, dtype: np.empty(
        shape if isinstance(shape, int) else tuple(shape), dtype
    )
    assert gpu.pinned(np.int64(3), np.uint8).size == 3
