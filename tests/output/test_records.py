"""Records as the specification, docs/formats.md and the naive oracle say: SAM, BAM, TSV, BED and counts."""

import subprocess
from dataclasses import replace

import cases
import naive
import numpy as np
import pysam
import pytest
import validate
from output_of import records_in
from texts import TEXTS, numbered, random_letters, reads_of

from fmx.errors import UnsupportedError
from fmx.index.fasta import read_fasta
from fmx.output import put
from fmx.output.formats import bam

NAMES = [
    "one letter", "contigs of 1 to 6", "palindromes", "IUPAC", "lower case and U",
    "repeats across separators",
]  # fmt: skip
OPTIONS = {
    "default": ([], {}),
    "-a": (["-a"], {"limit": None}),
    "-k 3": (["-k", "3"], {"limit": 3}),
    "-k 3 -m 4": (["-k", "3", "-m", "4"], {"limit": 3, "at_most": 4}),
    "-a -m 1": (["-a", "-m", "1"], {"limit": None, "at_most": 1}),
    "forward": (["-a", "--forward-only"], {"limit": None, "strands": (naive.FORWARD,)}),
    "reverse": (["-a", "--reverse-only"], {"limit": None, "strands": (naive.REVERSE,)}),
    "no unmapped": (["-k", "2", "--no-unmapped", "-m", "9"], {"limit": 2, "at_most": 9, "unmapped": False}),
    "reported": (["-k", "2", "--nh", "reported"], {"limit": 2, "nh": "reported"}),
    "no-tags": (["--tags", "none"], {"tags": ()}),
    "few-tags": (["-a", "--tags", "MD,NH"], {"limit": None, "tags": ("NH", "MD")}),
    "read group": (["--rg", r"@RG\tID:lane1\tSM:a sample"], {"group": "lane1"}),
}

UNIT = random_letters(200, "tags")
GENOME = numbered([UNIT, "T" + UNIT[50:120], UNIT[60:100] + "G" + UNIT[55:105]])


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_records_of_fastq(name, options, folder, index_of, command):
    arguments, expected = OPTIONS[options]
    contigs = TEXTS[name]
    sequences = [(f"r{i}", sequence) for i, sequence in enumerate(reads_of(contigs))]
    (folder / "reads.fq").write_bytes(cases.fastq(sequences))
    run = ["search", "-q", "-x", index_of(contigs), "reads.fq", *arguments]
    result = command(*run)
    assert (result.code, result.err) == (0, "")
    reads = [(name, s, "".join(chr(33 + j % 94) for j in range(len(s)))) for name, s in sequences]
    found = validate.check(result.out, contigs, reads, **expected)
    assert ["@RG", "ID:lane1", "SM:a sample"] in found.header or "group" not in expected
    assert command(*run, "-o", "out.bam").code == 0
    assert records_in("out.bam") == result.records


@pytest.mark.parametrize("tag", ["NH", "HI", "NM", "MD"])
def test_a_tag_is_written_alone(tag, folder, index_of, command):
    (folder / "r.fq").write_bytes(cases.fastq([("r", UNIT[10:35])]))
    (record,) = command("search", "-q", "-x", index_of(GENOME), "r.fq", "--tags", tag).records
    assert [field[:2] for field in record[11:]] == [tag]


@pytest.mark.parametrize("tags", ["MC", "NH,MC", "NH"])
def test_a_mate_has_the_cigar_of_the_other_one(tags, folder, index_of, command):
    pairs = [(UNIT[10:35], UNIT[60:90]), (UNIT[:21], "A" * 22), (UNIT[20:45], UNIT[150:170])]
    for i in (0, 1):
        reads = [(f"r{n}", pair[i]) for n, pair in enumerate(pairs)]
        (folder / f"{i}.fq").write_bytes(cases.fastq(reads))
    run = ["search", "-q", "-x", index_of(GENOME), "-1", "0.fq", "-2", "1.fq", "--ff", "--tags", tags]
    found = command(*run)
    assert (found.code, found.err) == (0, "")
    for record in found.records:
        flag, pair = int(record[1]), pairs[int(record[0][1:])]
        other = pair[1 if flag & pysam.FREAD1 else 0]
        expected = [] if flag & pysam.FMUNMAP or "MC" not in tags else [f"MC:Z:{len(other)}M"]
        assert [tag for tag in record[11:] if tag.startswith("MC")] == expected
    assert len({record[1] for record in found.records}) > 3
    assert command(*run, "-o", "x.bam").code == 0
    assert records_in("x.bam") == found.records


# BAM


def bin_of(start, stop) -> int:
    """The bin of [start, stop): the smallest that holds it (SAM specification, section 5.3)."""
    last = stop - 1
    for shift, first in ((14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)):
        if start >> shift == last >> shift:
            return first + (start >> shift)
    return 0


def test_bins_are_those_of_the_specification(folder, index_of, command):
    contigs = numbered([random_letters(1_100_000, "bins")])
    starts = [(1 << n) + shift for n in (14, 15, 17, 18, 20) for shift in (-60, -30, -1, 0, 1)]
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
        assert (list(file), file.nreferences) == ([], len(TEXTS["IUPAC"]))


def test_a_contig_too_long_for_bam_is_refused():
    reference, _ = read_fasta(cases.fasta([("short", "ACGT"), ("long", "ACGTA")]))
    names = put.make_names(reference.names)
    fitting, too_long = (replace(reference, lengths=np.array([4, n])) for n in (2**31 - 1, 2**31))
    assert bam.header(fitting, b"", names).endswith(b"long\0" + b"\xff\xff\xff\x7f")
    with pytest.raises(UnsupportedError, match="contig long has 2147483648 bases"):
        bam.header(too_long, b"", names)


# Tables

HEADER = "pattern\tcontig\tstart\tend\tstrand\toccurrences"


@pytest.mark.parametrize("name", ["palindromes", "contigs of 1 to 6", "repeats across separators"])
def test_locate_lists_every_occurrence_in_order(name, folder, index_of, command):
    contigs = TEXTS[name]
    sequences = [sequence for sequence in reads_of(contigs) if sequence]
    (folder / "p.fa").write_bytes(cases.fasta([(f"p{i}", s) for i, s in enumerate(sequences)]))
    tsv, bed = [HEADER], []
    for i, sequence in enumerate(sequences):
        found = naive.locate(contigs, sequence)
        for contig, start, strand in found:
            place = [contigs[contig][0], str(start), str(start + len(sequence))]
            tsv.append("\t".join([f"p{i}", *place, "+-"[strand], str(len(found))]))
            bed.append("\t".join([*place, f"p{i}", "0", "+-"[strand]]))
    for kind, expected in (([], tsv), (["--format", "tsv"], tsv), (["--format", "bed"], bed)):
        result = command("locate", "-q", "-x", index_of(contigs), "p.fa", *kind)
        assert (result.code, result.err) == (0, "")
        assert result.out.decode().splitlines() == expected


def test_patterns_of_the_command_line_are_their_own_names(index_of, command):
    run = ["locate", "-q", "-x", index_of([("x", "AACGTT"), ("y", "ttt")])]
    result = command(*run, "-p", "ACGT", "-p", "ggg", "-p", "aaa", "--forward-only")
    assert result.out.decode().splitlines() == [HEADER, "ACGT\tx\t1\t5\t+\t1"]
    assert command(*run, "-p", "aaa", "--reverse-only", "--format", "bed").out == b"y\t0\t3\taaa\t0\t-\n"
    records = command(*run, "-p", "AC", "--format", "sam").records
    assert [record[:4] for record in records] == [["AC", "0", "x", "2"], ["AC", "272", "x", "4"]]
