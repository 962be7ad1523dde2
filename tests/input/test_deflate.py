"""Blocks of BGZF, many a call: what is deflated is read by others, and what others deflate is read."""

import gzip

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from output_of import bgzf

from fmx.codecs import bgzf as deflate
from fmx.codecs.bgzf import BGZF_END
from fmx.errors import FmxError

SIZES = [0, 1, deflate.BLOCK - 1, deflate.BLOCK, deflate.BLOCK + 1, 3 * deflate.BLOCK + 7]


def letters(n) -> bytes:
    return np.random.default_rng(n).choice(np.frombuffer(b"ACGT", np.uint8), n).tobytes()


def noise(n) -> bytes:
    """Does not shrink: the largest blocks there are."""
    return np.random.default_rng(n).bytes(n)


def stops_of(packed) -> list:
    """Where each of the blocks ends, by the length in its header."""
    stops = [0]
    while stops[-1] < len(packed):
        stops.append(stops[-1] + int.from_bytes(packed[stops[-1] + 16 :][:2], "little") + 1)
    return stops[1:]


def inflated(packed, skip, n, stops=None):
    """(whether the blocks are sound, what they hold)."""
    view = np.zeros(n, np.uint8)
    stops = np.array(stops_of(packed) if stops is None else stops, np.int64)
    return deflate.inflate(np.frombuffer(packed, np.uint8), stops, skip, view), view.tobytes()


@pytest.mark.parametrize("make", [letters, noise, bytes])
@pytest.mark.parametrize("n", SIZES)
def test_blocks_hold_any_data(n, make):
    data = make(n)
    packed = deflate.deflate(np.frombuffer(data, np.uint8))
    assert gzip.decompress(packed + BGZF_END) == data
    assert len(stops_of(packed)) == -(-n // deflate.BLOCK)
    assert (
        max((b - a for a, b in zip([0, *stops_of(packed)], stops_of(packed), strict=False)), default=0)
        <= 1 << 16
    )
    assert inflated(packed, 0, n) == (True, data)


@given(data=st.binary(max_size=500), size=st.integers(1, 200), skip=st.integers(0, 200))
def test_blocks_of_others_are_read_from_anywhere(data, size, skip):
    packed = bgzf(data, size)
    skip = min(skip, size, len(data))
    assert inflated(packed, skip, len(data) - skip) == (True, data[skip:])
    assert not inflated(packed, skip, len(data) - skip + 1)[0]
    if skip < len(data):
        assert not inflated(packed, skip, len(data) - skip - 1)[0]


def test_an_isal_without_its_functions_is_one_line(monkeypatch):
    monkeypatch.setattr(deflate.isal_zlib, "__file__", deflate.np.__file__)
    deflate.isal.cache_clear()
    with pytest.raises(FmxError, match="reinstall isal"):
        deflate.isal()


@pytest.mark.parametrize("name", ["deflate", "inflate"])
def test_an_isal_of_other_structs_is_not_trusted(name, monkeypatch):
    """As if its function did not do what it is asked for."""
    made = deflate.deflate(np.zeros(9, np.uint8))
    found = deflate.isal()
    monkeypatch.setattr(deflate, "isal", lambda: found._replace(**{name: found.crc32}))
    for tried in (deflate.deflater, deflate.inflater):
        tried.cache_clear()
    given = np.frombuffer(made, np.uint8), np.array([len(made)]), 0, np.empty(9, np.uint8)
    with pytest.raises(FmxError, match="isal<2"):
        deflate.deflate(np.zeros(9, np.uint8)) if name == "deflate" else deflate.inflate(*given)
    for tried in (deflate.deflater, deflate.inflater):
        tried.cache_clear()
