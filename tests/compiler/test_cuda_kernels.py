"""Kernels as machine code: what is passed to them, what is kept, what is launched without the compiler."""

import threading
from types import SimpleNamespace
from typing import Any, NamedTuple

import fake_cuda
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
from fmx.compiler import cuda_driver, kernels, numba_cuda, object_cache, probe
from fmx.compiler.kernels import Kernel, cuda
from fmx.machines import gpu


class Pair(NamedTuple):
    """Two arrays, or an array and a number."""

    first: Any
    second: Any


def add(out, pair, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = pair.first[i] + pair.second + x


@pytest.fixture
def driver(monkeypatch, code_in, tmp_path):
    """A FakeDriver, an empty folder of code, and a convention that holds."""
    code_in(tmp_path / "code")
    monkeypatch.setattr(kernels, "holds", lambda capability: True)
    monkeypatch.setattr(add, "__module__", "fmx.add")
    monkeypatch.setattr(Pair, "__module__", "fmx.pair")
    return fake_cuda.install(monkeypatch)


def test_every_kind_of_argument_has_a_slot_of_its_size():
    kinds = kernels.kinds_of(probe.arguments())
    sizes = fake_cuda.params_of(numba_cuda.ptx(kernels.read_all.function, kinds, (9, 0)))
    on_device, slots = kernels.spread(
        probe.arguments(lambda value: cuda_driver.CudaArray(value.shape, value.dtype, 0, None))
    )
    assert on_device == kinds
    assert len(slots) == len(sizes)
    numbers = [np.dtype(kind).itemsize for kind in kinds if isinstance(kind, str) and kind != "C"]
    assert [size for size in sizes if size < 8] == [size for size in numbers if size < 8]


def test_arguments_are_passed_as_numba_reads_them(driver):
    table = cuda_driver.empty((2, 5), np.int32)
    line = cuda_driver.empty(9, np.uint8)[2:6]
    _, slots = kernels.spread([Pair(table, (line, np.int16(-300))), np.float32(0.5), -1, True, 2.0])
    head, tail = list(slots[:9]), list(slots[9:])
    assert head == [0, 0, 10, 4, table.address, 2, 5, 20, 4]
    assert tail[:7] == [0, 0, 4, 1, line.address, 4, 1]
    assert tail[7:] == [-300, 0x3F000000, -1, 1, 0x4000000000000000]


@pytest.mark.parametrize("value", [np.zeros(3), "text", None, 1j], ids=str)
def test_what_a_kernel_cannot_take_is_refused(value):
    with pytest.raises(TypeError, match="compiled code does not accept"):
        kernels.spread([value])


def test_a_kept_kernel_is_launched_without_the_compiler(driver, monkeypatch):
    n, queue = 100, gpu.stream()
    out, first = gpu.zeros(n, np.int64), gpu.take(np.arange(n))
    Kernel(add)[4, 32, queue, 128](out, Pair(first, np.int32(7)), 5)
    (symbol, *how, _) = driver.launched[0]
    assert how == [4, 32, 128, queue.handle]
    monkeypatch.setattr(kernels, "compiler", None)
    driver.n_params[symbol] = 16
    Kernel(add)[4, 32](out, Pair(first, np.int32(7)), 5)
    again, *how, words = driver.launched[1]
    assert (again, how) == (symbol, [4, 32, 0, 0])
    assert words[:7] == [0, 0, n, 8, out.address, n, 8]
    assert words[14:] == [7, 5]
    with pytest.raises(TypeError):  # of other types: there the compiler is asked for
        Kernel(add)[4, 32](out, Pair(first, np.int64(7)), 5)


def test_kernels_that_names_do_not_tell_apart_are_not_kept(driver, tmp_path):
    def holding(held):
        def run(out):
            out[0] = held

        run.__module__ = "fmx.holding"
        return Kernel(run)

    out = gpu.zeros(1, np.int64)
    for held, n_files in ((3, 1), (3, 1), (4, 2), (4.5, 2)):
        holding(held)[1, 1](out)
        assert len(list((tmp_path / "code").iterdir())) == n_files, held


def test_registers_and_versions_are_told_apart(driver, tmp_path, monkeypatch):
    out, first = gpu.zeros(1, np.int64), gpu.zeros(1, np.int64)
    for n_files, registers in enumerate((None, 32, 64), start=1):
        Kernel(add, registers)[1, 1](out, Pair(first, 1), 5)
        assert len(list((tmp_path / "code").iterdir())) == n_files
    driver.CUDA_VERSION = 12090  # of another environment, whose code is kept in the same folder
    Kernel(add)[1, 1](out, Pair(first, 1), 5)
    assert len(list((tmp_path / "code").iterdir())) == 4


def test_without_the_convention_numba_launches_and_it_is_told(driver, tmp_path, monkeypatch):
    said, launched = [], []
    monkeypatch.setattr(kernels, "holds", lambda capability: False)
    monkeypatch.setattr(numba_cuda, "by_numba", lambda *_: lambda *how: launched.append(how))
    monkeypatch.setattr(object_cache, "listeners", [])
    object_cache.on_first_compile(SimpleNamespace(say=said.append))
    object_cache.write("something", b"")
    out = gpu.zeros(1, np.int64)
    Kernel(add)[1, 2](out, Pair(out, 1), 5)
    assert [how[:4] for how in launched] == [(1, 2, 0, 0)]
    assert launched[0][5] == (out, Pair(out, 1), 5)
    unknown = "this version of numba-cuda or the driver is not supported; install one that fmx requires"
    assert said == [f"compiling for this machine (each time: {unknown}) ..."]
    assert len(list((tmp_path / "code").iterdir())) == 1


@pytest.mark.parametrize("answer", ["", "[1", "crash"])
def test_a_convention_that_does_not_hold_is_noticed(answer, driver, monkeypatch):
    class Done:
        returncode, stdout = (-11 if answer == "crash" else 0), answer

    monkeypatch.setattr("subprocess.run", lambda *_, **__: Done)
    assert not probe.prove("proof", lambda: kernels.is_right((9, 0)))


def test_the_probe_asks_for_what_the_kernel_writes(driver, monkeypatch):
    monkeypatch.setattr(probe, "ask", lambda *_: kernels.outcome())
    assert kernels.is_right((9, 0))


def test_with_kernels_that_came_with_fmx_no_compiler_is_imported(driver, monkeypatch):
    checked = []
    monkeypatch.setattr(numba_cuda, "check", lambda: checked.append(True))
    kernels.check_compiler()
    assert checked
    monkeypatch.setattr(kernels, "compiler", lambda: numba_cuda)
    kernels.read_all.compile(kernels.kinds_of(probe.arguments()), (9, 0))
    monkeypatch.setattr(kernels, "compiler", None)
    kernels.check_compiler()


# Arrays


def test_arrays_go_to_the_device_and_back(driver):
    for array in (
        np.arange(12, dtype=np.uint32),
        np.zeros(0, np.int64),
        np.arange(6.0).reshape(2, 3)[:, ::2],
    ):
        there = gpu.take(array)
        assert (there.shape, there.dtype, there.size) == (array.shape, array.dtype, array.size)
        assert (gpu.to_host(there) == array).all()
    there = gpu.take(np.arange(12, dtype=np.uint32))
    assert gpu.to_host(there[3:7]).tolist() == [3, 4, 5, 6]
    assert gpu.to_host(there[5:2]).size == 0
    table = gpu.take(np.arange(12).reshape(3, 4))
    assert gpu.to_host(table[1:]).tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    gpu.fill_zero(there, n=3)
    pinned = gpu.pinned(np.int64(4), np.uint32)
    assert gpu.copy(there, pinned).tolist() == [0, 0, 0, 3]
    assert gpu.to_host(gpu.copy(pinned + 1, there)).tolist()[:5] == [1, 1, 1, 4, 4]
    for wrong in (lambda: there[0], lambda: there[::2]):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_memory_lives_as_long_as_an_array_over_it(driver):
    part = gpu.zeros(8, np.uint8)[2:4]
    pinned = gpu.pinned(8, np.uint8)[2:4]
    assert len(driver.held) == 2
    assert (gpu.to_host(part).tolist(), pinned.size) == ([0, 0], 2)
    released = threading.Thread(target=lambda held: held.clear(), args=([part, pinned],))
    del part, pinned
    released.start()
    released.join()
    del released
    assert not driver.held


def test_much_memory_is_pinned_in_huge_pages_and_released(driver, monkeypatch):
    pinned, n = [], 3 << 20
    monkeypatch.setattr(
        driver, "cuMemHostRegister", lambda at, n, flags: (pinned.append((at, n)), 0)[1:], raising=False
    )
    monkeypatch.setattr(
        driver, "cuMemHostUnregister", lambda at: (pinned.remove((at, n)), 0)[1:], raising=False
    )
    array = gpu.pinned(n, np.uint8)
    assert pinned == [(array.ctypes.data, n)]
    small = gpu.pinned(40, np.int64)
    assert (array[7:].base is array, small[2:3].base is small) == (True, True)
    del small
    assert (array.ctypes.data % (2 << 20), array.size, driver.held) == (0, n, {})
    part = array[5:9]
    del array
    part[:] = 1
    assert len(pinned) == 1
    del part
    assert not pinned


def test_what_cannot_be_started_is_an_error_with_its_name(driver, monkeypatch):
    there = gpu.zeros(8, np.uint8)
    monkeypatch.setattr(driver, "cuMemsetD8Async", lambda *given: (2,))
    with pytest.raises(cuda_driver.CudaError, match="cuMemsetD8Async: CUDA_ERROR_OUT_OF_MEMORY"):
        gpu.fill_zero(there)


def test_times_and_streams(driver):
    queue = gpu.stream()
    start, handle = gpu.mark(queue), queue.handle
    assert gpu.seconds_between(start, gpu.mark(queue)) == 1
    gpu.synchronize(queue), gpu.synchronize()
    del queue
    assert driver.freed == [handle]
