"""gzip: one stream by many threads is what igzip reads or refuses; blocks of BGZF are what others take."""

import gzip
import io
import random
import zlib
from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
import numpy as np
import pytest
from cover import examples
from hypothesis import given
from output_of import bgzf
from test_spans import are_same, by_threads, outcome

from fmx.codecs import GZIP, CompressedStream, inflate, parallel_gzip
from fmx.codecs import bgzf as bgzf_codec
from fmx.codecs.bgzf import BGZF_END, BLOCK
from fmx.errors import FmxError, InputError
from fmx.input.spans import plan
from fmx.input.streams import Source

STRATEGIES = [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE]


def packed(data, level=6, strategy=zlib.Z_DEFAULT_STRATEGY, flush=0) -> bytes:
    """Plain gzip; with ``flush`` a block ends after so many bytes each."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 31, 9, strategy)
    pieces = [data[i : i + flush] for i in range(0, len(data), flush)] if flush else [data]
    ways = [zlib.Z_SYNC_FLUSH, zlib.Z_BLOCK, zlib.Z_FULL_FLUSH]
    done = [packer.compress(piece) + packer.flush(ways[i % 3]) for i, piece in enumerate(pieces)]
    return b"".join(done) + packer.flush()


def fastq(n, seed=1) -> bytes:
    rng = random.Random(seed)
    lines = []
    for i in range(n):
        m = rng.randrange(30, 120)
        quality = "".join(rng.choices("FF:,#@+", k=m))
        lines.append(f"@r{i}:{rng.randrange(9999)}\n{''.join(rng.choices('ACGT', k=m))}\n+\n{quality}\n")
    return "".join(lines).encode()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks often end behind what is read at first."""
    monkeypatch.setattr(parallel_gzip, "BEHIND", 300)


def by_igzip(path):
    """(bytes, what is wrong)."""
    stream = CompressedStream(str(path), io.BytesIO(path.read_bytes()), GZIP)
    found, buffer = [], np.empty(1 << 12, np.uint8)
    try:
        while n := stream.readinto(buffer):
            found.append(buffer[:n].tobytes())
    except InputError as error:
        return b"".join(found), str(error)
    return b"".join(found), ""


def by_ranges(path, size):
    """(bytes of ranges, number of ranges that hold any, is the rest left to igzip); None if it has none."""
    with Source(path) as source:
        file = source.regular()

    def read(reader):
        if isinstance(reader, CompressedStream):
            return None
        view = np.empty(reader.begin(), np.uint8)
        assert reader.readinto(view) == view.size
        return view.tobytes()

    with ThreadPoolExecutor(3) as pool:
        read_by = [pool.submit(read, reader) for reader, _ in parallel_gzip.readers_of(file, size)]
        found = [future.result() for future in read_by]
    return (b"".join(filter(None, found)), sum(map(bool, found)), None in found) if found else None


@st.composite
def any_data(draw):
    kind = draw(st.integers(0, 4))
    rng, n = random.Random(draw(st.integers(0, 99))), draw(st.integers(1, 30_000))
    if kind == 0:
        return fastq(n // 100 + 1, n)
    if kind == 1:
        return rng.randbytes(n)
    if kind == 2:
        return bytes(rng.choices(b"ACGT", k=n))
    if kind == 3:
        return b"".join(bytes([rng.randrange(256)]) * rng.randrange(1, 700) for _ in range(n // 300 + 1))
    words = [rng.randbytes(rng.randrange(1, 300)) for _ in range(20)]
    return b"".join(rng.choices(words, k=n // 100 + 1))


@examples(120)
@given(
    data=any_data(), level=st.integers(0, 9), strategy=st.sampled_from(STRATEGIES),
    flush=st.sampled_from([0, 0, 100, 3000]), size=st.sampled_from([50, 1000, 9000]),
    n_members=st.integers(1, 3),
)  # fmt: skip
def test_any_stream_is_read(data, level, strategy, flush, size, n_members, tmp_path_factory):
    path = tmp_path_factory.mktemp("gunzip") / "x"
    path.write_bytes(packed(data, level, strategy, flush) * n_members)
    found = by_ranges(path, size)
    if found is not None:
        expected, problem = by_igzip(path)
        assert problem == ""
        assert found[0] == expected[: len(found[0])]
        assert len(found[0]) == len(expected) or found[2]


def test_ranges_are_found_and_used(tmp_path):
    data = fastq(8_000)
    (tmp_path / "x").write_bytes(packed(data))
    found, n, is_left = by_ranges(tmp_path / "x", 100_000)
    assert found == data
    assert n > len(data) // 150_000
    assert not is_left


LONG_NAME = b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 600 + b"\0"
LEFT = {
    "small members": packed(fastq(300)) + packed(b"") * (4 * inflate.MOST_MEMBERS) + packed(fastq(300)),
    "BGZF behind": packed(fastq(300)) + bgzf(fastq(30)),
    "zeros": packed(fastq(300)) + bytes(20),
    "what shrinks a lot": packed(fastq(300) + b"@r\n" + b"A" * 900_000 + b"\n+\n" + b"I" * 900_000 + b"\n"),
    "a long name": packed(fastq(300)) + LONG_NAME + packed(fastq(9))[10:],
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_rare_is_left_to_igzip(name, tmp_path):
    (tmp_path / "x").write_bytes(LEFT[name])
    found, _, is_left = by_ranges(tmp_path / "x", 20_000)
    expected, problem = by_igzip(tmp_path / "x")
    assert problem == ""
    assert is_left
    assert found == expected[: len(found)]
    everything = outcome(plan([tmp_path / "x"]))
    assert everything[1] == ""
    assert by_threads(tmp_path / "x", 20_000, 4, 4) == everything


def test_a_stream_within_a_stored_one_misleads_nobody(tmp_path):
    """Blocks that are found in what is stored are no blocks."""
    inner = packed(fastq(3000))
    (tmp_path / "x").write_bytes(packed(inner + fastq(500) + inner, 0))
    found, _, is_left = by_ranges(tmp_path / "x", 5000)
    assert (found, is_left) == (inner + fastq(500) + inner, False)


@examples(60)
@given(seed=st.integers(0, 10**6), level=st.sampled_from([0, 1, 6]), size=st.sampled_from([60, 900, 5000]))
def test_damage_is_told_as_igzip_tells_it(seed, level, size, tmp_path_factory):
    rng, path = random.Random(seed), tmp_path_factory.mktemp("gunzip") / "x"
    data = packed(fastq(120, seed), level, flush=rng.choice([0, 2000])) * rng.choice([1, 2])
    kind, at = rng.randrange(4), rng.randrange(len(data))
    if kind == 0:
        data = data[:at]
    elif kind == 1:
        data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    elif kind == 2:
        data = data + rng.choice([b"x", b"@r\nA\n+\nI\n", b"\x1f\x8b", data[: at // 2]])
    else:
        data = data[: -4 - rng.randrange(4)] + bytes([rng.randrange(256)]) + data[-3:]
    path.write_bytes(data)
    assert are_same(by_threads(path, size, 4, 4), outcome(plan([path])))


@pytest.mark.parametrize("size", [100, 3000, 20_000])
@pytest.mark.parametrize("data", [fastq(900), fastq(900)[:-40], fastq(900) + b"\n\n", b"\n" + fastq(900)])
def test_records_are_those_of_one_stream(data, size, tmp_path):
    (tmp_path / "x").write_bytes(packed(data))
    expected = outcome(plan([tmp_path / "x"]))
    assert len(expected[0]) >= 900 or expected[1]
    assert are_same(by_threads(tmp_path / "x", size, 4, 4), expected)


# Blocks of BGZF, many a call: what is deflated is read by others, and what others deflate is read.

SIZES = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7]


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


def inflated(packed, skip, n):
    """(whether the blocks are sound, what they hold)."""
    view, stops = np.zeros(n, np.uint8), np.array(stops_of(packed), np.int64)
    return bgzf_codec.inflate(np.frombuffer(bytearray(packed), np.uint8), stops, skip, view), view.tobytes()


@pytest.mark.parametrize("make", [letters, noise, bytes])
@pytest.mark.parametrize("n", SIZES)
def test_blocks_hold_any_data(n, make):
    data = make(n)
    packed = bgzf_codec.deflate(np.frombuffer(bytearray(data), np.uint8))
    assert gzip.decompress(packed + BGZF_END) == data
    assert len(stops_of(packed)) == -(-n // BLOCK)
    assert inflated(packed, 0, n) == (True, data)


@given(data=st.binary(max_size=500), size=st.integers(1, 200), skip=st.integers(0, 200))
def test_blocks_of_others_are_read_from_anywhere(data, size, skip):
    packed = bgzf(data, size)
    skip = min(skip, size, len(data))
    assert inflated(packed, skip, len(data) - skip) == (True, data[skip:])
    assert not inflated(packed, skip, len(data) - skip + 1)[0]
    if skip < len(data):
        assert not inflated(packed, skip, len(data) - skip - 1)[0]


def test_an_isal_without_a_function_is_told(monkeypatch):
    monkeypatch.setattr(bgzf_codec.isal_zlib, "__file__", parallel_gzip.np.random.mtrand.__file__)
    with pytest.raises(FmxError, match=r"isal lacks a function .*--force-reinstall isal"):
        bgzf_codec.isal.__wrapped__()


def test_an_isal_of_other_structs_is_not_trusted(monkeypatch):
    """As if its function did not do what it is asked for; CRC-32 checks what others inflate."""
    found = bgzf_codec.isal()
    monkeypatch.setattr(bgzf_codec, "isal", lambda: found._replace(deflate=found.crc32))
    bgzf_codec.deflater.cache_clear()
    with pytest.raises(FmxError, match="isal<2"):
        bgzf_codec.deflate(np.zeros(9, np.uint8))
    bgzf_codec.deflater.cache_clear()
