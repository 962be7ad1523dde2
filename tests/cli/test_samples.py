"""--samples of fmx search: what a sheet says is mapped as its samples are one by one."""

import cases
import pysam
import pytest
from output_of import without_program
from texts import numbered, random_letters

UNIT = random_letters(300, "samples")
GENOME = numbered([UNIT])
FILES = ["a1.fq", "a2.fa", "b.fq"]
SHEET = "sample\treads\tread_group\na\ta1.fq\t@RG\\tID:a1\\tSM:a\nb\tb.fq\t\na\ta2.fa\t@RG\\tID:a2\\tSM:a\n"


@pytest.fixture
def search(folder, index_of, command):
    """A function: search in a folder that holds FILES and sheet.tsv -> Result."""
    for number, name in enumerate(FILES):
        reads = [(f"{name}.{i}", UNIT[(i * 7 + number) % 270 :][:30]) for i in range(30)]
        (folder / name).write_bytes((cases.fasta if name.endswith("a") else cases.fastq)(reads))
    (folder / "sheet.tsv").write_text(SHEET)

    def search(*arguments):
        return command("search", "-q", "-x", index_of(GENOME), *arguments)

    return search


def records(data) -> list:
    return [line for line in without_program(data).splitlines() if not line.startswith(b"@")]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_sample_has_an_output_of_its_own(threads, search, folder):
    (folder / "out").mkdir()
    outputs = ["-o", "out/{sample}.sam", "--counts", "out/{sample}.tsv", "--un", "out/un_{sample}.fq.gz"]
    result = search("--samples", "sheet.tsv", *outputs, "-t", threads)
    assert (result.code, result.err) == (0, "")
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == ["a.sam", "a.tsv", "b.sam", "b.tsv", "un_a.fq.gz", "un_b.fq.gz"]
    expected = search("b.fq", "--rg", r"@RG\tID:b\tSM:b", "--counts", "b.tsv")
    assert without_program((folder / "out/b.sam").read_bytes()) == without_program(expected.out)
    assert (folder / "out/b.tsv").read_bytes() == (folder / "b.tsv").read_bytes()
    lanes = [
        search(file, "--rg", rf"@RG\tID:{group}\tSM:a") for file, group in (("a1.fq", "a1"), ("a2.fa", "a2"))
    ]
    found = (folder / "out/a.sam").read_bytes()
    assert records(found) == [line for lane in lanes for line in records(lane.out)]
    assert found.count(b"@RG\tID:a") == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_all_samples_share_one_output_with_their_groups(threads, search, folder):
    assert search("--samples", "sheet.tsv", "-o", "all.bam", "--sort", "-t", threads).code == 0
    with pysam.AlignmentFile("all.bam") as file:
        assert [(group["ID"], group["SM"]) for group in file.header["RG"]] == [
            ("a1", "a"),
            ("a2", "a"),
            ("b", "b"),
        ]
        group_of = {"a1.fq": "a1", "a2.fa": "a2", "b.fq": "b"}
        found = list(file.fetch(until_eof=True))
    assert len(found) == 90
    for record in found:
        assert record.get_tag("RG") == group_of[record.query_name.rpartition(".")[0]]


WRONG = {
    "sample\treads\na\ta1.fq\nb\ta1.fq\n": "sheet.tsv: a1.fq is listed twice",
    "sample\treads\na\ta1.fq,a1.fq\n": "sheet.tsv: sample a: a1.fq: is listed twice",
    "sample\treads\na b\ta1.fq\n": "sheet.tsv: sample a b: read_group: the ID contains a space",
    "sample\treads\na\t-\n": "sheet.tsv: sample a: -: standard input cannot be used in a sample sheet",
    "sample\treads\trg\na\ta1.fq\tlane\n": r"sheet.tsv: sample a: read_group: must look like '@RG\tID:",
    "sample\treads\trg\na\ta1.fq\t@RG\\tID:x\nb\tb.fq\t@RG\\tID:x\\tSM:b\n":
        "sheet.tsv: read group x is listed twice, with different fields",
    "sample\treads\treads2\na\ta1.fq\tb.fq\n": "b.fq: record 1: its name is b.fq.0, but that of its mate",
    "sample\treads\treads2\na\ta1.fq\ta1.fq\n": "sheet.tsv: sample a: a1.fq: is listed twice",
    "sample\treads\na\tnone.fq\n": "none.fq: No such file or directory",
    "a1.fq\n": "sheet.tsv: line 1: a sample sheet needs a header with columns sample and reads",
}  # fmt: skip


@pytest.mark.parametrize("sheet", WRONG)
def test_a_wrong_sheet_is_refused_before_anything_is_written(sheet, search, folder):
    (folder / "sheet.tsv").write_text(sheet)
    result = search("--samples", "sheet.tsv", "-o", "{sample}.sam")
    assert (result.code, result.out, result.err.count("\n")) == (1, b"", 1)
    assert WRONG[sheet] in result.err
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "sheet.tsv"])


REFUSED = {
    "--samples sheet.tsv b.fq": "give only one of READS, -1 with -2, and --samples",
    "--samples sheet.tsv -1 a1.fq -2 b.fq": "give only one of READS, -1 with -2, and --samples",
    "--samples sheet.tsv --max-insert 9": "--max-insert needs pairs",
    "--samples sheet.tsv --rg x": "--rg",
    "--samples sheet.tsv --rg @RG\\tID:x": "--rg cannot be combined with --samples",
    "--samples sheet.tsv -o {sample}.sam --counts c.tsv": "--counts would be overwritten by each sample: put",
    "--samples sheet.tsv -o all.sam --un {sample}.fq": "-o would be overwritten by each sample: put {sample}",
    "--samples sheet.tsv -o sheet.tsv": "-o sheet.tsv is the same file as the input sheet.tsv",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wrong_commands_are_refused(options, search, folder):
    result = search(*options.split())
    assert (result.code, result.out) == (2, b""), result.err
    assert REFUSED[options] in result.err
    assert (folder / "sheet.tsv").read_text() == SHEET


def test_a_name_that_no_file_can_have_is_refused(search, folder):
    (folder / "sheet.tsv").write_text("sample\treads\na/b\ta1.fq\n")
    result = search("--samples", "sheet.tsv", "-o", "{sample}.sam")
    assert (result.code, "sample a/b: the name contains '/'" in result.err) == (2, True)
    assert search("--samples", "sheet.tsv", "-o", "all.sam").code == 0
