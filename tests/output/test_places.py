"""No output in the place of what is read or of another output, and each is what its name says."""

import os
import shutil
import subprocess

import pytest
from output_of import without_program
from runs import MAIN

from fmx import system

GENOME = [("c1", "ACGTTGCAAC" * 4 + "GGTACATTCG")]
GOOD = b"".join(b"@r%d\nACGTTGCAAC\n+\nIIIIIIIIII\n" % i for i in range(50))
FASTA = b">a\nACGTTGCAAC\n>b\nACGTTGCTAC\n"


@pytest.fixture
def indexed(folder, index_of):
    """A folder that holds ref.fmx, reads q.fq and sequences q.fa."""
    shutil.copytree(index_of(GENOME), folder / "ref.fmx")  # a failure may harm it
    (folder / "q.fq").write_bytes(GOOD)
    (folder / "q.fa").write_bytes(FASTA)
    (folder / "g.csv").write_text("id,sequence,gene\ng1,ACGTTGCAAC,A\n")
    (folder / "p.txt").write_text("one\tACGTTGCAAC\tCGAATGTACC\n")
    return folder


def contents(folder) -> dict:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(result, *words):
    assert result.code == 2, result.err
    assert result.out == b""
    for word in words:
        assert word in result.err
    assert "Traceback" not in result.err


CLASHES = [
    ["search", "reads", "-o", "reads"],
    ["search", "seqs", "reads", "-o", "reads"],
    ["search", "reads", "-o", "./reads"],
    ["search", "./reads", "-o", "reads"],
    ["search", "reads", "-o", "link"],
    ["search", "link", "-o", "reads"],
    ["search", "reads", "-o", "hard"],
    ["search", "reads", "-o", "here/reads"],
    ["search", "reads", "--counts", "reads"],
    ["search", "reads", "-o", "x", "--counts", "x"],
    ["search", "reads", "-o", "x", "--counts", "./x"],
    ["search", "reads", "-o", "x", "--counts", "here/x"],
    ["search", "reads", "-o", "dangling", "--counts", "none"],
    ["search", "reads", "-o", "ref.fmx"],
    ["search", "reads", "-o", "ref.fmx/out"],
    ["search", "reads", "-o", "ref.fmx/meta.json"],
    ["search", "reads", "--counts", "ref.fmx/counts.tsv"],
    ["locate", "reads", "-o", "reads"],
    ["locate", "reads", "-o", "hard"],
    ["locate", "-p", "ACGT", "-o", "ref.fmx/x"],
    ["mem", "reads", "-o", "reads"],
    ["mem", "reads", "-o", "link"],
    ["mem", "reads", "-o", "ref.fmx/x"],
    ["pairwise", "seqs", "-o", "seqs"],
    ["pairwise", "reads", "seqs", "-o", "./seqs"],
    ["pairwise", "seqs", "-o", "x", "--checkpoint", "x"],
    ["pairwise", "seqs", "-o", "x", "--checkpoint", "here/x"],
    ["pairwise", "seqs", "--checkpoint", "seqs"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", CLASHES, ids=" ".join)
def test_an_output_never_eats_an_input_or_another_output(arguments, indexed, command):
    (indexed / "q.fq").rename("reads")
    (indexed / "q.fa").rename("seqs")
    (indexed / "link").symlink_to("reads")
    (indexed / "dangling").symlink_to("none")
    (indexed / "here").symlink_to(".")
    os.link("reads", "hard")
    before = contents(indexed)
    refused(command(*arguments), f"{arguments[-2]} {arguments[-1]}")
    assert contents(indexed) == before


def test_redirected_standard_streams_are_places_too(indexed):
    with open("q.fq", "rb") as reads, open("q.fq", "ab") as output:
        done = subprocess.run(
            [*MAIN, "search", "-q", "-"], stdin=reads, stdout=output, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, (indexed / "q.fq").read_bytes()) == (2, GOOD)
    with open("out.sam", "wb") as output:
        arguments = ["search", "-q", "q.fq", "--counts", "out.sam"]
        done = subprocess.run([*MAIN, *arguments], stdout=output, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2


def test_devices_and_inputs_may_repeat(indexed, command):
    result = command("search", "-q", "q.fq", "q.fq", "-o", os.devnull, "--counts", os.devnull)
    twice = "fmx: warning: q.fq is given more than once, so its reads are mapped several times\n"
    assert (result.code, result.err) == (0, twice)
    assert command("search", "-q", os.devnull, "-o", os.devnull).code == 0
    assert command("pairwise", "-q", "q.fa", "q.fa", "-o", os.devnull).code == 0
    assert command("search", "-q", "q.fq", "-o", "out.sam", "-x", "ref.fmx").code == 0
    (indexed / "ref.fmx2").mkdir()
    assert command("search", "-q", "q.fq", "-o", "ref.fmx2/out.sam", "-x", "ref.fmx").code == 0


def test_a_checkpoint_serves_one_run_at_a_time(indexed, command):
    with open("kept", "wb") as held:
        system.lock(held.fileno())
        result = command("pairwise", "-q", "q.fa", "-o", "out", "--checkpoint", "kept")
    assert (result.code, sorted(contents(indexed))) == (1, ["g.csv", "kept", "p.txt", "q.fa", "q.fq"])
    assert "kept: in use by another run" in result.err


def test_a_link_stays_a_link(indexed, command):
    (indexed / "there").mkdir()
    (indexed / "out.sam").symlink_to("there/real.sam")
    for _ in range(2):
        assert command("search", "-q", "q.fq", "-o", "out.sam").code == 0
        assert (indexed / "out.sam").is_symlink()
        assert os.listdir("there") == ["real.sam"]


@pytest.mark.parametrize("name", ["dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_an_open_descriptor_is_written_as_it_is(name, indexed):
    if not os.path.exists("/proc/self/fd/1"):
        pytest.skip("this system has no such names")
    (indexed / "dev").mkdir()
    (indexed / "dev/stdout").symlink_to("/proc/self/fd/1")
    with open("log", "wb") as output:
        output.write(b"before\n")
        output.flush()
        subprocess.run([*MAIN, "search", "-q", "q.fq", "-o", name], stdout=output, check=True)
    lines = (indexed / "log").read_bytes().splitlines()
    assert (lines[0], lines[1][:3], len(lines)) == (b"before", b"@HD", 50 + 4)


# Suffixes

FOREIGN = ["x.sam.gz", "x.cram.gz", "x.fq", "x.fa", "x.bam.gz", "x.bgz", "x.xz", "x.VCF", "x.npz"]
SUFFIXES = [
    *(["search", "q.fq", "-o", name] for name in FOREIGN),
    ["search", "q.fq", "--format", "sam", "-o", "x.bam"],
    ["search", "q.fq", "--format", "paf", "-o", "x.bed"],
    ["search", "q.fq", "--counts", "x.sam"],
    ["search", "q.fq", "--counts", "x.tsv.gz"],
    ["search", "q.fq", "-o", "x.log"],
    ["locate", "q.fq", "-o", "x.BAM"],
    ["locate", "q.fq", "-o", "x.fa"],
    ["locate", "--pairs", "p.txt", "-o", "x.sam"],
    ["locate", "--pairs", "p.txt", "-o", "x.fa.gz"],
    ["locate", "--pairs", "p.txt", "--format", "fasta", "-o", "x.fa.gz"],
    ["locate", "q.fq", "--format", "bed", "-o", "x.tsv"],
    ["locate", "q.fq", "--format", "sam", "-o", "x.bam"],
    ["locate", "q.fq", "-o", "x.tsv.zst"],
    ["mem", "q.fq", "-o", "x.bam"],
    ["mem", "q.fq", "-o", "x.delta"],
    ["mem", "q.fq", "--format", "sam", "-o", "x.bam"],
    ["mem", "q.fq", "--format", "paf", "-o", "x.paf.gz"],
    ["pairwise", "q.fa", "-o", "x.npz"],
    ["pairwise", "q.fa", "-o", "x.sam"],
    ["pairwise", "q.fa", "--format", "paf", "-o", "x.tsv"],
    ["pairwise", "q.fa", "-o", "x.tsv.gz"],
    ["pairwise", "q.fa", "--matrix", "score", "-o", "x.tsv"],
    ["count", "-l", "g.csv", "q.fq", "-o", "n.xlsx"],
    ["count", "-l", "g.csv", "q.fq", "-o", "n.csv"],
    ["count", "-l", "g.csv", "q.fq", "--format", "long", "-o", "n.parquet"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", SUFFIXES, ids=" ".join)
def test_a_suffix_of_another_format_is_refused(arguments, indexed, command):
    before = contents(indexed)
    name = arguments[-1]
    what = (
        "the suffix " if "--format" in arguments and not name.endswith(".gz") else "the output can only be "
    )
    refused(command(*arguments), f"{name}: {what}")
    assert contents(indexed) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("locate q.fq -o x.vcf", "-o x.vcf: the output can only be SAM, TSV, BED or Parquet, not .vcf"),
        ("mem q.fq -o m.vcf", "-o m.vcf: the output can only be MUMmer's format, SAM, TSV, PAF or BED, "
         "not .vcf"),
        ("pairwise q.fa -o x.bam", "-o x.bam: the output can only be TSV or PAF, not .bam"),
        ("locate --pairs p.txt -o x.bam", "-o x.bam: the output can only be TSV, BED or FASTA, not .bam"),
        ("count -l g.csv q.fq -o n.xlsx", "-o n.xlsx: the output can only be TSV or Parquet, not .xlsx"),
        ("search q.fq --format sam -o x.bam", "-o x.bam: the suffix .bam contradicts --format sam"),
        ("search q.fq --format sam -o x.sam.gz", "-o x.sam.gz: the output can only be SAM, not .gz"),
        ("search q.fq --al x.bam", "--al x.bam: the output can only be FASTA or FASTQ, not .bam"),
    ],
)  # fmt: skip
def test_a_refusal_lists_what_can_be_written(arguments, said, indexed, command):
    result = command(*arguments.split())
    choose = "choose another name or format" if said.startswith("-o") else "choose another name"
    if "--format" in said:
        choose = "leave out --format, or choose another name"
    if said.endswith(".gz"):
        choose = "choose a name without .gz, and compress the file afterwards"
    assert result.code == 2
    assert result.err.splitlines()[-1].endswith(f"rror: {said}; {choose}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("search q.fq -o out.bma", "suffix .bma: did you mean .bam? To keep this name, use --format"),
        (
            "search q.fq -o out.PARQET",
            "suffix .parqet: did you mean .parquet? To keep this name, use --format",
        ),
        ("locate q.fq -o out.bde", "suffix .bde: did you mean .bed? To keep this name, use --format"),
        ("count -l g.csv q.fq -o n.tvs", "suffix .tvs: did you mean .tsv? To keep this name, use --format"),
    ],
)
def test_a_misspelled_suffix_is_refused(arguments, said, indexed, command):
    before = contents(indexed)
    refused(command(*arguments.split()), f"{arguments.split()[-1]}: no format has the {said}")
    assert contents(indexed) == before


def test_an_unknown_suffix_is_reported_if_the_output_is_sam(indexed, command):
    warning = "warning: -o hits.txt: no format has the suffix .txt, so the output is SAM"
    os.mkfifo("hits.bma")
    reader = subprocess.Popen(["cat", "hits.bma"], stdout=subprocess.DEVNULL)
    assert warning in command("search", "q.fq", "-o", "hits.txt").err
    for name in ("hits", "hits.v2", "hits.sam", "hits.bma", os.devnull):
        result = command("search", "q.fq", "-o", name)
        assert (result.code, "suffix" in result.err) == (0, False)
    reader.wait()
    for arguments in (["search", "q.fq", "-o", "x.bma", "--format", "sam"], ["mem", "q.fq", "-o", "x.txt"]):
        result = command(*arguments)
        assert (result.code, "suffix" in result.err) == (0, False)
    assert command("search", "q.fq", "-o", "hits.bmas", "--shard", "1/1").code == 0


BY_NAME = [
    ("search q.fq", "s.paf", "paf"),
    ("locate q.fq", "sites.bed", "bed"),
    ("locate q.fq", "sites.Parquet", "parquet"),
    ("locate q.fq", "sites.sam", "sam"),
    ("locate --pairs p.txt", "products.fa", "fasta"),
    ("locate --pairs p.txt", "products.bed", "bed"),
    ("mem q.fa -l 8", "m.PAF", "paf"),
    ("mem q.fa -l 8", "m.bed", "bed"),
    ("mem q.fa -l 8", "m.sam", "sam"),
    ("mem q.fa -l 8", "m.tsv", "tsv"),
    ("pairwise q.fa", "p.paf", "paf"),
    ("count -l g.csv q.fq", "n.parquet", "parquet"),
    ("count -l g.csv q.fq", "n.tsv", "mageck"),
]


@pytest.mark.parametrize(("what", "name", "kind"), BY_NAME, ids=str)
def test_the_name_of_the_output_is_as_good_as_its_format(what, name, kind, indexed, command):
    for arguments in (["-o", name], ["-o", "other", "--format", kind], ["-o", "usual"]):
        result = command(*what.split(), "-q", *arguments)
        assert (result.code, result.err) == (0, "")
    by_name, by_format, usual = (
        without_program((indexed / path).read_bytes()) for path in (name, "other", "usual")
    )
    assert by_name == by_format
    assert len(by_name) > 20
    assert (by_name == usual) == (kind == "mageck")
