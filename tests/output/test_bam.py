"""BAM holds the same records as SAM, to the byte of the text, and other programs accept both."""

import subprocess
from dataclasses import replace

import cases
import numpy as np
import pysam
import pytest
from test_sam import named
from texts import TEXTS, numbered, random_letters, reads_of

from fmx.errors import UnsupportedError
from fmx.index.fasta import read_fasta
from fmx.output import put
from fmx.output.formats import bam

NAMES = ["one letter", "contigs of 1 to 6", "IUPAC", "repeats across separators"]
OPTIONS = [["-a"], ["-k", "2", "-m", "5", "--rg", r"@RG\tID:x"], ["--no-unmapped"]]


@pytest.fixture
def both(folder, index_of, command):
    """A function: name of a text, options -> (SAM text, out.sam, out.bam)."""

    def both(name, arguments):
        contigs = TEXTS[name]
        (folder / "r.fq").write_bytes(cases.fastq([read[:2] for read in named(reads_of(contigs))]))
        for output in ("out.sam", "out.bam"):
            done = command("search", "-q", "-x", index_of(contigs), "r.fq", "-o", output, *arguments)
            assert (done.code, done.out, done.err) == (0, b"", "")
        return (folder / "out.sam").read_text(), folder / "out.sam", folder / "out.bam"

    return both


@pytest.mark.parametrize("name", NAMES)
def test_pysam_reads_the_same_records_from_both(name, both):
    text, *paths = both(name, ["-a"])
    records = [line for line in text.splitlines() if not line.startswith("@")]
    for path in paths:
        with pysam.AlignmentFile(str(path), check_sq=False) as file:
            assert [record.to_string() for record in file] == records


def bin_of(start, stop) -> int:
    """The bin of [start, stop): the smallest that holds it (SAM specification, section 5.3)."""
    last = stop - 1
    for shift, first in ((14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)):
        if start >> shift == last >> shift:
            return first + (start >> shift)
    return 0


def test_bins_are_those_of_the_specification(folder, index_of, command):
    contigs = numbered([random_letters(1_100_000, "bins")])
    starts = [
        border + shift
        for border in (1 << 14, 1 << 15, 1 << 17, 1 << 18, 1 << 20)
        for shift in (-60, -30, -1, 0, 1)
    ]
    reads = [(f"r{i}", contigs[0][1][start : start + 50]) for i, start in enumerate(starts)]
    (folder / "r.fq").write_bytes(cases.fastq([*reads, ("none", "N")]))
    assert command("search", "-q", "-x", index_of(contigs), "r.fq", "-o", "out.bam").code == 0
    with pysam.AlignmentFile("out.bam") as file:
        bins = [record.bin for record in file]
    assert bins == [bin_of(start, start + 50) for start in starts] + [bin_of(-1, 0)]
    assert len(set(bins)) > 8


def test_no_reads_make_a_valid_empty_bam(folder, index_of, command, peer):
    (folder / "none.fq").write_bytes(b"")
    assert command("search", "-x", index_of(TEXTS["IUPAC"]), "none.fq", "-o", "out.bam").code == 0
    subprocess.run([peer("samtools"), "quickcheck", "-v", "out.bam"], check=True)
    with pysam.AlignmentFile("out.bam") as file:
        assert list(file) == []
        assert file.nreferences == len(TEXTS["IUPAC"])


def test_a_contig_too_long_for_bam_is_refused():
    reference, _ = read_fasta(cases.fasta([("short", "ACGT"), ("long", "ACGTA")]))
    names = put.make_names(reference.names)
    fitting, too_long = (replace(reference, lengths=np.array([4, n])) for n in (2**31 - 1, 2**31))
    assert bam.header(fitting, b"", names).endswith(b"long\0" + b"\xff\xff\xff\x7f")
    with pytest.raises(UnsupportedError, match="contig long has 2147483648 bases"):
        bam.header(too_long, b"", names)
