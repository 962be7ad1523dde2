"""Unusual arguments: they work, or are refused by name with exit code 2 and no traceback."""

import subprocess

import cases
import hypothesis
import pytest
from hypothesis import strategies
from texts import numbered, random_letters

GENOME = numbered([random_letters(700, "g1")])
READS = cases.fastq([(f"r{i}", GENOME[0][1][7 * i : 7 * i + 30]) for i in range(5)])


@pytest.fixture
def home(folder, index_of):
    """A folder that holds ref.fmx, ref.fa, reads and a folder."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    (folder / "ref.fa").write_bytes(cases.fasta(GENOME))
    (folder / "r.fq").write_bytes(READS)
    (folder / "r.fa").write_bytes(b">a\nACGT\n>b\nACGA\n")
    (folder / "folder").mkdir()
    return folder


HUGE = ["9223372036854775808", "99999999999999999999", "-1", "1e3", "nan", "9" * 5000]
NUMBERS = {
    "search r.fq -k": HUGE,
    "search r.fq -m": HUGE,
    "search r.fq --seed": HUGE,
    "search r.fq -t": [*HUGE, "0", "999999"],
    "search r.fq --device": HUGE,
    "search r.fq --gpu-memory": ["nan", "inf", "-inf", "0", "-1", "1e-300", "1e300", "2", "0.5", "0G"],
    "search r.fq --max-memory": [
        "9e99G",
        "nan",
        "inf",
        "0",
        "0.0001",
        "-1G",
        "9" * 30 + "G",
        "9" * 400,
        "1P",
        "2000000",
    ],
    "mem r.fq -l": HUGE,
    "index ref.fa --sa-rate": HUGE,
    "index ref.fa --prefix-length": [*HUGE, "3", "16"],
    "pairwise r.fa --id": ["nan", "inf", "-0.1", "1.1", "97"],
    "pairwise r.fa --match": ["9" * 20, "715827883", "1.5"],
    "pairwise r.fa --mismatch": ["-" + "9" * 20],
    "pairwise r.fa --gap": ["-715827883"],
}


@pytest.mark.parametrize("arguments", NUMBERS)
def test_numbers_out_of_range_are_refused(arguments, home, command):
    for number in NUMBERS[arguments]:
        refused(command(*arguments.split(), number), arguments.split()[-1])


def refused(result, *words):
    """The command was found wrong, by one line that names what."""
    assert (result.code, result.out) == (2, b""), result.err
    (line,) = result.err.splitlines()
    assert line.startswith("fmx: error: ")
    for word in words:
        assert word in line


def test_the_largest_numbers_work(home, command):
    usual = command("search", "-q", "-a", "r.fq").records
    assert command("search", "-q", "-k", 2**62, "-m", 2**62, "--seed", 2**62, "r.fq").records == usual
    assert command("mem", "-q", "-l", 2**31, "r.fq").code == 0
    assert command("pairwise", "-q", "--match", 2**31 // 3, "r.fa").out.split()[8] == b"%d" % (
        3 * (2**31 // 3) - 5
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", ""], ["search", "-x", "", "r.fq"], ["search", "-o", "", "r.fq"],
        ["search", "--output=", "r.fq"],
        ["search", "--layout", "", "r.fq"], ["search", "--engine", "", "r.fq"],
        ["search", "--rg", "", "r.fq"],
        ["search", "--counts", "", "r.fq"], ["locate", "-p", ""], ["index", ""],
        ["index", "ref.fa", "-o", ""],
        ["inspect", ""], ["mem", "r.fq", ""], ["pairwise", ""], [""], ["--", ""],
    ],
)  # fmt: skip
def test_an_empty_argument_is_refused(arguments, home, command):
    refused(command(*arguments), "empty argument after ")
    assert sorted(path.name for path in home.iterdir()) == ["folder", "r.fa", "r.fq", "ref.fa", "ref.fmx"]


@pytest.mark.parametrize("name", [",", "bvsfm-k2-d96,", ",bvsfm-k2-d96", "a,,b"])
def test_an_empty_name_among_layouts_is_refused(name, home, command):
    refused(command("index", "ref.fa", "-o", "new.fmx", "--layout", name), "--layout", "empty")
    refused(command("search", "r.fq", "--layout", name), "--layout", "empty")


def test_an_engine_that_does_not_exist_is_refused(home, command):
    refused(command("search", "r.fq", "--engine", "warp"), "--engine: 'warp' is not one of cpu, cuda, auto")
    for name in ("gpu", "GPU", "Cuda"):
        refused(command("search", "r.fq", "--engine", name), "did you mean cuda?")


def test_an_empty_variable_names_no_index(home, command, monkeypatch):
    monkeypatch.setenv("FMX_INDEX", "")
    assert command("search", "r.fq").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search", "-x", "r.fq", "r.fq"], "r.fq: "),
        (["search", "folder"], "folder: Is a directory"),
        (["inspect", "r.fq"], "r.fq: "),
        (["index", "folder"], "folder: Is a directory"),
        (["search", "--", "-k"], "-k: No such file"),
        (["search", "r.fq" * 2000], "File name too long"),
        (["search", "-x", "r.fq" * 2000, "r.fq"], "r.fqr.fq"),
    ],
)
def test_what_is_no_such_thing_is_one_line(arguments, words, home, command):
    result = command(*arguments)
    assert result.code == 1
    (line,) = result.err.splitlines()
    assert line.startswith("fmx: error: ")
    assert words in line


BAD_GROUPS = [
    r"@RG\tID:a\tSM", r"@RG\tID:a\tSMx", r"@RG\tID:a\tS:x", r"@RG\tID:a\tSMP:x", r"@RG\tID:a\t12:x",
    r"@RG\tID:a\t:x", r"@RG\tID:a\tSM:", r"@RG\tID:a\t", r"@RG\tID:a\tID:b", r"@RG\tID:a\tSM:x\tSM:x",
    r"@RG\tID:a b", r"@RG\tID:", r"@RG\tSM:x", r"@RG", r"RG\tID:a", r"@RG ID:a", "@RG\tID:a\x1b",
    "@RG\tID:\x00",
    "@RG\tID:a\n@CO\tx", "@RG\tID:a\r", "@RG\tID:a\tSM:\udcff", "@RG\tID:\udcff", "@RG\tID:a\tSM:\xfc",
    "@RG\tID:\xfc",
    "@RG\tID:a\tDS:\x9b", "@RG\tID:a\tDS:\udcff", "@RG\tID:a\x7f", "x",
]  # fmt: skip


@pytest.mark.parametrize("group", BAD_GROUPS)
def test_read_groups_that_sam_cannot_hold_are_refused(group, home, command):
    refused(command("search", "-q", "r.fq", "--rg", group), "--rg")


LETTERS = strategies.characters(min_codepoint=32, max_codepoint=126)
VALUES = strategies.text(LETTERS, min_size=1, max_size=8)
IDS = strategies.text(strategies.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)
TAGS = strategies.from_regex("[A-Za-z][A-Za-z0-9]", fullmatch=True).filter(
    lambda tag: tag not in ("ID", "DS")
)


@hypothesis.settings(
    max_examples=25, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], deadline=None
)
@hypothesis.given(
    name=IDS,
    fields=strategies.dictionaries(TAGS, VALUES, max_size=4),
    note=strategies.sampled_from(["", "日本 ü"]),
)
@hypothesis.example(name="a,b:c;\\", fields={"SM": "a b", "zz": ":"}, note="")
def test_samtools_reads_every_group_that_is_taken(name, fields, note, home, command, peer):
    line = "\t".join(
        [
            "@RG",
            f"ID:{name}",
            *(f"{tag}:{value}" for tag, value in fields.items()),
            *([f"DS:{note}"] * bool(note)),
        ]
    )
    if "\\t" in line:
        return  # which --rg reads as a tab
    for output in ("out.sam", "out.bam"):
        assert command("search", "-q", "r.fq", "--rg", line, "-o", output).code == 0
        assert line in samtools(peer, "view", "-H", "--no-PG", output).splitlines()
        assert samtools(peer, "view", "-c", "-r", name, output) == "5\n"
        samtools(peer, "quickcheck", output)


def samtools(peer, *arguments) -> str:
    return subprocess.run([peer("samtools"), *arguments], check=True, capture_output=True).stdout.decode()


ODD = "odd\udcff\udc80\x1b[31m\n\u202e"
ESCAPED = r"odd\xff\x80\x1b[31m\n\u202e"


def test_names_of_files_that_are_no_utf8(home, command, peer):
    names = {what: f"{what}{ODD}" for what in ("reads", "out", "counts", "matches", "pairs", "new")}
    (home / names["reads"]).write_bytes(READS)
    (home / f"{ODD}.fa").write_bytes(cases.fasta(GENOME))
    index = f"{names['new']}.fmx"
    assert command("index", f"{ODD}.fa", "-o", index).code == 0
    assert command("inspect", index).out.decode().startswith(f"new{ESCAPED}.fmx: ")
    for end in ("sam", "bam"):
        out = f"{names['out']}.{end}"
        result = command(
            "search",
            "-x",
            index,
            names["reads"],
            "-o",
            out,
            "--counts",
            f"{names['counts']}.tsv",
            "--rg",
            "@RG\tID:a",
        )
        assert result.code == 0, result.err
        header = samtools(peer, "view", "-h", "--no-PG", out)
        assert header.count("\n") == 4 + 5
        assert rf"reads{ESCAPED}" in header
    assert command("mem", "-x", index, names["reads"], "-o", names["matches"]).code == 0
    assert (
        command("mem", "-x", index, names["reads"], "--format", "sam", "-o", f"{names['matches']}.sam").code
        == 0
    )
    assert command("locate", "-x", index, names["reads"], "-o", f"{names['matches']}.tsv").code == 0
    assert (
        command("pairwise", f"{ODD}.fa", "-o", names["pairs"], "--checkpoint", f"{ODD}.checkpoint").code == 0
    )
    default = command("index", f"{ODD}.fa")
    assert default.code == 0
    assert f"wrote {ESCAPED}.fmx" in default.err
    assert command("search", names["reads"], "-x", f"{ODD}.fmx").code == 0


def test_patterns_that_are_no_utf8_are_one_line(home, command):
    result = command("locate", "-p", "AC\udcff")
    assert (result.code, result.out) == (2, b"")
    (line,) = result.err.splitlines()
    assert r"\xff" in line


def test_the_help_of_every_command_needs_no_further_package(home, command):
    for name in ("index", "search", "locate", "mem", "pairwise", "inspect"):
        result = command(name, "--help")
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith(f"Usage: fmx {name} ".encode())
