"""Compiled functions: same results as in Python, stored on disk, and run without the compiler."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmx.compiler import functions, object_cache, primitives, simd
from fmx.compiler.functions import compiled

BYTES = st.binary(min_size=2 * simd.LANES, max_size=2 * simd.LANES)


class Inner(NamedTuple):
    numbers: Any
    scale: Any


class Outer(NamedTuple):
    inner: Inner
    pair: tuple


@compiled
def bits(n):
    return primitives.bits_from(n), primitives.bits_from32(n), primitives.low_bits(n)


@compiled
def of_bytes(data, byte, start, stop, target):
    primitives.prefetch(data, start)
    primitives.copy_bytes(target, 1, data, 2, 9)
    first, last = primitives.load_big_endian(data, start), primitives.load_little_endian(data, start)
    bits, place = (
        primitives.load_two_bits(data, min(start, 32)),
        primitives.find_byte(data, byte, start, stop),
    )
    return place, first, last, bits, primitives.swap_bytes(first)


@compiled
def of_lanes(a, b, first, last, out, sums):
    v, w = simd.load(a, 3), simd.load(b, 5)
    larger, smaller = simd.maximum(v, w), simd.choose(v, w, v, simd.fill(a, 7))
    simd.store(out, 1, simd.within(simd.minus(larger, w), first, last))
    simd.store(out, 33, smaller)
    differences = simd.add_difference(simd.zero_sums(), v, w)
    simd.store(sums, 2, differences)
    return simd.equal_bits(v, w), simd.total(differences)


@given(data=BYTES, byte=st.integers(0, 255), start=st.integers(0, 40), n=st.integers(0, 20))
def test_memory_is_searched_copied_and_read(data, byte, start, n):
    data, mine, theirs = np.frombuffer(data, np.uint8), np.zeros(12, np.uint8), np.zeros(12, np.uint8)
    arguments = data, np.uint8(byte), start, start + n
    found = of_bytes(*arguments, mine)
    assert found == of_bytes.function(*arguments, theirs)
    assert found[2] == found[4]  # swapped
    np.testing.assert_array_equal(mine, theirs)


@given(a=BYTES, b=BYTES, first=st.integers(0, 31), last=st.integers(0, 31))
def test_vectors_do_what_arrays_do(a, b, first, last):
    a, b = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
    mine, theirs = (
        (np.zeros(70, np.uint8), np.zeros(40, np.int32)),
        (np.zeros(70, np.uint8), np.zeros(40, np.int32)),
    )
    assert of_lanes(a, b, first, last, *mine) == of_lanes.function(a, b, first, last, *theirs)
    for here, there in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(here, there)


@compiled
def describe(values, pair, flag, ratio):
    numbers = values.inner.numbers
    total = 0.0
    for i in range(numbers.shape[0]):
        total += numbers[i, 1]
    return total * values.inner.scale, pair[0], pair[1] - values.pair[0], not flag, ratio / 2


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64, np.float32, np.float64]
)
def test_values_of_every_kind_go_in_and_come_out(kind):
    whole = np.arange(24, dtype=kind).reshape(6, 4)
    fixed = whole.copy()
    fixed.flags.writeable = False
    for numbers in (whole, fixed, np.asfortranarray(whole), whole[::2, 1:], whole.T):
        values = Outer(Inner(numbers, np.float32(0.5)), (np.uint8(200), True))
        results = describe(values, (-(2**63), 2), False, 3.0)
        assert results == (numbers[:, 1].sum() * 0.5, -(2**63), -198, True, 1.5)
        assert [type(result) for result in results] == [float, int, int, bool, float]


@compiled
def nothing(array, more):
    if more is None:
        array[0] += 1


@compiled
def largest(x, y):
    return max(x, y)


def test_no_result_and_the_ends_of_ranges():
    array = np.zeros(1, np.int8)
    assert nothing(array, 7) is nothing(array, None) is None
    assert array[0] == 1
    assert largest(-(2**63), 2**63 - 1) == 2**63 - 1
    assert largest(2**64 - 1, 2**63) == 2**64 - 1
    assert largest(np.uint32(2**32 - 1), np.uint32(1)) == 2**32 - 1


def test_what_has_no_kind_is_refused():
    for value in ("text", [1], {}, 2j):
        with pytest.raises(TypeError, match="compiled code does not accept"):
            largest(value, 1)


@pytest.fixture
def compiling_is_not_reported():
    """It is reported here."""


def keep(function, code_in, folder):
    """The function, compiled as if it were one of fmx."""
    code_in(folder)
    function.__module__ = "fmx.of_a_test"
    return compiled(function)


def test_code_is_kept_told_apart_by_types_and_damage_is_noticed(tmp_path, code_in, monkeypatch):
    def double(x):
        return 2 * x

    heard = []
    object_cache.on_first_compile(SimpleNamespace(say=heard.append))
    assert keep(double, code_in, tmp_path)(21) == 42
    assert keep(double, code_in, tmp_path)(1.5) == 3.0
    kept = sorted(tmp_path.glob("fmx.of_a_test.*"))
    assert (len(kept), heard) == (2, ["compiling for this machine (later runs reuse the code) ..."])
    monkeypatch.setattr(functions, "compiler", None)
    assert keep(double, code_in, tmp_path)(4) == 8  # nothing can be compiled now
    monkeypatch.undo()
    for path in kept:
        path.write_bytes(path.read_bytes()[:-1])
    again = keep(double, code_in, tmp_path)
    assert (again(21), again(1.5)) == (42, 3.0)


def test_where_nothing_can_be_kept_it_is_compiled_each_time(tmp_path, code_in):
    (tmp_path / "file").write_text("")
    heard = []
    for _ in range(2):
        object_cache.on_first_compile(SimpleNamespace(say=heard.append))
        assert keep(largest.function, code_in, tmp_path / "file" / "below")(5, 15) == 15
    assert heard == 2 * [
        f"compiling for this machine (each time: the code cannot be stored in {tmp_path}/file/below; "
        "set FMX_CACHE to a folder that only you can write to) ..."
    ]
    assert keep(largest.function, code_in, tmp_path / "new" / "folder")(5, 15) == 15
    assert len(list((tmp_path / "new" / "folder").glob("fmx.*"))) == 1
