"""Files of reads in shards, and sheets of samples: merged, the bytes of one run."""

import cases
import pytest
from cluster import nearby
from cluster.nearby import body_of
from output_of import bgzf, without_program
from texts import numbered, random_letters

UNIT = random_letters(400, "reads of shards")
READS = [
    (f"r{i}", UNIT[7 * i % 350 :][:40] if i % 3 else random_letters(40, f"none {i}")) for i in range(900)
]
SHEET = "sample\treads\tread_group\na\tr.fq.gz\t\nb\t1.fq,2.fq\t@RG\\tID:x\\tSM:b\n"


@pytest.fixture
def files(folder, index_of):
    (folder / "ref.fmx").symlink_to(index_of(numbered([UNIT, UNIT[100:250]])))
    (folder / "r.fq.gz").write_bytes(bgzf(cases.fastq(READS), 3000))
    for i in (1, 2):
        (folder / f"{i}.fq").write_bytes(cases.fastq([(f"{name}/{i}", letters) for name, letters in READS]))
    (folder / "sheet.tsv").write_text(SHEET)
    return folder


@pytest.fixture
def run(command):
    """A function: a command that does well."""

    def run(*arguments):
        result = command(*arguments, "-q")
        assert (result.code, result.err) == (0, "")

    return run


def test_files_of_reads_that_shards_do_not_have_are_refused(files, run, command):
    reads = ["--un", "un.fq", "--al", "{target}.fq"]
    run("search", "r.fq.gz", *reads, "-o", "out.d", "--shard", "1/1")
    assert not (files / "un.fq").exists()
    for option, message in (
        ("--al al.fq", "--al al.fq: the shards are divided by {target}: add it to the name"),
        ("--al out.d/{target}.fq", "--al (c0) out.d/c0.fq lies in out.d"),
        ("--un un.fq.gz", "--un un.fq.gz: the shards hold these reads as plain: remove .gz from"),
        ("--un un.bam", "--un un.bam: the output can only be FASTA or FASTQ, not .bam"),
        ("--un out.d/un.fq", "--un out.d/un.fq lies in out.d"),
    ):
        result = command("merge", "out.d", "-o", "o.sam", *option.split())
        assert (result.code, message in result.err) == (2, True), result.err
    (files / "out.d" / "0001-of-0001" / "un").write_bytes(b"@r\nA\n+\nI\n")
    result = command("merge", "out.d", "-o", "merged.sam", "--un", "un.fq")
    assert (result.code, "damaged; delete its folder and run shard 1 again" in result.err) == (1, True)


def test_a_sheet_of_samples_in_shards(files, run, command):
    samples = ["search", "--samples", "sheet.tsv"]
    refused = command(*samples, "-o", "{sample}.d", "--shard", "1/2", "--counts", "c.tsv")
    assert refused.code == 2
    assert "--counts would be overwritten by each sample: put {sample} into" in refused.err
    for i in (1, 2):
        run(*samples, "-o", "{sample}.d", "--shard", f"{i}/2", "--counts", "{sample}.tsv")
    run(*samples, "-o", "{sample}.sam", "--counts", "{sample}.tsv")
    for name in "ab":
        run("merge", f"{name}.d", "-o", "merged.sam", "--counts", "merged.tsv")
        merged, expected = ((files / x).read_bytes() for x in ("merged.sam", f"{name}.sam"))
        assert without_program(merged) == without_program(expected) != b""
        assert (files / "merged.tsv").read_bytes() == (files / f"{name}.tsv").read_bytes()


@pytest.mark.parametrize("place", ["{sample}", "all"])
def test_a_sheet_of_samples_on_a_cluster(place, files, run, monkeypatch):
    """Each sample with outputs of its own, and all of them in one with their read groups."""
    outputs = [files / f"{place.replace('{sample}', x)}{end}" for x in "ab" for end in (".bam", ".tsv")]
    contents = []
    for more in ([], nearby.use(monkeypatch)):
        run("search", "--samples", "sheet.tsv", "--counts", f"{place}.tsv", "-o", f"{place}.bam", *more)
        contents.append([body_of(path) for path in outputs])
        for path in set(outputs):
            path.unlink()
    assert contents[0] == contents[1]
    assert len(set(contents[0])) == (2 if place == "all" else 4)
