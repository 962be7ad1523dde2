"""fmx offtargets: the sites of the naive scan, from any source, and messages about wrong inputs."""

import gzip
import json

import cases
import naive
import pytest
import workflow
from fuzz.kinds import offtargets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from output_of import bgzf
from texts import numbered, random_letters

import fmx
from fmx.sites import search

TEXT = random_letters(700, "sites")
COPIES = f"ACGNNN{TEXT[90:300]}NN{naive.reverse_complement(TEXT[60:350])}"
CONTIGS = numbered([TEXT, COPIES, "N" * 9, "GG"])
GUIDES = {f"g{i}": TEXT[i : i + 18] + "A" for i in range(0, 600, 31)}
NUMBERS = (
    st.randoms(use_true_random=False),
    st.tuples(st.integers(1, 300), st.integers(64, 300), st.integers(36, 1 << 26)),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*NUMBERS)
def test_sites_are_those_of_a_naive_scan(folder, command, monkeypatch, rng, sizes):
    monkeypatch.setattr(search, "_PIECE", sizes[0])
    monkeypatch.setattr(search, "_AT_ONCE", sizes[1])
    monkeypatch.setattr(search, "_OF_SITE", sizes[2])  # guides wait if their sites take too much memory
    case = offtargets.make(rng, folder)
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    case.commands = case.commands[:1]
    assert offtargets.check(case, [command(*case.commands[0])], folder) == []


@pytest.fixture
def home(folder):
    """A folder with contigs as FASTA, packed and as indexes, and a library."""
    fasta = cases.fasta(CONTIGS, 60)
    (folder / "r.fa").write_bytes(fasta)
    (folder / "r.fa.gz").write_bytes(gzip.compress(fasta))
    (folder / "b.fa.gz").write_bytes(bgzf(fasta, 300))
    workflow.build_index(fasta, folder / "whole.fmx")
    workflow.build_index(fasta, folder / "parts.fmx", workflow.IndexOptions(part_size=705))
    workflow.build_index(fasta, folder / "sparse.fmx", workflow.IndexOptions(["sparse"]))
    (folder / "g.csv").write_text("id,sequence\n" + "".join(f"{x},{y}\n" for x, y in GUIDES.items()))
    return folder


@pytest.mark.parametrize("name", ["r.fa", "r.fa.gz", "b.fa.gz", "whole.fmx", "parts.fmx", "sparse.fmx"])
def test_every_source_gives_the_same(name, home, command):
    result = command(
        "offtargets", "-l", "g.csv", name, "--pam", "R", "-m", "2", "--report", "r.json", "--report", "r.html"
    )
    sites = naive.sites(CONTIGS, [*GUIDES.values()], ["R"], 4)
    rows = [line.split("\t") for line in result.out.decode().splitlines()[1:]]
    of_guides = [[site for site in sites if site[0] == number] for number in range(len(GUIDES))]
    assert [row[5] for row in rows] == [site[-1] for each in of_guides for site in each[:2]]
    many = [len(each) for each in of_guides if len(each) > 2]
    left = sum(many) - 2 * len(many)
    assert f"{len(many)} guides have more than 2 sites (-m): {left} sites are not listed" in result.err
    page = (home / "r.html").read_text()
    assert "Mismatches in sites" in page
    assert ("Time by stage" in page) == ("Seconds by stage" in page)
    assert json.loads((home / "r.json").read_text())["counts"] == {"bases": 1205, "sites": len(sites)}
    table = fmx.offtargets(name, GUIDES, pam=["R"])
    assert table.tolist() == [(g, c, a, b, bool(minus), n) for g, n, c, a, b, minus, _ in sites]
    assert table[:7].tolist() == fmx.offtargets(dict(CONTIGS), "g.csv", pam="r")[:7].tolist()


@pytest.mark.parametrize(
    ("library", "words", "code", "message"),
    [
        ("g1,ACGTACGTACGTACG\n", "r.fa", 1,
         "g.csv: guide g1: its sequence has 15 bases; needs 16 to 28, without the PAM"),
        (">g1\n" + "ACGT" * 8, "r.fa", 1,
         "g.csv: guide g1: its sequence has 32 bases; needs 16 to 28, without the PAM"),
        ("g1,ACGTACGTACGTACGTN\n", "r.fa", 1,
         "g.csv: guide g1: its sequence contains N; only A, C, G and T can be searched for"),
        ("id,sequence1,sequence2\ng,ACGTACGTACGTACGTA,ACGTACGTACGTACGTA\n", "r.fa", 1,
         "g.csv: this is a library of pairs of guides: name one of its sequences, as in --columns "
         "sequence=2"),
        ("", "r.fa", 1, "g.csv: no guides: give a table of id, sequence and gene, or FASTA"),
        ("@r\nACGT\n+\nIIII\n", "r.fa", 1,
         "g.csv: this is FASTQ, not a library of guides: give -l a table or FASTA"),
        (None, "none.fa", 1, "none.fa: No such file or directory"),
        (None, "g.csv", 1, "g.csv: line 1: expected '>' at the start of a FASTA file, found 'i'"),
        (None, "empty.fa", 1, "empty.fa: the file is empty; expected FASTA"),
        (None, "n.fa", 1, "n.fa: the reference has no A, C, G or T: nothing to index"),
        (None, ".", 1, ".: has no meta.json, so it is not an fmx index"),
        (None, "r.fa --pam NXG", 2, "--pam: 'NXG' contains 'X', which is not an IUPAC base"),
        (None, f"r.fa --pam {'N' * 65}", 2, f"--pam: '{'N' * 65}' has more than 64 bases"),
        (None, "r.fa -o sites.sam", 2,
         "-o sites.sam: the output can only be TSV, BED or Parquet, not .sam; choose another name or format"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(library, words, code, message, home, command):
    (home / "empty.fa").touch()
    (home / "n.fa").write_text(">n\nNNNN\n")
    if library is not None:
        (home / "g.csv").write_text(library)
    result = command("offtargets", "-q", "-l", "g.csv", *words.split())
    assert (result.code, result.out, result.err) == (code, b"", f"fmx: error: {message}\n")
