"""Writers of hits: room for long reads and names, gaps of records, reads without a name."""

import cases
import numpy as np
import pytest

from fmx.index.fasta import read_fasta
from fmx.input.chunks import Chunk
from fmx.input.reads import parse
from fmx.output import module_of
from fmx.output.records import SingleReads, gap_byte, gap_of, put_records, with_gaps
from fmx.output.search_output import SearchOutput
from fmx.search.hits import Hits

CONTIGS = [("one", "ACGTACGGTCA"), ("two", "TTGACCATTGA")]


@pytest.fixture
def reference(tmp_path):
    paths = [tmp_path / f"{name}.fa" for name, _ in CONTIGS]
    for path, contig in zip(paths, CONTIGS, strict=True):
        path.write_bytes(cases.fasta([contig]))
    return read_fasta(paths)[0]  # of several files, whose contigs are groups


def writer_of(kind, reference):
    output = SearchOutput(kind=kind, matrix="counts" if kind in ("rtab", "npz") else None)
    return module_of(kind).open_hits(reference, output, lambda names: b"")


@pytest.mark.parametrize("kind", ["sam", "bed", "tsv"])
@pytest.mark.parametrize(("n_name", "n"), [(1, 6000), (250, 1)])
def test_records_of_long_reads_and_names_fit(kind, n_name, n, reference):
    writer, _ = writer_of(kind, reference)
    data = "".join(f"@{'r' * n_name}\n{'A' * m}\n+\n{'I' * m}\n" for m in (1, n, 1)).encode()
    batch = parse(Chunk("reads.fq", np.frombuffer(bytearray(data), np.uint8), True, 1, 3))
    n_hits = 40
    hits = Hits(
        np.array([0, 0, n_hits, n_hits]), np.zeros(n_hits, np.int64), np.zeros(n_hits, np.bool_),
        np.array([2**40] * 3),
    )  # fmt: skip
    lines = bytes(writer.format(batch, hits, 0, 0, n_hits)).splitlines()
    assert len(lines) == n_hits + 2 * (kind == "sam")
    assert all(b"r" * n_name in line for line in lines)
    writer, _ = writer_of(kind, reference)
    room = writer.format(batch, hits, 0, 30, n_hits).base.size  # of ten records, and one of each other read
    assert room <= 1.125 * (2 * (n + 2) + 12 * (n_name + writer.widest))


@pytest.mark.parametrize("head", [b"@", b">"])
def test_gaps_of_records_are_their_bases_and_qualities(head, reference):
    """As a GPU makes SAM: what is left out of a record is put into its gap, byte by byte."""
    writer, _ = writer_of("sam", reference)
    reads = [(b"r1", b"ACGTN", b"abcde"), (b"r2", b"", b""), (b"r3", b"TGa", b"!~K"), (b"r4", b"G", b"#")]
    data = b"".join(head + b"%b\n%b\n" % read[:2] + b"+\n%b\n" % read[2] * (head == b"@") for read in reads)
    batch = parse(Chunk("reads", np.frombuffer(bytearray(data), np.uint8), head == b"@", 1, 4))
    hits = Hits(
        np.array([0, 2, 2, 3, 3]), np.array([0, 13, 12]), np.array([True, False, False]),
        np.array([2, 0, 1, 9]),
    )  # fmt: skip
    expected = bytes(writer.format(batch, hits, 0, 0, 3))
    form, out = with_gaps(writer.form, np.zeros(4, np.int64)), np.zeros(len(expected), np.uint8)
    n = np.int64(0)
    for r in range(4):
        n = put_records(SingleReads(batch, hits, 0, 0, 3), form, out, n, r)
    assert (n, bytes(out) == expected) == (len(expected), False)
    for r, reverse in enumerate((True, False, False, False)):
        start, size = gap_of(form, batch, r)
        for j in range(size):
            out[start + j] = gap_byte(form, batch, r, reverse, j)
    assert bytes(out) == expected


def test_a_read_without_a_name_goes_by_its_letters(reference):
    writer, _ = writer_of("tsv", reference)
    data = np.frombuffer(bytearray(b">\nTTGA\n>x y\nTTGA\n"), np.uint8)
    batch = parse(Chunk("reads.fa", data, False, 1, 2))
    one = np.array([15, 15]), np.array([False, False]), np.array([1, 1])
    records = bytes(writer.format(batch, Hits(np.arange(3), *one), 0, 0, 2)).splitlines()
    assert records == [b"TTGA\ttwo\t3\t7\t+\t1", b"x\ttwo\t3\t7\t+\t1"]
