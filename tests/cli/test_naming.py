"""An index by its name, its reference, or a name that is nearly right; what is read by its own name."""

import json
import re

import cases
import pytest
from bad_reads import complaint
from texts import numbered, random_letters

import fmx

CONTIGS = numbered([random_letters(400, "naming")])
BUILD = "build one with 'fmx index REFERENCE.fa"


@pytest.fixture
def home(folder):
    """A folder that holds yeast.fa, yeast.fmx beside it, and a read."""
    (folder / "yeast.fa").write_bytes(cases.fasta(CONTIGS))
    cases.build(folder / "yeast.fmx", CONTIGS)
    (folder / "r.fq").write_bytes(cases.fastq([("r", CONTIGS[0][1][20:60])]))
    return folder


@pytest.mark.parametrize(
    "name", ["yeast", "yeast.fa", "yeast.fasta.gz", "yeast.fmx", "yeast.fmx/", "./yeast"]
)
def test_an_index_is_found_beside_its_name(name, home, command):
    assert fmx.open(name).contigs == [CONTIGS[0][0]]
    for words in (["search", "r.fq"], ["locate", "-p", "ACGT"], ["mem", "r.fq"], ["inspect"]):
        assert command(*words, "-x", name).code == 0
    assert command("inspect", name).code == 0
    assert command("index", "--add", "--with-lcp", name).code == 0


def test_a_folder_of_other_things_does_not_hide_an_index(home, command):
    (home / "yeast").mkdir()
    assert command("inspect", "yeast").code == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("yaest.fmx", "yaest.fmx: there is no index at this path; did you mean yeast.fmx?"),
        ("yest", "yest: there is no index at this path or at yest.fmx; did you mean yeast.fmx?"),
        ("yeast.v2", "yeast.v2: there is no index at this path or at yeast.v2.fmx; did you mean yeast.fmx?"),
        ("toad.fmx", f"toad.fmx: there is no index at this path: {BUILD} -o toad.fmx'"),
        ("mouse", f"mouse: there is no index at this path or at mouse.fmx: {BUILD} -o mouse.fmx'"),
        ("gone.fa.gz", f"gone.fa.gz: there is no index at this path or at gone.fmx: {BUILD} -o gone.fmx'"),
        ("alone.fa", "alone.fa: this is a reference, not its index: build one with 'fmx index alone.fa'"),
        ("r.fq", "r.fq: this is a file, not an index: name the folder that 'fmx index' wrote"),
    ],
)
def test_what_is_no_index_is_told(name, message, home, command):
    (home / "alone.fa").write_bytes(b">a\nACGT\n")
    assert complaint(command("search", "-x", name, "r.fq")) == f"fmx: error: {message}"
    with pytest.raises(fmx.errors.IndexFileError) as error:
        fmx.open(name)
    assert str(error.value) == message


def test_an_index_instead_of_reads_is_recognized(home, command):
    error = "fmx: error: yeast.fmx: this is an index, not a file of sequences: give it with -x"
    assert complaint(command("search", "-x", "yeast", "yeast.fmx", "r.fq")) == error


def test_one_index_by_two_names_is_refused(home, command):
    result = command("search", "-x", "yeast", "-x", "yeast.fmx", "r.fq")
    assert (result.code, result.err) == (2, "fmx: error: yeast.fmx is given twice: give each index once\n")


def test_inspect_shows_several_indexes(home, command):
    cases.build(home / "two.fmx", CONTIGS)

    def shown(*words):  # but for the memory that is free now
        return re.sub(r"[\d,.]+ [kMG]B is free", "", command("inspect", *words).out.decode())

    one, two = shown("yeast.fmx"), shown("two.fmx")
    for words in (["yeast.fmx", "two.fmx"], ["-x", "yeast.fmx", "-x", "two.fmx"]):
        assert shown(*words) == f"{one}\n{two}"
    listed = json.loads(command("inspect", "--json", "yeast.fmx", "two.fmx").out)
    assert [each["path"] for each in listed] == ["yeast.fmx", "two.fmx"]


def test_patterns_are_called_so(home, command):
    (home / "p.fa").write_bytes(b">p\nACG\n>q\nGATTACAGATTACA\n")
    said = command("locate", "-x", "yeast", "p.fa").err
    assert "fmx: 2 patterns: " in said
    assert " patterns/s" in said
    assert "read" not in said.replace("reading", "").replace("thread", "")
    (home / "none.fa").write_bytes(b"")
    assert "warning: no patterns in none.fa" in command("locate", "-x", "yeast", "none.fa").err
    assert "fmx: 1 read: " in command("search", "-x", "yeast", "r.fq").err


@pytest.mark.parametrize(("one", "two"), [("/1", "/2"), (".1", ".2")])
def test_swapped_mates_are_told(one, two, home, command):
    letters = CONTIGS[0][1]
    (home / "R1.fq").write_bytes(cases.fastq([(f"r{one}", letters[:40])]))
    (home / "R2.fq").write_bytes(cases.fastq([(f"r{two}", letters[50:90])]))
    assert complaint(command("search", "-q", "-x", "yeast", "-1", "R2.fq", "-2", "R1.fq")) == (
        f"fmx: error: R1.fq: record 1: its name is r{one}, but that of its mate in R2.fq is r{two}: "
        "first and second mates are swapped: exchange them"
    )
    assert command("search", "-q", "-x", "yeast", "-1", "R1.fq", "-2", "R2.fq").code == 0


def test_mates_swapped_by_their_headers_are_warned_of(home, command):
    letters = CONTIGS[0][1]
    (home / "R1.fq").write_bytes(cases.fastq([("r 1:N:0:ACGT", letters[:40])]))
    (home / "R2.fq").write_bytes(cases.fastq([("r 2:N:0:ACGT", letters[50:90])]))
    swapped = command("search", "-x", "yeast", "-1", "R2.fq", "-2", "R1.fq")
    assert swapped.code == 0
    warning = "by their headers, R2.fq has second mates and R1.fq first mates: are they swapped?"
    assert f"fmx: warning: {warning}\n" in swapped.err
    (home / "sheet.tsv").write_text("sample\treads\treads2\na\tR2.fq\tR1.fq\n")
    sheet = command("search", "-x", "yeast", "--samples", "sheet.tsv", "-o", "{sample}.sam")
    assert (sheet.code, sheet.err.count(warning), sheet.err.count("swapped")) == (0, 1, 1)
    assert "swapped" not in command("search", "-x", "yeast", "-1", "R1.fq", "-2", "R2.fq").err


def test_a_file_of_reads_that_is_given_twice_is_warned_of(home, command):
    warning = "fmx: warning: R1.fq is given more than once, so its reads are mapped several times\n"
    (home / "R1.fq").write_bytes(cases.fastq([("r", "ACGT")]))
    assert warning in command("search", "-x", "yeast", "R1.fq", "R1.fq").err
    assert "warning" not in command("search", "-x", "yeast", "R1.fq").err


THIS = "first line: reads must be FASTA or FASTQ, but this "
TABLE = f"{THIS}looks like a table of guides: count them in reads with 'fmx count -l TABLE READS'"
RAW = f"{THIS}has sequences without names: write a line '>NAME' before each"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,sequence,gene\ng1,ACGTNACGTACGTACGTACG,A\n", TABLE),
        ("g1\tACGTACGTACGTACGTACGT\tA\n", TABLE),
        ("ACGTACGTACGTACG\nACGTACGTACGT\n", RAW),
        (
            "read\tACGT\n",
            "record 1: expected '@' (FASTQ) or '>' (FASTA) at its start, found 'r' (is this",
        ),
        (
            "\t".join(["r", "4", "*", "0", "0", "*", "*", "0", "0", "ACGTACGTACGT", "I"]),
            THIS + "looks like SAM: convert it to BAM with samtools view -b",
        ),
        ("hello, world\n", "record 1: expected"),
    ],
)
def test_a_table_in_the_place_of_reads_is_told(text, message, home, command):
    (home / "x.csv").write_text(text)
    for words in (["search", "-x", "yeast"], ["mem", "-x", "yeast"], ["locate", "-x", "yeast"]):
        assert complaint(command(*words, "x.csv")).startswith(f"fmx: error: x.csv: {message}")
