"""fmx mem against Debian's mummer: the same headers, and below each of them the same lines."""

import gzip
import random
import re
import subprocess

import naive
import pytest
import workflow
from conftest import ROOT
from cover import nightly
from texts import random_letters

KINDS = ["--maxmatch", "--mumreference", "--mum"]
LAMBDA = ROOT / "fmx" / "data" / "lambda.fa.gz"


def letters_of(path, n=None) -> str:
    """The first n letters of a FASTA file's first sequence."""
    with gzip.open(path, "rt") as file:
        next(file)
        return "".join(line.strip() for line in file if not line.startswith(">"))[:n]


def mutate(letters, seed, rate=0.02) -> str:
    """Substitutions, short insertions and deletions, runs of N and a turned-round part."""
    rng, changed = random.Random(seed), []
    for letter in letters:
        if rng.random() < rate:
            letter = rng.choice(["", "A", "C", "G", "T", letter + rng.choice("ACGT"), "N"])
        changed.append(letter)
    middle = len(changed) // 2
    turned = naive.reverse_complement("".join(changed[middle : middle + len(changed) // 5]))
    return "".join(changed[:middle]) + turned + "".join(changed[middle + len(changed) // 5 :])


def write_fasta(path, contigs):
    path.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in contigs))
    return path


def parts(output: bytes) -> tuple:
    """(header lines in order, sorted lines below each)."""
    pieces = re.split(rb"^(>.*)\n", output, flags=re.MULTILINE)
    return pieces[1::2], [sorted(piece.splitlines()) for piece in pieces[2::2]]


@pytest.fixture
def same(peer, command, tmp_path):
    """A function (reference, queries, options) that compares the two programs; the number of matches."""
    mummer = peer("mummer")

    def same(reference, queries, *options):
        index = tmp_path / f"{reference.name}.fmx"
        if not index.exists():
            workflow.build_index(reference, index, workflow.IndexOptions(with_lcp=True))
        theirs = [f"-{option[2:]}" if option.startswith("--") else option for option in options]
        theirs = [mummer, "-n", *([] if any("-m" in x for x in theirs) else ["-maxmatch"]), *theirs]
        expected = subprocess.run([*theirs, reference, queries], check=True, capture_output=True)
        found = command("mem", "-q", "-x", index, *options, queries)
        assert (found.code, found.err) == (0, "")
        papers = command("mem", "-q", "-x", index, "--algorithm", "mummergpu", *options, queries)
        assert papers.out == found.out
        headers, lines = parts(found.out)
        assert (headers, lines) == parts(expected.stdout)
        return sum(map(len, lines))

    return same


@pytest.fixture
def phage(tmp_path):
    """(reference of one sequence, reference of three, queries) as FASTA files."""
    letters = letters_of(LAMBDA)
    one = write_fasta(tmp_path / "one.fa", [("lambda phage", letters)])
    contigs = [("a", letters[:9000]), ("a_long_name of a part", letters[7000:30000]), ("c", letters[29000:])]
    three = write_fasta(tmp_path / "three.fa", contigs)
    reads = [mutate(letters[i : i + 150], i) for i in range(0, 40000, 801)]
    queries = [("whole", mutate(letters, "phage")), ("lower x", letters[:500].lower()), ("G", "G")]
    queries += [(f"read{i} {i}", read) for i, read in enumerate(reads)] + [("all", letters)]
    return one, three, write_fasta(tmp_path / "queries.fa", queries)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [("-l", "20", "-b"), ("-l", "12", "-r"), ("-l", "8"), ("-l", "14", "-b", "-c", "-L"), ("-l", "300", "-b"),
     ("-l", "15", "-F"), ("-l", "16", "-r", "-c", "-F", "-L"), ("-l", "100000", "-b")],
    ids=" ".join,
)  # fmt: skip
def test_phage(kind, options, phage, same):
    one, three, queries = phage
    n = same(one, queries, kind, *options) + same(three, queries, kind, *options)
    assert (n == 0) == ("100000" in options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("least", ["1", "2", "3", "5", "9"])
def test_short_matches_in_repeats(kind, least, same, tmp_path):
    unit = random_letters(60, "mummer")
    contigs = [("a", unit * 3 + "A" * 40), ("b", "ACG" * 30 + "N" + unit), ("c", "T")]
    queries = [("q", unit[5:50] * 2 + "N" + "ACG" * 7), ("r", naive.reverse_complement(unit) + "A" * 45)]
    reference = write_fasta(tmp_path / "repeats.fa", contigs)
    assert same(reference, write_fasta(tmp_path / "queries.fa", queries), kind, "-b", "-l", least) > 0


@pytest.mark.parametrize("n", [100_000, nightly(10**6)])
@pytest.mark.parametrize("kind", KINDS)
def test_genomes(kind, n, same, data, tmp_path):
    """E. coli and a mutated copy; a plant and a human chromosome (slices of so many bases)."""
    coli = letters_of(data("ecoli536_NC_008253.fna.gz"), n)
    plant = letters_of(data("athaliana_TAIR10.1_chr1.fa.gz"), n)
    human = letters_of(data("human_hs37_chrX_20M-30M.fa.gz"), n)
    coli_file = write_fasta(tmp_path / "coli.fa", [("coli", coli)])
    plant_file = write_fasta(tmp_path / "plant.fa", [("plant", plant)])
    copy = write_fasta(tmp_path / "copy.fa", [("copy", mutate(coli, 3))])
    assert same(coli_file, copy, kind, "-b") > n / 100
    assert same(plant_file, write_fasta(tmp_path / "human.fa", [("X", human)]), kind, "-b", "-l", "16") > 10
