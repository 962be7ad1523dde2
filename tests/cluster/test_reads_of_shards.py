"""Files of reads in shards, and sheets of samples: merged, the bytes of one run."""

import cases
import pytest
from output_of import bgzf
from texts import numbered, random_letters

UNIT = random_letters(400, "reads of shards")
READS = [
    (f"r{i}", UNIT[7 * i % 350 :][:40] if i % 3 else random_letters(40, f"none {i}")) for i in range(900)
]


@pytest.fixture
def files(folder, index_of):
    (folder / "ref.fmx").symlink_to(index_of(numbered([UNIT, UNIT[100:250]])))
    (folder / "r.fq.gz").write_bytes(bgzf(cases.fastq(READS), 3000))
    for i in (1, 2):
        (folder / f"{i}.fq").write_bytes(cases.fastq([(f"{name}/{i}", letters) for name, letters in READS]))
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
