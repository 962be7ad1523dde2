"""--tags and --nh: which tags a record has, and what NH counts, in SAM and BAM alike."""

import cases
import pysam
import pytest
from texts import numbered, random_letters

UNIT = random_letters(200, "tags")
GENOME = numbered([UNIT, "T" + UNIT[50:120], UNIT[60:100] + "G" + UNIT[55:105]])
READS = [(f"r{i}", UNIT[i : i + 25]) for i in (0, 50, 62, 66, 70, 140)] + [("none", "A" * 25)]


def tags_of(record) -> list:
    return [column for column in record[11:] if not column.startswith("RG")]


@pytest.fixture
def search(folder, index_of, command):
    """A function: the records that a search with these options writes as SAM, which BAM's are too."""
    (folder / "r.fq").write_bytes(cases.fastq(READS))

    def search(*arguments):
        found = command("search", "-q", "-x", index_of(GENOME), "r.fq", "--rg", r"@RG\tID:x", *arguments)
        assert (found.code, found.err) == (0, "")
        again = command(
            "search", "-q", "-x", index_of(GENOME), "r.fq", "--rg", r"@RG\tID:x", "-o", "x.bam", *arguments
        )
        assert again.code == 0
        with pysam.AlignmentFile("x.bam") as file:
            assert [record.to_string().split("\t") for record in file.fetch(until_eof=True)] == found.records
        assert all(record[-1] == "RG:Z:x" for record in found.records)
        return found.records

    return search


@pytest.mark.parametrize("names", ["NH", "HI,MD", "NM,NH", "MD", "none"])
def test_only_these_tags_are_written(names, search):
    usual, found = search("-a"), search("-a", "--tags", names)
    assert [record[:11] for record in found] == [record[:11] for record in usual]
    for record, whole in zip(found, usual, strict=True):
        assert tags_of(record) == [tag for tag in tags_of(whole) if tag[:2] in names.split(",")]


@pytest.mark.parametrize("policy", [["-k", "2"], ["-a"], ["-k", "2", "--seed", "5"], ["-a", "-m", "3"]])
def test_nh_is_of_reported_records(policy, search):
    usual, found = search(*policy), search(*policy, "--nh", "reported")
    names = [record[0] for record in usual]
    assert len(set(names)) < len(names)
    for record, whole in zip(found, usual, strict=True):
        reported = 0 if record[1] == "4" else names.count(record[0])
        assert record == [*whole[:11], f"NH:i:{reported}", *whole[12:]]
    for i, record in enumerate(found):
        assert record[1] == "4" or f"HI:i:{names[: i + 1].count(record[0])}" in record
    totals = {record[11] for record in usual}
    assert {"NH:i:1", "NH:i:4"} <= totals


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
    with pysam.AlignmentFile("x.bam") as file:
        assert [record.to_string().split("\t") for record in file.fetch(until_eof=True)] == found.records
