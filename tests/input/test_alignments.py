"""Reads in BAM and CRAM: mapped as FASTQ is, with the read groups that they bring along."""

import gzip
import lzma
import os
import struct
import subprocess
import sys
from collections import Counter

import cases
import naive
import pysam
import pytest
from cover import nightly
from output_of import bgzf, records_in
from texts import numbered, random_letters

UNIT = random_letters(300, "alignments")
GENOME = numbered([UNIT])
READS = [(f"r{i}", UNIT[i * 9 : i * 9 + 30] if i % 4 else random_letters(20, f"r{i}")) for i in range(20)]
GROUPS = [None, "lane1", "a.group-of/many+letters"]


@pytest.fixture
def make(folder):
    """A function: write reads into a BAM or CRAM file of unmapped reads, the groups in turn."""

    def make(name, reads=READS, groups=GROUPS, n_mapped=0):
        header = {"HD": {"VN": "1.6"}, "RG": [{"ID": group, "SM": "s"} for group in groups if group]}
        header["SQ"] = [{"SN": "other", "LN": 1000}] if n_mapped else []
        with pysam.AlignmentFile(name, "wc" if name.endswith("cram") else "wb", header=header) as file:
            qualities = cases.fastq(reads).decode().splitlines()[3::4]
            for i, ((read, sequence), quality) in enumerate(zip(reads, qualities, strict=True)):
                record = pysam.AlignedSegment(file.header)
                record.query_name, record.query_sequence, record.flag = read, sequence, 4
                record.query_qualities = pysam.qualitystring_to_array(quality)
                if i < n_mapped:  # as another mapper wrote it, turned around, and once more
                    record.flag, record.reference_id, record.reference_start = 16, 0, 5
                    record.cigarstring = f"{len(sequence)}M"
                if groups[i % len(groups)]:
                    record.set_tag("RG", groups[i % len(groups)])
                file.write(record)
                if i < n_mapped:
                    record.flag = 16 + 256
                    file.write(record)

    return make


def expected(command, index, reads=READS, groups=GROUPS) -> list:
    with open("r.fq", "wb") as file:
        file.write(cases.fastq(reads))
    records = command("search", "-q", "-a", "-x", index, "r.fq").records
    number = {name: i for i, (name, _) in enumerate(reads)}
    tags = [groups[number[record[0]] % len(groups)] for record in records]
    return [[*record, *([f"RG:Z:{tag}"] if tag else [])] for record, tag in zip(records, tags, strict=True)]


@pytest.mark.parametrize("name", ["u.bam", "u.cram"])
def test_reads_are_mapped_with_their_groups(name, make, index_of, command):
    make(name)
    index = index_of(GENOME)
    found = command("search", "-q", "-a", "-x", index, name, "-t", "2")
    assert (found.code, found.err) == (0, "")
    assert found.records == expected(command, index)
    lines = [line for line in found.out.decode().splitlines() if line.startswith("@RG")]
    assert lines == [f"@RG\tID:{group}\tSM:s" for group in GROUPS[1:]]
    assert command("search", "-q", "-a", "-x", index, name, "-o", "out.bam").code == 0
    assert records_in("out.bam") == found.records


def test_records_of_another_mapper_are_reads_again(make, index_of, command):
    make("m.bam", groups=[None], n_mapped=7)
    turned = [(name, naive.reverse_complement(letters)) for name, letters in READS[:7]] + READS[7:]
    found = command("search", "-q", "-x", index_of(GENOME), "m.bam").records
    again = [naive.reverse_complement(record[9]) if record[1] == "16" else record[9] for record in found]
    assert list(zip([record[0] for record in found], again, strict=True)) == turned


def test_rg_stands_for_all_groups(make, index_of, command):
    make("u.bam")
    found = command("search", "-q", "-x", index_of(GENOME), "u.bam", "--rg", r"@RG\tID:one")
    assert {record[-1] for record in found.records} == {"RG:Z:one"}
    assert [line for line in found.out.splitlines() if line.startswith(b"@RG")] == [b"@RG\tID:one"]


@pytest.mark.parametrize("name", ["u.bam", "u.cram"])
def test_a_pipe_is_read_as_a_file(name, make, folder, index_of, command):
    """From there no header is seen before, so reads have no group unless --rg names one."""
    make(name)
    data, index = (folder / name).read_bytes(), index_of(GENOME)
    assert command("search", "-q", "-a", "-x", index, "-", stdin=data).records == expected(
        command, index, groups=[None]
    )
    group = ["--rg", r"@RG\tID:one"]
    os.mkfifo("pipe")
    with open("data", "wb") as file:
        file.write(data)
    writer = subprocess.Popen("cat data > pipe", shell=True)
    found = command("search", "-q", "-a", "-x", index, "pipe", *group)
    assert (writer.wait(), found.code, found.err) == (0, 0, "")
    assert found.records == expected(command, index, groups=["one"])


@pytest.mark.parametrize("name", ["p.bam", "p.cram"])
def test_pairs_come_in_turn(name, folder, index_of, command):
    pairs = [(UNIT[i * 9 :][:30], naive.reverse_complement(UNIT[i * 9 + 50 :][:25])) for i in range(20)]
    for mate in (0, 1):
        (folder / f"{mate}.fq").write_bytes(
            cases.fastq([(f"p{i}", pair[mate]) for i, pair in enumerate(pairs)])
        )
    pysam.samtools.fqimport("-1", "0.fq", "-2", "1.fq", "-o", name, catch_stdout=False)
    wanted = command("search", "-q", "-x", index_of(GENOME), "-1", "0.fq", "-2", "1.fq").records
    assert sum(int(record[1]) & 2 > 0 for record in wanted) > 30
    assert command("search", "-q", "-x", index_of(GENOME), "--interleaved", name).records == wanted


def test_pairs_sorted_by_position_come_with_a_command_that_works(folder, index_of, command, peer):
    """In the error, run as it is written."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    for mate in (1, 2):
        starts = (i * 9 + 50 * (i % 2 != mate % 2) for i in range(20))
        letters = [naive.reverse_complement(UNIT[x : x + 25]) if x % 9 else UNIT[x : x + 25] for x in starts]
        (folder / f"{mate}.fq").write_bytes(cases.fastq([(f"p{i}", x) for i, x in enumerate(letters)]))
    wanted = command("search", "-q", "-1", "1.fq", "-2", "2.fq").records
    assert sum(int(record[1]) & 66 == 66 for record in wanted) > 15
    assert command("search", "-q", "-1", "1.fq", "-2", "2.fq", "--sort", "-o", "a b.bam").code == 0
    advised = "samtools collate -O 'a b.bam' | fmx search --interleaved -"
    result = command("search", "-q", "--interleaved", "a b.bam", "-o", "out.sam")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert result.err.endswith(f"equal names; if the file is sorted by position, map them with: {advised}\n")
    shell = f'set -o pipefail; fmx() {{ {sys.executable} -m fmx "$@"; }}; {advised} -q -x ref.fmx'
    shell = shell.replace("samtools", peer("samtools"), 1)
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    found = [line.split("\t") for line in done.stdout.splitlines() if line[0] != "@"]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("name", ["u.bam", "u.cram"])
def test_no_read_is_lost_for_its_name(name, make, index_of, command):
    """samtools fastq takes records of one name that stand together for one."""
    make(name, [*READS[:3], ("same", "ACGT"), ("same", "ACGT"), ("same", "AC"), READS[3], READS[3]], [None])
    result = command("search", "-q", "-x", index_of(GENOME), name, "-o", "o.sam")
    assert (result.code, os.path.exists("o.sam")) == (1, False)
    assert (
        f"{name}: 3 reads have the same name as the read before, and samtools fastq leaves out such reads: "
        in result.err
    )


def test_cram_with_a_reference_elsewhere(make, folder, index_of, command, monkeypatch):
    """Written against a FASTA it is read by that, and not without; written whole, both ways."""
    (folder / "there.fa").write_text("".join(f">{name}\n{letters}\n" for name, letters in GENOME))
    reads = [(f"{name}.{i}", letters) for i in range(9) for name, letters in READS]
    (folder / "r.fq").write_bytes(cases.fastq(reads))
    index, by = index_of(GENOME), ["--reference", "there.fa"]
    for name, more in (("whole.cram", []), ("by.cram", by), ("sorted.cram", [*by, "--sort"])):
        result = command("search", "-q", "-x", index, "r.fq", "-o", name, *more)
        assert (result.code, result.err) == (0, "")
    expected = command("search", "-q", "-x", index, "r.fq").records
    (folder / "there.fa").rename(folder / "other.fa")
    monkeypatch.setenv("REF_PATH", str(folder / "none"))
    result = command("search", "-q", "-x", index, "by.cram")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert result.err.endswith("or give the reference that it was compressed with: --reference FASTA\n")
    for name in ("by.cram", "whole.cram"):
        found = command("search", "-q", "-x", index, name, "--reference", "other.fa").records
        assert found == expected
    found = command("search", "-q", "-x", index, "sorted.cram", "--reference", "other.fa").records
    assert sorted(found) == sorted(expected)
    result = command("search", "-q", "-x", index, "r.fq", "-o", "x.cram", *by)
    assert (result.code, "there.fa: No such file" in result.err) == (1, True)


NO_FASTA = "line 1: expected '>' at the start of a FASTA file, found '@' (this looks like FASTQ or SAM)"
PACKED = "samtools cannot use a FASTA compressed with {}: decompress it, or compress it with bgzip"


@pytest.mark.parametrize(("reads", "output"), [("by.cram", "o.sam"), ("r.fq", "o.cram")])
def test_a_reference_is_fasta_that_samtools_can_use(reads, output, folder, index_of, command, monkeypatch):
    monkeypatch.setenv("REF_PATH", str(folder / "none"))
    fasta, fastq, search = cases.fasta(GENOME), cases.fastq(READS), ["search", "-q", "-x", index_of(GENOME)]
    (folder / "r.fq").write_bytes(fastq)
    (folder / "first.fa").write_bytes(fasta)
    assert command(*search, "r.fq", "-o", "by.cram", "--reference", "first.fa").code == 0
    (folder / "first.fa").unlink()
    for name, data, error in (
        ("g.fa.gz", gzip.compress(fasta), PACKED.format("gzip")),
        ("x.fa", lzma.compress(fasta), PACKED.format("xz")),
        ("q.fa", fastq, NO_FASTA), ("q.fa.gz", bgzf(fastq), NO_FASTA),
        ("a.cram", (folder / "by.cram").read_bytes(), "this is BAM or CRAM; expected FASTA"),
        ("pipe.fa", None, "samtools cannot read a FASTA from a pipe: give a file"),
    ):  # fmt: skip
        os.mkfifo(name) if data is None else (folder / name).write_bytes(data)
        result = command(*search, reads, "-o", output, "--reference", name)
        assert (result.code, result.err) == (1, f"fmx: error: {name}: {error}\n")
        assert not os.path.exists(output)
    expected = command(*search, "r.fq").records
    for name, data in (("whole.fa", b"\n" + fasta), ("whole.fa.gz", bgzf(fasta, 100))):
        (folder / name).write_bytes(data)
        result = command(*search, reads, "-o", output, "--reference", name)
        assert (result.code, result.err) == (0, "")
        cram = output if output == "o.cram" else reads
        assert command(*search, cram, "--reference", name).records == expected


def test_a_group_that_the_header_does_not_know_takes_no_room_that_is_not_there(
    make, folder, index_of, command
):
    make("u.bam", groups=["ab", "cd"])
    (folder / "r.fq").write_bytes(
        b"".join(b"@r%d\tRG:Z:%s\nACGT\n+\nIIII\n" % (i, b"x" * i) for i in range(5))
    )
    found = command("search", "-q", "-x", index_of(GENOME), "u.bam", "r.fq").records[-5:]
    tags = [[tag for tag in record[11:] if tag.startswith("RG")] for record in found]
    assert tags == [[], ["RG:Z:x"], ["RG:Z:xx"], [], []]


@pytest.mark.parametrize("how", ["file", "stdin"])
def test_cram_cut_at_the_border_of_a_container_is_refused(how, make, folder, index_of, command):
    make("whole.cram")
    cut, given = (folder / "whole.cram").read_bytes()[:-38], "cut.cram" if how == "file" else "-"
    (folder / "cut.cram").write_bytes(cut)  # without the container that marks the end
    result = command("search", "-q", "-x", index_of(GENOME), given, "-o", "o.sam", stdin=cut)
    assert (result.code, os.path.exists("o.sam")) == (1, False)
    name = "cut.cram" if how == "file" else "standard input"
    what = "truncated: the CRAM end-of-file marker is missing; copy or download it again"
    assert result.err == f"fmx: error: {name}: {what}\n"


@pytest.mark.parametrize("step", [45, nightly(1)])
@pytest.mark.parametrize("name", ["u.bam", "u.cram"])
def test_a_changed_byte_is_told_or_changes_nothing(name, step, make, folder, index_of, command):
    make(name, READS[:4])
    data, index = (folder / name).read_bytes(), index_of(GENOME)
    right, made = command("search", "-q", "-a", "-x", index, name).records, Counter()
    for i in range(1 % step, len(data), step):  # 12 is in the BGZF field
        (folder / name).write_bytes(data[:i] + bytes([data[i] ^ 255]) + data[i + 1 :])
        result = command("search", "-q", "-a", "-x", index, name)
        made[result.code] += 1
        if result.code == 0:
            assert (result.records, result.err) == (right, "")
        else:
            assert result.code == 1
            (line,) = result.err.splitlines()
            assert line.startswith(f"fmx: error: {name}: ")
    assert made[0] or step > 1
    assert made[1]


def test_a_read_group_that_is_none_is_told(folder, index_of, command):
    """samtools refuses these headers, too."""
    index = index_of(GENOME)
    for line in (b"@RG\tSM:x", b"@RG\tID", b"@RG\tID:a\tjunk", b"@RG\t", b"junk\n@RG\tID:x"):
        text = b"@HD\tVN:1.6\n" + line + b"\n"
        (folder / "u.bam").write_bytes(bgzf(b"BAM\1" + struct.pack("<i", len(text)) + text + bytes(4)))
        result = command("search", "-q", "-x", index, "u.bam")
        assert (result.code, result.err.count("\n")) == (1, 1)
        assert result.err.startswith("fmx: error: u.bam: header: damaged (")


def test_what_is_wrong_is_told(make, folder, index_of, command, monkeypatch):
    make("u.bam")
    make("v.bam", groups=["lane1"])
    with pysam.AlignmentFile("w.bam", "wb", header={"RG": [{"ID": "lane1", "SM": "t"}]}):
        pass
    whole, index = (folder / "u.bam").read_bytes(), index_of(GENOME)
    (folder / "cut.bam").write_bytes(whole[:-28])
    (folder / "bad.bam").write_bytes(whole[:-60] + whole[-28:])

    def said(*arguments, **options):
        result = command("search", "-q", "-x", index, "-o", "out.sam", *arguments, **options)
        assert not (folder / "out.sam").exists()
        return result.code, result.err

    what = "truncated: the BGZF end-of-file marker is missing; copy or download it again"
    assert said("cut.bam") == (1, f"fmx: error: cut.bam: {what}\n")
    code, err = said("bad.bam")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("fmx: error: bad.bam: truncated or damaged (")
    code, err = said("-", stdin=whole[:-28])
    assert (code, f"standard input: {what}" in err) == (1, True)
    code, err = said("-", stdin=(folder / "bad.bam").read_bytes())
    assert (code, "standard input: truncated or damaged (" in err) == (1, True)
    code, err = said("v.bam", "w.bam")
    assert (code, "w.bam: read group lane1 differs from that of another file: give --rg" in err) == (2, True)
    monkeypatch.setitem(sys.modules, "pysam", None)
    code, err = said("v.bam", "--rg", r"@RG\tID:x")
    assert (code, "reads in BAM and CRAM need pysam: pip install pysam" in err) == (1, True)
