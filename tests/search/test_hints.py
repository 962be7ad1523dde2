"""A hint names the likely cause if almost no read is mapped; otherwise there is none."""

import cases
import naive
import pytest
from texts import numbered, random_letters

GENOME = numbered([random_letters(4000, "hints")])
GUIDES = numbered([random_letters(20, f"guide {i}") for i in range(60)])
LETTERS = GENOME[0][1]
INSIDE = [LETTERS[i * 30 :][:40] for i in range(120)]
STRANGE = [random_letters(40, f"strange {i}") for i in range(120)]
CASES = {
    "reads have 26 bases on average, but most contigs are no longer than 20: use --trim5 N --len":
        (GUIDES, [f"ACC{guide}GTT" for _, guide in GUIDES * 2], []),
    "most reads cannot be searched": (GENOME, [read[:20] + "N" * 9 for read in INSIDE], []),
    "most reads cannot be searched after trimming: check the file, --trim5": 
        (GENOME, INSIDE, ["--trim5", "40"]),
    "most reads cannot be searched after trimming": (GENOME, INSIDE, ["--min-length", "41"]),
    "most reads cannot be searched after trimming: ": (GENOME, INSIDE, ["--trim5", "40", "--collapse"]),
    "reads may come from the other strand: remove --forward-only":
        (GENOME, [naive.reverse_complement(read) for read in INSIDE], ["--forward-only"]),
    "reads may come from the other strand: remove --reverse-only": (GENOME, INSIDE, ["--reverse-only"]),
    "a read must match over its whole length: trim adapters (--trim5, --trim3, --length), allow --mism":
        (GENOME, [*STRANGE, INSIDE[0]], []),
    "a read must match over its whole length: trim adapters (--trim5, --trim3, --length) and check":
        (GENOME, [*STRANGE, INSIDE[0]], ["--mismatches", "2"]),
    "a read must match over its whole length: trim adapters (--trim5, --trim3, --length), allow --mismatches "
    "2":
        (GENOME, [*STRANGE, INSIDE[0]], ["--mismatches", "1"]),
}  # fmt: skip
NO_CASES = {
    "some occur": (INSIDE[:4] + STRANGE[:100], []),
    "some occur too often": (["ACG"] * 4 + STRANGE[:100], ["-m", "1"]),
    "few reads": (STRANGE[:99], []),
}


@pytest.fixture
def said(folder, index_of, command):
    """A function: what a search says on standard error, a line each."""

    def said(contigs, reads, *options):
        (folder / "r.fa").write_bytes(cases.fasta(enumerate(reads)))
        result = command("search", "-x", index_of(contigs), "r.fa", "-o", "out.sam", *options)
        assert result.code == 0
        return result.err.splitlines()

    return said


@pytest.mark.parametrize("hint", CASES)
def test_a_hint_says_what_may_be_the_matter(hint, said):
    contigs, reads, options = CASES[hint]
    assert said(contigs, reads, *options)[-1].startswith(f"fmx: hint: {hint}")


def test_what_a_hint_says_helps(said):
    contigs, reads, _ = CASES[next(iter(CASES))]
    line = said(contigs, reads, "--trim5", "3", "--length", "20")[-1]
    assert line.startswith("fmx: 120 reads: 120 mapped")


@pytest.mark.parametrize("name", NO_CASES)
def test_no_hint_is_given_where_none_is_due(name, said):
    reads, options = NO_CASES[name]
    assert not any("hint" in line for line in said(GENOME, reads, *options))


@pytest.mark.parametrize("form", ["-p", "file"])
def test_patterns_that_cannot_occur_are_told_of_iupac(form, folder, index_of, command):
    words = [INSIDE[0], INSIDE[1][:20] + {"A": "R", "C": "Y", "G": "R", "T": "Y"}[INSIDE[1][20]]]
    (folder / "p.fa").write_bytes(cases.fasta(enumerate(words)))
    given = [x for word in words for x in ("-p", word)] if form == "-p" else ["p.fa"]
    hint = "fmx: hint: to match IUPAC codes in patterns, such as N, R or Y, add --iupac"
    for more, n_lines, n_hints in (([], 2, 1), (["--iupac"], 3, 0)):
        result = command("locate", "-x", index_of(GENOME), *given, *more)
        assert (result.code, result.out.count(b"\n")) == (0, n_lines)
        assert result.err.count(hint) == result.err.count("hint") == n_hints
    assert "hint" not in command("locate", "-x", index_of(GENOME), "-p", "AC").err
