"""FASTQ with sequences in several lines is read as the same records in four lines."""

import gzip
import os

import numpy as np
import pytest
from input.test_spans import outcome
from output_of import bgzf
from texts import numbered, random_letters

from fmx.input.spans import plan, read_chunks

GENOME = numbered([random_letters(900, "wrapped"), random_letters(400, "lines")])
RNG, MARKS = np.random.default_rng(1), np.frombuffer(b"@+I!~", np.uint8)
READS = [
    (f"r{i} a comment", GENOME[0][1][3 * i :][: i * 7 % 90], RNG.choice(MARKS, i * 7 % 90).tobytes())
    for i in range(200)
]


def fastq(width=10**6, end="\n", reads=READS) -> bytes:
    """Reads as FASTQ in lines of this many characters; an empty sequence has an empty line."""

    def lines(text):
        return end.join(text[i : i + width] for i in range(0, max(len(text), 1), width))

    return "".join(
        f"@{name}{end}{lines(letters)}{end}+{end}{lines(qualities.decode())}{end}"
        for name, letters, qualities in reads
    ).encode()


FORMS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "BGZF": lambda data: bgzf(data, 300),
    "blank lines around": lambda data: b"\n\n" + data + b"\n \n",
    "no last line end": lambda data: data.removesuffix(b"\n"),
}


@pytest.mark.parametrize("size", [70, 1 << 20])
@pytest.mark.parametrize("form", FORMS)
def test_the_records_are_those_of_four_lines(form, size, folder):
    for width, end in ((1, "\n"), (60, "\n"), (40, "\r\n")):
        data, expected = FORMS[form](fastq(width, end)), outcome(read_chunks([fastq(end=end)]))
        (folder / "in.fq").write_bytes(data)
        assert (len(expected[0]), expected[1]) == (len(READS), "")
        assert outcome(read_chunks([folder / "in.fq"], size)) == expected
        assert outcome(read_chunks([data], size)) == expected
        of_range = plan([folder / "in.fq"], size, 3, range(30, 120))
        assert outcome(span.read() for span in of_range) == (expected[0][30:120], "")


def test_qualities_in_several_lines_are_those_of_a_sequence_in_several():
    data = b"@a\nACGT\n+\n\nIIII\n@b\nACGT\nAC\n+\nIIII\nII\n"
    assert "record 1: 4 bases but 0 qualities" in outcome(read_chunks([data]))[1]


def test_pairs_and_shards_of_pairs(folder, index_of, command):
    files = {"1.fq": fastq(), "2.fq": fastq(), "w1.fq": fastq(20), "w2.fq": fastq(30)}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    expected = command("search", "-q", "-1", "1.fq", "-2", "2.fq").records
    assert len(expected) == 2 * len(READS)
    assert command("search", "-q", "-1", "w1.fq", "-2", "w2.fq").records == expected
    assert command("search", "-q", "-1", "w1.fq", "-2", "2.fq").records == expected
    for i in range(1, 4):
        assert command("search", "-q", "-1", "1.fq", "-2", "w2.fq", "--shard", f"{i}/3", "-o", "d").code == 0
    assert command("merge", "-q", "d", "-o", "out.sam").code == 0
    lines = (folder / "out.sam").read_text().splitlines()
    assert [line.split("\t") for line in lines if line[0] != "@"] == expected


@pytest.mark.parametrize(
    ("spoilt", "where", "what"),
    [
        (b"@a\nAC\nGT\n", "record 201", "the file ends within this record"),
        (b"@a\nAC\nGT\n+\nII\nI\n", "record 201", "4 bases but 3 qualities"),
        (b"@a\nAC\nGT\n+\nII\nIII\n@b\nA\n+\nI\n", "record 201", "4 bases but 5 qualities"),
        (b"\n@a\nA\n+\nI\n", "record 201", "blank line"),
        (b"junk\n", "record 201", "expected '@'"),
        (b"@a\nA1\nGT\n+\nII\nII\n", "record 201", "not a base"),
    ],
)
def test_damage_is_told_with_its_record(spoilt, where, what, folder, index_of, command):
    (folder / "in.fq").write_bytes(fastq(20) + spoilt)
    result = command("search", "-q", "-x", index_of(GENOME), "in.fq", "-o", "out.sam")
    assert (result.code, os.path.exists("out.sam")) == (1, False)
    (line,) = result.err.splitlines()
    assert line.startswith(f"fmx: error: in.fq: {where}: ")
    assert what in line
