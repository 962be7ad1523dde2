"""What commands say of their inputs: indexes by name, references, patterns, files of reads and mates."""

import gzip
import json
import re

import cases
import pytest
from bad_reads import complaint
from texts import numbered, random_letters

import fmx
from fmx.errors import shown

CONTIGS = numbered([random_letters(400, "naming")])
PATTERNS = numbered([random_letters(3000, "patterns"), "ACGTACGT"])
PROTEIN = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKRQ"
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


def test_inspect_shows_several_indexes(home, command):
    cases.build(home / "two.fmx", CONTIGS)

    def shown(*words):  # but for the memory that is free now
        return re.sub(r"[\d,.]+ [kMG]B is free", "", command("inspect", *words).out.decode())

    one, two = shown("yeast.fmx"), shown("two.fmx")
    for words in (["yeast.fmx", "two.fmx"], ["-x", "yeast.fmx", "-x", "two.fmx"]):
        assert shown(*words) == f"{one}\n{two}"
    listed = json.loads(command("inspect", "--json", "yeast.fmx", "two.fmx").out)
    assert [each["path"] for each in listed] == ["yeast.fmx", "two.fmx"]


# Patterns of fmx locate.


@pytest.mark.parametrize(
    ("bad", "byte"),
    [("AT C", "' '"), ("A,C", "','"), ("A\tC", r"'\t'"), ("A\nC", r"'\n'"), ("A\r", r"'\r'"),
     ("A>C", "'>'"), ("@AC", "'@'"), ("A-C", "'-'"), ("é", r"'\xc3'"), ("\udcff", r"'\xff'")],
)  # fmt: skip
def test_a_pattern_with_anything_but_bases_is_refused(bad, byte, folder, index_of, command):
    result = command("locate", "-q", "-x", index_of(PATTERNS), "-p", "ACGT", "-p", bad)
    assert (result.code, result.out) == (2, b"")
    assert result.err == f"fmx: error: -p {shown(bad)}: {byte} is not a base\n"


def test_a_file_with_p_is_recognized(folder, index_of, command):
    for name in ("reads.fa", "r1.fa", "ACGT"):
        (folder / name).write_text(">1\nACGT\n")
        result = command("locate", "-q", "-x", index_of(PATTERNS), "-p", name)
        error = f"fmx: error: {name} is a file: give it without -p\n"
        assert (result.code, result.err) == ((0, "") if name == "ACGT" else (2, error))


@pytest.mark.parametrize("bad", ["N", "ACGTN", "ACR", ""])
def test_a_pattern_that_cannot_occur_is_told(bad, folder, index_of, command):
    index = index_of(PATTERNS)
    result = command("locate", "-x", index, "-p", "ACGTACGT", "-p", bad)
    assert result.code == (0 if bad else 2)
    assert not bad or "; 1 not searched (empty, or with characters other than A, C, G, T and U)" in result.err
    (folder / "p.fa").write_text(f">a\nACGTACGT\n>b\n{bad}\n>c\n{bad}\n")
    assert "; 2 not searched (" in command("locate", "-x", index, "p.fa").err
    assert "; 2 not searched (" in command("search", "-x", index, "p.fa").err
    assert "not searched" not in command("locate", "-x", index, "-p", "ACGTACGT", "-p", "TTTTTTTTTTTTTTT").err


# References.


def test_a_protein_is_warned_of(folder, command):
    for name, data in (
        ("p.fa", cases.fasta([("p1", PROTEIN), ("p2", PROTEIN[::-1])])),
        ("p.fa.gz", gzip.compress(cases.fasta([("p1", PROTEIN.lower())]), mtime=0)),
    ):
        (folder / name).write_bytes(data)
        said = command("index", name, "-o", "p.fmx").err
        assert (
            f"warning: {name}: 37 % of its characters are not IUPAC DNA codes (E, F, I, L, P, Q): is it "
            "protein? No read can match at these characters\n" in said
        )
        assert command("index", "-q", name, "-o", "p.fmx").err.count("warning") == 1


@pytest.mark.parametrize(
    "sequence", [PATTERNS[0][1], "ACGTURYSWKMBDHVNacgturyswkmbdhvn.", "ACGT" + "N" * 500, "ACGT" * 60 + "X"]
)
def test_dna_is_not(sequence, folder, command):
    (folder / "d.fa").write_bytes(cases.fasta([("a", sequence)]))
    done = command("index", "d.fa")
    assert (done.code, "warning" in done.err) == (0, False)


def test_pairwise_warns_once_of_each_file_of_proteins(folder, command):
    (folder / "d.fa").write_bytes(cases.fasta([("a", "acgtn" * 10_000), ("b", "ACGU")]))
    (folder / "p.fa").write_bytes(cases.fasta([("p1", PROTEIN), ("p2", PROTEIN[::-1].lower())]))
    expected = (
        "fmx: warning: p.fa: 37 % of its characters are not IUPAC DNA codes (E, F, I, L, P, Q): is it "
        "protein? They match nothing\n"
    )
    for names in (["p.fa"], ["d.fa", "p.fa"], ["p.fa", "d.fa"]):
        done = command("pairwise", *names)
        assert (done.code, done.err.count("warning"), done.err.count(expected)) == (0, 1, 1)
    assert "warning" not in command("pairwise", "d.fa").err
    assert command("pairwise", "-q", "p.fa").err == expected
