"""Outputs appear whole or not at all, in the place of nothing that is read, and are what their names say."""

import errno
import os
import resource
import shutil
import subprocess

import cases
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


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


LARGE = [
    ["search", "-q", "big.fq", "-o", "out.sam"],
    ["search", "-q", "big.fq", "-o", os.devnull, "--counts", "counts.tsv"],
    ["search", "-q", "big.fq", "-o", os.devnull, "--al", "out"],
    ["locate", "-q", "big.fq", "-o", "out.tsv"],
    ["mem", "-q", "-l", "5", "big.fq", "-o", "out"],
    ["pairwise", "-q", "big.fa", "-o", "out.tsv"],
]


@pytest.mark.parametrize("arguments", LARGE, ids=lambda arguments: arguments[0])
def test_no_room_is_one_line_and_leaves_nothing(arguments, indexed, command):
    """A limit on the size of files stands for a full disk: both refuse a write half way."""
    if "--counts" in arguments:
        many = [(f"{'c' * 200}{i}", "ACGTTGCAAC") for i in range(150)]
        cases.build(indexed / "ref.fmx", many)
    (indexed / "big.fq").write_bytes(GOOD * 100)
    (indexed / "big.fa").write_bytes(b"".join(b">s%d\nACGT\n" % i for i in range(200)))
    command(*arguments)  # compiles, whose files are large
    for name in ("out.sam", "counts.tsv", "out.tsv", "out"):
        (indexed / name).unlink(missing_ok=True)
    before = contents(indexed)
    done = subprocess.run([*MAIN, *arguments], capture_output=True, preexec_fn=small_files, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("fmx: error: ")
    assert line.endswith(": cannot write: File too large")
    assert contents(indexed) == before


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fails_at_the_end_is_told_and_leaves_nothing(call, indexed, command, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (indexed / "out.sam").write_bytes(b"old")
    before = contents(indexed)
    monkeypatch.setattr(os, call, fail)
    result = command("search", "-q", "q.fq", "-o", "out.sam")
    assert (result.code, result.err) == (1, "fmx: error: out.sam: cannot write: No space left on device\n")
    assert contents(indexed) == before


@pytest.mark.parametrize("last", ["out.sam", "c.tsv", "al.fq", "un.gz", "r.json"])
def test_no_output_appears_before_all_are_complete(last, indexed, command, monkeypatch):
    def fail(draft):
        if draft.final.name == last:
            raise OSError(errno.ENOSPC, "No space left on device")

    before = contents(indexed)
    monkeypatch.setattr(system.DraftFile, "complete", fail)
    others = ["--counts", "c.tsv", "--al", "al.fq", "--un", "un.gz", "--report", "r.json"]
    result = command("search", "-q", "q.fq", "-o", "out.sam", *others)
    assert (result.code, result.err) == (1, f"fmx: error: {last}: cannot write: No space left on device\n")
    assert contents(indexed) == before


def test_data_are_on_disk_before_they_have_their_name(folder, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real: calls.append(name) or real(*a))
    with cases.opened_output(folder / "x") as file:
        file.write(b"data")
    assert calls == ["fsync", "replace", "fsync"]


CLASHES = [
    "search seqs reads -o reads", "search reads -o ./reads", "search link -o reads", "search reads -o hard",
    "search reads -o here/reads", "search reads -o ref.fmx", "search reads -o ref.fmx/meta.json",
    "search reads --counts reads", "search reads -o x --counts x", "search reads -o x --counts here/x",
    "search reads -o dangling --counts none", "search reads --counts ref.fmx/counts.tsv",
    "locate reads -o hard", "locate -p ACGT -o ref.fmx/x", "mem reads -o link", "mem reads -o ref.fmx/x",
    "pairwise seqs -o seqs", "pairwise reads seqs -o ./seqs",
]  # fmt: skip


@pytest.mark.parametrize("arguments", CLASHES)
def test_an_output_never_overwrites_an_input_or_another_output(arguments, indexed, command):
    (indexed / "q.fq").rename("reads")
    (indexed / "q.fa").rename("seqs")
    (indexed / "link").symlink_to("reads")
    (indexed / "dangling").symlink_to("none")
    (indexed / "here").symlink_to(".")
    os.link("reads", "hard")
    before = contents(indexed)
    result = command(*arguments.split())
    assert (result.code, result.out) == (2, b"")
    assert " ".join(arguments.split()[-2:]) in result.err
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


OTHER = "choose another name"
ANY = "the output can only be SAM, BAM, CRAM, TSV, PAF, BED or Parquet, not"
REFUSED = {
    "search q.fq -o x.fq": f"{ANY} .fq; {OTHER} or format",
    "search q.fq -o x.VCF": f"{ANY} .vcf; ",
    "search q.fq -o x.cram.gz": f"{ANY} .gz; {OTHER} or format",
    "search q.fq --format sam -o x.bam": "the output can only be SAM, not .bam; choose another",
    "search q.fq --format sam -o x.sam.gz": "the output can only be SAM, not .gz; ",
    "search q.fq --counts x.tsv.gz": f"the output can only be TSV, not .gz; {OTHER}",
    "search q.fq --al x.bam": f"the output can only be FASTA or FASTQ, not .bam; {OTHER}",
    "locate q.fq -o x.vcf": "the output can only be SAM, TSV, BED or Parquet, not .vcf; ",
    "locate --pairs p.txt -o x.bam": "the output can only be TSV, BED or FASTA, not .bam; ",
    "locate --pairs p.txt --format fasta -o x.fa.gz": "the output can only be FASTA, not .gz; ",
    "mem q.fq -o m.vcf": "the output can only be MUMmer's format, SAM, TSV, PAF or BED, not .vcf; ",
    "pairwise q.fa -o x.bam": "the output can only be TSV or PAF, not .bam; ",
    "pairwise q.fa --matrix score -o x.tsv": "the output can only be ",
    "count -l g.csv q.fq -o n.xlsx": "the output can only be TSV, not .xlsx; ",
    "count -l g.csv q.fq --format long -o n.parquet": "the output can only be TSV, not .parquet; ",
    "search q.fq --sort -o x.sam": "--sort needs BAM or CRAM output: use -o NAME.bam or -o NAME.cram",
    "search q.fq -C --collapse": "error: -C ",
    "search q.fq -C -o x.tsv": "error: -C ",
    "search q.fq --un q.fq": "--un q.fq is the same file as the input q.fq",
    "search q.fq --un x.fq --al ./x.fq": "is the same file as --al ./x.fq",
    "search -1 q.fq -2 un_2.fq --un un.fq": "--un (second mates) un_2.fq is the same file as the input",
    "search q.fq --un -": "--un - is the same file as -o -",
    "search q.fq --al x.sam.gz": "--al x.sam.gz: the output can only be FASTA or FASTQ, not .sam",
    "search q.fq --un x.fq --shared each": "--shared each needs {target} in the name of --al",
    "search q.fq --counts-by group --al x.fq":
        "--counts-by group needs --counts FILE, or {target} in the name of --al",
}  # fmt: skip


@pytest.mark.parametrize("arguments", REFUSED)
def test_an_output_that_cannot_be_is_refused_before_any_work(arguments, indexed, command):
    before = contents(indexed)
    result = command(*arguments.split())
    assert (result.code, result.out) == (2, b"")
    assert REFUSED[arguments] in result.err
    assert contents(indexed) == before


def test_other_suffixes_do_not_set_the_format(indexed, command):
    for name in ("hits", "hits.v2", "hits.txt", os.devnull):
        assert command("search", "-q", "q.fq", "-o", name).code == 0
    assert (indexed / "hits.txt").read_bytes()[:4] == b"@HD\t"


BY_NAME = [
    ("search q.fq", "s.paf", "paf"),
    ("locate q.fq", "sites.bed", "bed"),
    ("locate --pairs p.txt", "products.fa", "fasta"),
    ("mem q.fa -l 8", "m.PAF", "paf"),
    ("pairwise q.fa", "p.paf", "paf"),
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
