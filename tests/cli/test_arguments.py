"""Unusual arguments: they work, or are refused by name with exit code 2 and no traceback."""

import subprocess

import cases
import hypothesis
import pytest
from bad_reads import complaint
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
    "search r.fq --seed": HUGE,
    "search r.fq -t": [*HUGE, "0", "999999"],
    "search r.fq --gpu-memory": ["inf", "1e-300", "0G"],
    "search r.fq --max-memory": ["9e99G", "nan", "0", "-1G", "9" * 30 + "G", "9" * 400, "1P", "2000000"],
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
        assert arguments.split()[-1] in complaint(command(*arguments.split(), number), 2)


def test_the_largest_numbers_work(home, command):
    usual = command("search", "-q", "-a", "r.fq").records
    assert command("search", "-q", "-k", 2**62, "-m", 2**62, "--seed", 2**62, "r.fq").records == usual
    assert command("mem", "-q", "-l", 2**31, "r.fq").code == 0
    score = command("pairwise", "-q", "--match", 2**31 // 3, "r.fa").out.split()[8]
    assert int(score) == 3 * (2**31 // 3) - 5


EMPTY = [
    "search |",
    "search -x | r.fq",
    "search --output= r.fq",
    "index ref.fa -o |",
    "mem r.fq |",
    "|",
    "-- |",
]


@pytest.mark.parametrize("arguments", EMPTY)
def test_an_empty_argument_is_refused(arguments, home, command):
    words = ["" if word == "|" else word for word in arguments.split()]
    assert "empty argument after " in complaint(command(*words), 2)
    assert sorted(path.name for path in home.iterdir()) == ["folder", "r.fa", "r.fq", "ref.fa", "ref.fmx"]


def test_an_empty_variable_names_no_index(home, command, monkeypatch):
    monkeypatch.setenv("FMX_INDEX", "")
    assert command("search", "r.fq").code == 0


BAD_GROUPS = [
    r"@RG\tID:a\tSM", r"@RG\tID:a\tSMx", r"@RG\tID:a\tS:x", r"@RG\tID:a\t12:x", r"@RG\tID:a\tSM:",
    r"@RG\tID:a\t", r"@RG\tID:a\tID:b", r"@RG\tID:a b", r"@RG\tID:", r"@RG\tSM:x", r"RG\tID:a",
    r"@RG ID:a", "@RG\tID:a\x1b", "@RG\tID:\x00", "@RG\tID:a\n@CO\tx", "@RG\tID:\udcff", "@RG\tID:\xfc",
    "@RG\tID:a\tDS:\x9b", "x",
]  # fmt: skip


@pytest.mark.parametrize("group", BAD_GROUPS)
def test_read_groups_that_sam_cannot_hold_are_refused(group, home, command):
    assert "--rg" in complaint(command("search", "-q", "r.fq", "--rg", group), 2)


LETTERS = strategies.characters(min_codepoint=32, max_codepoint=126)
VALUES = strategies.text(LETTERS, min_size=1, max_size=8)
IDS = strategies.text(strategies.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)
TAGS = strategies.from_regex("[A-Za-z][A-Za-z0-9]", fullmatch=True).filter(
    lambda tag: tag not in ("ID", "DS")
)


@hypothesis.settings(
    max_examples=10, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], deadline=None
)
@hypothesis.given(
    name=IDS,
    fields=strategies.dictionaries(TAGS, VALUES, max_size=4),
    note=strategies.sampled_from(["", "日本 ü"]),
)
@hypothesis.example(name="a,b:c;\\", fields={"SM": "a b", "zz": ":"}, note="")
def test_samtools_reads_every_group_that_is_taken(name, fields, note, home, command, peer):
    tags = {"ID": name} | fields | ({"DS": note} if note else {})
    line = "\t".join(["@RG", *(f"{tag}:{value}" for tag, value in tags.items())])
    for output in () if "\\t" in line else ("out.sam", "out.bam"):  # --rg reads \t as a tab
        assert command("search", "-q", "r.fq", "--rg", line, "-o", output).code == 0
        assert line in samtools(peer, "view", "-H", "--no-PG", output).splitlines()
        assert samtools(peer, "view", "-c", "-r", name, output) == "5\n"
        samtools(peer, "quickcheck", output)


def samtools(peer, *arguments) -> str:
    return subprocess.run([peer("samtools"), *arguments], check=True, capture_output=True).stdout.decode()


ODD = "odd\udcff\udc80\x1b[31m\n\u202e"
ESCAPED = r"odd\xff\x80\x1b[31m\n\u202e"


def test_names_of_files_that_are_no_utf8(home, command, peer):
    def run(*arguments):
        done = command(*arguments)
        assert done.code == 0, done.err
        return done

    (home / f"reads{ODD}").write_bytes(READS)
    (home / f"{ODD}.fa").write_bytes(cases.fasta(GENOME))
    assert f"wrote {ESCAPED}.fmx" in run("index", f"{ODD}.fa").err
    assert run("inspect", f"{ODD}.fmx").out.decode().startswith(f"{ESCAPED}.fmx: ")
    on_index = ["-x", f"{ODD}.fmx", f"reads{ODD}"]
    for end in ("sam", "bam"):
        out = f"out{ODD}.{end}"
        run("search", *on_index, "-o", out, "--counts", f"counts{ODD}.tsv", "--rg", "@RG\tID:a")
        header = samtools(peer, "view", "-h", "--no-PG", out)
        assert header.count("\n") == 4 + 5
        assert rf"reads{ESCAPED}" in header
    run("mem", *on_index, "--format", "sam", "-o", f"matches{ODD}.sam")
    run("locate", *on_index, "-o", f"matches{ODD}.tsv")
    run("pairwise", f"{ODD}.fa", "-o", f"pairs{ODD}")
