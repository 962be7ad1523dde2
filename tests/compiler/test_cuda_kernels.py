"""Kernels as machine code: what is passed to them, what is kept, what is launched without the compiler."""

import threading
from typing import Any, NamedTuple

import fake_cuda
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")
from ptx import kinds_of

from fmx.compiler import cuda_driver, kernels, numba_cuda
from fmx.compiler.kernels import Kernel, cuda
from fmx.errors import DeviceError
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
    """A FakeDriver, and an empty folder of code."""
    code_in(tmp_path / "code")
    monkeypatch.setattr(add, "__module__", "fmx.add")
    monkeypatch.setattr(Pair, "__module__", "fmx.pair")
    return fake_cuda.install(monkeypatch)


@Kernel
def read_all(out, group, numbers, marks, half):
    """Take every kind of argument."""
    small = numbers[1]
    out[0, 0] = group.first[0, 0] + group.second[0][0] + group.second[1] + numbers[0][0] + numbers[0][1]
    out[0, 1] = small[0] + small[1] + small[2] + marks[0] + marks[1] + half


def test_every_kind_of_argument_has_a_slot_of_its_size():
    table, line = np.zeros((2, 3), np.int32), np.zeros(5, np.uint8)
    numbers = (-(2**62), np.uint64(2**63)), (np.int8(-7), np.uint16(65000), np.int32(-70000))
    values = table, Pair(table, (line, np.int16(3))), numbers, (False, np.bool_(True)), np.float32(2.25)
    kinds = kinds_of(values)
    sizes = fake_cuda.params_of(numba_cuda.ptx(read_all.function, kinds, (9, 0)))

    def moved(value):
        if isinstance(value, np.ndarray):
            return cuda_driver.CudaArray(value.shape, value.dtype, 0, None)
        if not isinstance(value, tuple):
            return value
        return type(value)(*map(moved, value)) if hasattr(value, "_fields") else tuple(map(moved, value))

    on_device, slots = kernels.spread(moved(values))
    assert on_device == kinds
    assert len(slots) == len(sizes)
    of_numbers = [np.dtype(kind).itemsize for kind in kinds if isinstance(kind, str) and kind != "C"]
    assert [size for size in sizes if size < 8] == [size for size in of_numbers if size < 8]


def test_arguments_are_passed_as_numba_reads_them(driver):
    table = cuda_driver.empty((2, 5), np.int32)
    line = cuda_driver.empty(9, np.uint8)[2:6]
    _, slots = kernels.spread([Pair(table, (line, np.int16(-300))), np.float32(0.5), -1, True, 2.0])
    head, tail = list(slots[:9]), list(slots[9:])
    assert head == [0, 0, 10, 4, table.address, 2, 5, 20, 4]
    assert tail[:7] == [0, 0, 4, 1, line.address, 4, 1]
    assert tail[7:] == [-300, 0x3F000000, -1, 1, 0x4000000000000000]


@pytest.mark.parametrize("value", [np.zeros(3), "text", 1j], ids=str)
def test_what_a_kernel_cannot_take_is_refused(value):
    with pytest.raises(TypeError, match="compiled code does not accept"):
        kernels.spread([value])


def test_a_kept_kernel_is_launched_without_the_compiler(driver, monkeypatch):
    n, queue = 100, gpu.stream()
    out, first = gpu.zeros(n, np.int64), gpu.to_device(np.arange(n))
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


def test_kernels_that_hold_variables_of_a_function_are_not_kept(driver, tmp_path):
    number = 3

    def run(out):
        out[0] = number

    run.__module__ = "fmx.holding"
    Kernel(run)[1, 1](out := gpu.zeros(1, np.int64))
    Kernel(add)[4, 32](out, Pair(out, np.int64(7)), 5)  # this one is
    names = {path.name.partition("-")[0] for path in (tmp_path / "code").glob("*.o")}
    assert names >= {"fmx.add.add"}
    assert not any("holding" in name for name in names)


def test_registers_and_versions_are_told_apart(driver, tmp_path, monkeypatch):
    out, first = gpu.zeros(1, np.int64), gpu.zeros(1, np.int64)
    for n_files, registers in enumerate((None, 32, 64), start=1):
        Kernel(add, registers)[1, 1](out, Pair(first, 1), 5)
        assert len(list((tmp_path / "code").glob("fmx.add*.o"))) == n_files
    driver.CUDA_VERSION = 12090  # of another environment, whose code is kept in the same folder
    Kernel(add)[1, 1](out, Pair(first, 1), 5)
    assert len(list((tmp_path / "code").glob("fmx.add*.o"))) == 4


def test_with_kernels_on_disk_no_compiler_is_imported(driver, monkeypatch):
    checked = []
    monkeypatch.setattr(numba_cuda, "check", lambda: checked.append(True))
    kernels.check_compiler()
    assert checked
    out, first = gpu.zeros(1, np.int64), gpu.zeros(1, np.int64)
    Kernel(add)[1, 1](out, Pair(first, 1), 5)
    monkeypatch.setattr(kernels, "compiler", None)
    kernels.check_compiler()


@pytest.mark.parametrize("version", ["0.31.0", "0.3.1", "1.0"])
def test_another_numba_cuda_is_refused(version, driver, monkeypatch):
    monkeypatch.setattr(kernels, "versions", lambda: f"{version} of CUDA 13")
    with pytest.raises(DeviceError, match=f"numba-cuda {version} is not supported: install a version that"):
        gpu.open_device()


# Arrays


def test_arrays_go_to_the_device_and_back(driver):
    for array in (
        np.arange(12, dtype=np.uint32),
        np.zeros(0, np.int64),
        np.arange(6.0).reshape(2, 3)[:, ::2],
    ):
        there = gpu.to_device(array)
        assert (there.shape, there.dtype, there.size) == (array.shape, array.dtype, array.size)
        assert (gpu.to_host(there) == array).all()
    there = gpu.to_device(np.arange(12, dtype=np.uint32))
    assert gpu.to_host(there[3:7]).tolist() == [3, 4, 5, 6]
    assert gpu.to_host(there[5:2]).size == 0
    table = gpu.to_device(np.arange(12).reshape(3, 4))
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
