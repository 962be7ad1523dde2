"""Patterns of fmx locate: lengths, options and files, and messages about patterns that are not searched."""

import pytest
from texts import numbered, random_letters

from fmx.errors import shown

GENOME = numbered([random_letters(3000, "patterns"), "ACGTACGT"])
LONG = GENOME[0][1][100:2600]


@pytest.mark.parametrize("length", [254, 255, 256, 2500])
def test_long_patterns_are_their_own_names_where_sam_is_not_written(length, folder, index_of, command):
    pattern, index = LONG[:length], index_of(GENOME)
    place = f"{GENOME[0][0]}\t100\t{100 + length}"
    result = command("locate", "-q", "-x", index, "-p", pattern)
    assert (result.code, result.err) == (0, "")
    assert result.out.decode().splitlines()[1:] == [f"{pattern}\t{place}\t+\t1"]
    result = command("locate", "-q", "-x", index, "-p", pattern, "--format", "bed")
    assert result.out.decode() == f"{place}\t{pattern}\t0\t+\n"
    result = command("locate", "-q", "-x", index, "-p", pattern, "--format", "sam")
    assert result.code == (length > 254)
    assert ("record 1: its name is longer than 254 characters" in result.err) == (length > 254)


@pytest.mark.parametrize(
    ("bad", "byte"),
    [("AT C", "' '"), ("A,C", "','"), ("A\tC", r"'\t'"), ("A\nC", r"'\n'"), ("A\r", r"'\r'"),
     ("A>C", "'>'"), ("@AC", "'@'"), ("A-C", "'-'"), ("é", r"'\xc3'"), ("\udcff", r"'\xff'")],
)  # fmt: skip
def test_a_pattern_with_anything_but_bases_is_refused(bad, byte, folder, index_of, command):
    result = command("locate", "-q", "-x", index_of(GENOME), "-p", "ACGT", "-p", bad)
    assert (result.code, result.out) == (2, b"")
    assert result.err == f"fmx: error: -p {shown(bad)}: {byte} is not a base\n"


def test_a_file_with_p_is_recognized(folder, index_of, command):
    for name in ("reads.fa", "r1.fa", "ACGT"):
        (folder / name).write_text(">1\nACGT\n")
        result = command("locate", "-q", "-x", index_of(GENOME), "-p", name)
        error = f"fmx: error: {name} is a file: give it without -p\n"
        assert (result.code, result.err) == ((0, "") if name == "ACGT" else (2, error))


def test_a_sequence_without_p_is_recognized(folder, index_of, command):
    result = command("locate", "-x", index_of(GENOME), "GATTACA")
    assert (result.code, result.err) == (
        2,
        "fmx: error: no file GATTACA; to search for a sequence, use -p GATTACA\n",
    )


@pytest.mark.parametrize("bad", ["N", "ACGTN", "ACR", ""])
def test_a_pattern_that_cannot_occur_is_told(bad, folder, index_of, command):
    index = index_of(GENOME)
    result = command("locate", "-x", index, "-p", "ACGTACGT", "-p", bad)
    assert result.code == (0 if bad else 2)
    assert not bad or "; 1 not searched (empty, or with characters other than A, C, G, T and U)" in result.err
    (folder / "p.fa").write_text(f">a\nACGTACGT\n>b\n{bad}\n>c\n{bad}\n")
    assert "; 2 not searched (" in command("locate", "-x", index, "p.fa").err
    assert "; 2 not searched (" in command("search", "-x", index, "p.fa").err
    assert "not searched" not in command("locate", "-x", index, "-p", "ACGTACGT", "-p", "TTTTTTTTTTTTTTT").err
