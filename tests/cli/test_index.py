"""What fmx index says of its reference, and of an index that stood where it writes."""

import gzip

import cases
import pytest
from texts import random_letters

GENOME = [("c1", random_letters(3000, "one"))]
PROTEIN = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKRQ"


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
    "sequence", [GENOME[0][1], "ACGTURYSWKMBDHVNacgturyswkmbdhvn.", "ACGT" + "N" * 500, "ACGT" * 60 + "X"]
)
def test_dna_is_not(sequence, folder, command):
    (folder / "d.fa").write_bytes(cases.fasta([("a", sequence)]))
    done = command("index", "d.fa")
    assert (done.code, "warning" in done.err) == (0, False)


def test_of_several_files_the_protein_is_named(folder, command):
    (folder / "d.fa").write_bytes(cases.fasta([("a", "ACGT" * 10_000)]))
    (folder / "p.fa").write_bytes(cases.fasta([("p", PROTEIN)]))
    said = command("index", "d.fa", "p.fa", "-o", "x.fmx").err
    assert said.count("warning") == 1
    assert "warning: p.fa: 37 %" in said


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


def test_an_index_of_another_reference_is_not_replaced_without_a_word(folder, command):
    (folder / "a.fa").write_bytes(cases.fasta(GENOME))
    (folder / "b.fa").write_bytes(cases.fasta([("c1", random_letters(3000, "two"))]))
    assert "fmx: wrote x.fmx; " in command("index", "a.fa", "-o", "x.fmx").err
    for more in ([], ["--sa-rate", "2"], ["--layout", "cofi-k4"]):
        assert "fmx: replaced x.fmx; " in command("index", "a.fa", "-o", "x.fmx", *more).err
    said = command("index", "b.fa", "-o", "x.fmx").err
    assert "fmx: replaced x.fmx, the index of another reference (1 contig, 3,000 bases); inspect" in said


def test_inspect_counts_the_indexed_bases(folder, command):
    (folder / "x.fa").write_bytes(cases.fasta([("a", "ACGTTGCA" * 9 + "NNN" + "ACCA" * 5)]))
    assert command("index", "-q", "x.fa").code == 0
    lines = command("inspect", "x.fmx").out.decode().splitlines()
    assert (
        "  indexed        92 bases (A, C, G and T) in 2 blocks; 94 symbols, counting one separator per block"
        in lines
    )
