"""The commands of docs/small-rna.md give the output shown there, and the hits of bowtie."""

import gzip
import random
import re
import subprocess
from collections import Counter

import pysam
import pytest
from conftest import ROOT

PAGE = (ROOT / "docs" / "small-rna.md").read_text()
COUNT, *COMMANDS = [
    line.split()[1:] for line in PAGE.splitlines() if line.startswith("    fmx ") and ": " not in line
]
ADAPTER = "TGGAATTCTCGGGTGCCAAGGAACTCCAGTCAC"


@pytest.fixture(scope="module")
def home(data, tmp_path_factory):
    """A folder with the sequences of the page."""
    folder = tmp_path_factory.mktemp("small")
    for species, kind in (("hsa", "hairpin"), ("mmu", "mature"), ("hsa", "mature")):
        text = gzip.decompress(data(f"mirbase_{kind}.fa.gz").read_bytes()).decode()
        records = re.findall(rf"^>{species}-[^>]*", text, re.MULTILINE)
        (folder / f"{species}_{kind}.fa").write_text("".join(records))
    return folder


def places(path) -> set:
    """(letters, contig, position, mismatches) of each record."""
    with pysam.AlignmentFile(path, check_sq=False) as file:
        hits = [record for record in file if not record.is_unmapped]
    letters = {hit.query_name: hit.query_sequence for hit in hits if hit.query_sequence}
    return {
        (letters[hit.query_name], hit.reference_name, hit.reference_start, hit.get_tag("NM")) for hit in hits
    }


def weight_of(path) -> int:
    """How many reads occur, by the weights in the names of a file whose reads were collapsed."""
    with pysam.AlignmentFile(path) as file:
        names = {hit.query_name for hit in file if not hit.is_unmapped}
    return sum(int(name.rpartition("_x")[2]) for name in names)


def test_a_read_counts_towards_the_longest_mirna_with_which_it_starts(home, command, monkeypatch):
    monkeypatch.chdir(home)
    found = re.findall(r"^>(\S+).*\n(\S+)", (home / "hsa_mature.fa").read_text(), re.MULTILINE)
    letters = {name: rna.replace("U", "T") for name, rna in found}
    longest, expected = {rna: name for name, rna in reversed(letters.items())}, Counter()
    for sample in ("day0", "day14"):
        drawn = random.Random(sample).choices(list(letters.values()), k=2000)
        reads = [(rna + ADAPTER)[:36] for rna in drawn]
        with gzip.open(f"{sample}.fq.gz", "wt") as file:
            file.write("".join(f"@{i}\n{read}\n+\n{'I' * len(read)}\n" for i, read in enumerate(reads)))
        for read in reads:
            known = [read[:n] for n in range(len(read), 0, -1) if read[:n] in longest]
            expected[longest[known[0]], sample] += 1
    assert command(*COUNT).code == 0
    head, *rows = [line.split("\t") for line in (home / "mirna.tsv").read_text().splitlines()]
    counts = {(row[0], sample): int(n) for row in rows for sample, n in zip(head[2:], row[2:], strict=True)}
    assert {key: n for key, n in counts.items() if n} == expected


def test_the_page_tells_the_truth_and_bowtie_the_same(home, command, peer, monkeypatch):
    monkeypatch.chdir(home)
    (index, search), told = COMMANDS, re.findall(r"^ +fmx: (\d.*)$", PAGE, re.MULTILINE)
    assert command(*index).code == 0
    result = command(*search)
    assert (result.code, len(told), all(line in result.err for line in told)) == (0, 2, True)
    counts = [line.split() for line in (home / "hairpins.tsv").read_text().splitlines()]
    rows = [line.split() for line in PAGE.split("one third to each")[1].split("\n\n")[1].splitlines()]
    assert rows == [counts[0], *(row for row in counts if row[0].startswith("hsa-let-7a-"))]
    assert abs(sum(float(row[5]) for row in counts[1:]) - 552) < 1e-3
    left = {"--mismatches", "1", "--strata", "--counts", "hairpins.tsv"}
    exact = [word for word in search if word not in left]
    exact[exact.index("hits.bam")] = "exact.bam"
    assert command(*exact).code == 0
    for rna, dna in (("mmu_mature.fa", "dna.fa"), ("hsa_hairpin.fa", "hairpin.fa")):  # bowtie knows no U
        text = (home / rna).read_text()
        (home / dna).write_text(re.sub("^[ACGU]+$", lambda line: line[0].replace("U", "T"), text, flags=re.M))
    subprocess.run([peer("bowtie-build"), "-q", "hairpin.fa", "hairpin"], check=True)
    for ours, options in (("hits.bam", "-v 1 --best --strata"), ("exact.bam", "-v 0")):
        bowtie = [peer("bowtie"), *options.split(), "-a", "--norc", "-S", "-f", "-x", "hairpin", "dna.fa"]
        subprocess.run([*bowtie, "bowtie.sam"], check=True, capture_output=True)
        assert places(ours) == places("bowtie.sam")
    assert (weight_of("hits.bam"), weight_of("exact.bam")) == (552, 431)
    assert "; 431 of the 1,915 sequences are then mapped." in " ".join(PAGE.split())
