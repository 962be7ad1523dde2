"""zstd, xz and bzip2, told by their first bytes: read as a plain file is, or refused."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
from cases import fastq
from output_of import bgzf, without_program, zstd

from fmx.errors import InputError
from fmx.input.spans import read_chunks
from fmx.input.streams import Source

READS = fastq([(f"r{i}", "ACGTTGCAACGGTAC"[i % 7 :]) for i in range(5000)])
SKIPPED = b"\x50\x2a\x4d\x18\4\0\0\0abcd"
PACK = {
    "zstd": [zstd.compress(READS, options={zstd.CompressionParameter.checksum_flag: 1})],
    "xz": [lzma.compress(READS)],
    "bzip2": [bz2.compress(READS)],
}
SEVERAL = {
    "zstd": [SKIPPED, zstd.compress(READS[:999]), zstd.compress(b""), SKIPPED, zstd.compress(READS[999:])],
    "xz": [lzma.compress(READS[:999]), bytes(8), lzma.compress(b""), lzma.compress(READS[999:]), bytes(4)],
    "bzip2": [bz2.compress(READS[:999]), bz2.compress(b""), bz2.compress(READS[999:])],
}


def read(path, at_once=1 << 20) -> bytes:
    buffer, found = np.empty(at_once, np.uint8), []
    with Source(path) as source:
        while n := source.readinto(buffer):
            found.append(buffer[:n].tobytes())
    return b"".join(found)


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("at_once", [7, 1 << 10, 1 << 20])
def test_it_is_read_to_its_end(kind, at_once, tmp_path):
    for data in (PACK[kind], SEVERAL[kind]):
        (tmp_path / "x").write_bytes(b"".join(data))
        assert read(tmp_path / "x", at_once) == READS
    chunks = list(read_chunks([tmp_path / "x"], 10_000))
    assert len(chunks) > 9
    assert b"".join(chunk.data.tobytes() for chunk in chunks) == READS


def spoiled(whole):
    """(data, may they be right) of one stream that was cut, has wrong bytes, or another thing behind it."""
    for n in [*range(6, 60), *range(60, len(whole), 97), *range(len(whole) - 40, len(whole))]:
        yield whole[:n], False
    for i in [*range(8, 40), *range(40, len(whole), 131)]:
        yield whole[:i] + bytes([whole[i] ^ 0x10]) + whole[i + 1 :], True
    yield from ((whole + more, False) for more in (b"@r\nACGT\n+\nIIII\n", b"x"))


@pytest.mark.parametrize("kind", PACK)
def test_damage_is_noticed(kind, tmp_path):
    padded = [(PACK["xz"][0] + bytes(n), False) for n in (1, 2, 3, 5, 7) if kind == "xz"]  # not by fours
    for data, may_be_right in [*spoiled(PACK[kind][0]), *padded]:
        (tmp_path / "x").write_bytes(data)
        try:
            result = read(tmp_path / "x")
        except InputError as error:
            result = str(error)
        assert f"{kind} stream: truncated or damaged" in str(result) or (may_be_right and result == READS)


@pytest.mark.parametrize("how", ["file", "stdin"])
@pytest.mark.parametrize("kind", [*PACK, "gzip", "BGZF"])
def test_a_search_writes_what_it_writes_of_a_plain_file(kind, how, folder, index_of, command):
    packed = {"gzip": gzip.compress(READS), "BGZF": bgzf(READS)}.get(kind) or PACK[kind][0]
    (folder / "reads").write_bytes(packed)
    (folder / "plain").write_bytes(READS)
    index = index_of([("c1", "ACGTTGCAACGGTACTTGCA")])
    expected = command("search", "-q", "-x", index, "plain")
    found = command("search", "-q", "-x", index, "reads" if how == "file" else "-", stdin=packed)
    assert (found.code, found.err) == (0, "")
    assert without_program(found.out) == without_program(expected.out)
