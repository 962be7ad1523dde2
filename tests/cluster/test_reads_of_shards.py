"""Files of reads in shards: damage is found when they are merged."""

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
    return folder


@pytest.fixture
def run(command):
    """A function: a command that does well."""

    def run(*arguments):
        result = command(*arguments, "-q")
        assert (result.code, result.err) == (0, "")

    return run


def test_damaged_reads_of_a_shard_are_refused(files, run, command):
    run("search", "r.fq.gz", "--un", "un.fq", "--al", "{target}.fq", "-o", "out.d", "--shard", "1/1")
    assert not (files / "un.fq").exists()
    (files / "out.d" / "0001-of-0001" / "un").write_bytes(b"@r\nA\n+\nI\n")
    result = command("merge", "out.d", "-o", "merged.sam")
    assert (result.code, "damaged; delete its folder and run shard 1 again" in result.err) == (1, True)
    assert not (files / "un.fq").exists()
