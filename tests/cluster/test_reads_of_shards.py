"""Shards with --al and --un, and of a sheet of samples: merged, the bytes of one run."""

import gzip

import cases
import pytest
from cluster import nearby
from cluster.test_shards_of_commands import body_of
from output_of import bgzf, without_program
from texts import numbered, random_letters

UNIT = random_letters(400, "reads of shards")
GENOME = numbered([UNIT, UNIT[100:250]])
READS = [
    (f"r{i}", UNIT[7 * i % 350 :][:40] if i % 3 else random_letters(40, f"none {i}")) for i in range(900)
]
MATES = [[(f"{name}/{i}", letters) for name, letters in READS] for i in (1, 2)]
SHEET = "sample\treads\tread_group\na\tr.fq.gz\t\nb\t1.fq,2.fq\t@RG\\tID:x\\tSM:b\n"


@pytest.fixture
def there(folder, index_of):
    """Files that can be cut, mates in two files, and a sheet."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    (folder / "r.fq.gz").write_bytes(bgzf(cases.fastq(READS), 3000))
    for i, mates in enumerate(MATES, 1):
        (folder / f"{i}.fq").write_bytes(cases.fastq(mates))
        (folder / f"m{i}.fq.gz").write_bytes(bgzf(cases.fastq(mates), 2000))
    (folder / "sheet.tsv").write_text(SHEET)
    return folder


@pytest.fixture
def run(command):
    """A function: a command that does well."""

    def run(*arguments):
        result = command(*arguments, "-q")
        assert (result.code, result.err) == (0, "")

    return run


INPUTS = {"reads": ["r.fq.gz"], "pairs": ["-1", "m1.fq.gz", "-2", "m2.fq.gz"]}
NAMES = {"reads": ["al.fq.gz", "un.fq"], "pairs": ["al_1.fq.gz", "al_2.fq.gz", "un_1.fq", "un_2.fq"]}


def held(path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.mark.parametrize("kind", INPUTS)
def test_reads_as_they_came_are_merged(kind, there, run, command):
    asked = ["--al", "al.fq.gz", "--un", "un.fq"]
    for i in range(1, 5):
        run("search", *INPUTS[kind], *asked, "-o", "out.d", "--shard", f"{i}/4")
    assert not [name for name in NAMES[kind] if (there / name).exists()]
    run("merge", "out.d", "-o", "merged.sam", *asked)
    merged = {name: held(there / name) for name in NAMES[kind]}
    run("search", *INPUTS[kind], *asked, "-o", "whole.sam")
    assert merged == {name: held(there / name) for name in NAMES[kind]}
    assert min(map(len, merged.values())) > 10_000
    assert without_program((there / "merged.sam").read_bytes()) == without_program(
        (there / "whole.sam").read_bytes()
    )
    (there / "out.d" / "0002-of-0004" / NAMES[kind][-1].partition(".")[0]).write_bytes(b"@r\nA\n+\nI\n")
    result = command("merge", "out.d", "-o", "merged.sam", *asked)
    assert (result.code, "damaged; delete its folder and run shard 2 again" in result.err) == (1, True)


def test_what_shards_lack_is_told(there, run, command):
    run("search", "r.fq.gz", "--un", "un.fq", "-o", "out.d", "--shard", "1/1")
    for options, said in (
        ("--un un.fq.gz", "--un un.fq.gz: the shards hold these reads as plain: remove .gz from"),
        ("--un un.bam", "--un un.bam: the output can only be FASTA or FASTQ, not .bam"),
        ("--un out.d/un.fq", "--un out.d/un.fq is inside out.d"),
    ):
        result = command("merge", "out.d", "-o", "o.sam", *options.split())
        assert (result.code, said in result.err) == (2, True), result.err


def test_a_sheet_of_samples_in_shards(there, run):
    for i in (1, 2):
        run(
            "search",
            "--samples",
            "sheet.tsv",
            "-o",
            "{sample}.d",
            "--shard",
            f"{i}/2",
            "--counts",
            "{sample}.tsv",
        )
    run("search", "--samples", "sheet.tsv", "-o", "{sample}.sam", "--counts", "{sample}.tsv")
    for name in "ab":
        run("merge", f"{name}.d", "-o", "merged.sam", "--counts", "merged.tsv")
        found, expected = ((there / x).read_bytes() for x in ("merged.sam", f"{name}.sam"))
        assert without_program(found) == without_program(expected) != b""
        assert (there / "merged.tsv").read_bytes() == (there / f"{name}.tsv").read_bytes()


def test_a_sheet_that_all_samples_would_write_over_is_refused(there, command):
    asked = ["--samples", "sheet.tsv", "--counts", "c.tsv"]
    result = command("search", *asked, "-o", "{sample}.d", "--shard", "1/2")
    assert result.code == 2
    assert "--counts would be overwritten by each sample: put {sample} into" in result.err


def test_a_sheet_of_samples_on_a_cluster(there, command, run, monkeypatch):
    """Each sample with outputs of its own, and all of them in one with their read groups."""
    near = nearby.use(monkeypatch)
    for name, counts in (("{sample}.bam", "{sample}.tsv"), ("all.sam", "c.tsv")):
        asked = ["search", "--samples", "sheet.tsv", "--counts", counts, "-o", name]
        outputs = [there / each.replace("{sample}", x) for each in (name, counts) for x in "ab"]
        found = []
        for more in ([], near):
            run(*asked, *more)
            found.append([body_of(path) for path in outputs])
            for path in set(outputs):
                path.unlink()
        assert found[0] == found[1]
        assert len(set(found[0])) == (4 if "{" in name else 2)
