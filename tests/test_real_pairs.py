"""Pairs of real and simulated reads against bowtie -v N -1 -2: the same, but for what docs/pairs.md tells."""

import gzip
import random
import subprocess
from collections import Counter

import naive
import pytest
from conftest import ROOT
from cover import nightly
from test_real_data import fasta_of
from texts import numbered, random_letters


def pairs_in(sam) -> list:
    """(name, contig, (start, strand, length, NM, MD) of mate 1, of mate 2) of the proper pairs in SAM."""
    records = (line.split("\t") for line in sam.decode().splitlines() if line[0] != "@")
    mates = [record for record in records if int(record[1]) & 2]
    found = []
    for one, two in zip(mates[::2], mates[1::2], strict=True):
        if int(one[1]) & 128:
            one, two = two, one
        assert (int(one[1]) & 64, int(two[1]) & 128, one[2]) == (64, 128, two[2])
        tags = [sorted(tag for tag in mate[11:] if tag[:2] in ("NM", "MD")) for mate in (one, two)]
        own = zip((one, two), tags, strict=True)
        places = [(int(mate[3]), int(mate[1]) & 16, int(mate[5][:-1]), *of_mate) for mate, of_mate in own]
        found.append((one[0].removesuffix("/1").removesuffix("/2"), one[2], *places))
    return found


def check(command, peer, index, bowtie_index, reads, options=(), kind="-q", v=0):
    """fmx finds each pair once, and bowtie's pairs; the others are those that bowtie leaves out."""
    mates = ["-a", *options, "-1", reads[0], "-2", reads[1]]
    words = [peer("bowtie"), kind, "-v", str(v), "-p", "2", "-X", "600", "-S", "-x", bowtie_index, *mates]
    words += ["--pairtries", "1000000"]
    theirs = pairs_in(subprocess.run(words, check=True, capture_output=True).stdout)
    near = ["--mismatches", v] if v else []
    done = command("search", "-q", "--max-insert", "600", "-t", "2", "-x", index, *mates, *near)
    assert done.code == 0
    ours = pairs_in(done.out)
    assert len(set(ours)) == len(ours) > 100
    assert set(theirs) <= set(ours)
    partners = [Counter((pair[0], pair[1], pair[i]) for pair in ours) for i in (2, 3)]
    for pair in set(ours) - set(theirs):
        (start1, _, n1, *_), (start2, _, n2, *_) = pair[2:]
        several = all(partners[i][pair[0], pair[1], pair[2 + i]] > 1 for i in (0, 1))
        assert start1 == start2 or start1 + n1 == start2 + n2 or several
    return ours, theirs


def contigs_of(name, data) -> list:
    """Of a file of real data, of the phage that comes with fmx, or made up with many repeats."""
    if name == "made up":
        units = [random_letters(300, f"unit {i}") for i in range(8)]
        rng = random.Random("pairs")
        joined = [rng.choice(units) + random_letters(rng.randrange(200), i) for i in range(400)]
        return numbered(["".join(joined[:250]), "N" * 70, "".join(joined[250:])])
    return fasta_of(ROOT / "fmx" / "data" / name if name == "lambda.fa.gz" else data(name))


@pytest.fixture(scope="module")
def indexes(data, peer, tmp_path_factory):
    """A function: name of a genome -> (index of fmx, index of bowtie, contigs) of its first 700 kb."""
    from cases import build

    made = {}

    def indexes(name):
        if name not in made:
            folder, contigs, n = tmp_path_factory.mktemp("pairs"), [], 0
            for contig, sequence in contigs_of(name, data):
                contigs.append((contig, sequence[: 700_000 - n]))
                n += len(contigs[-1][1])
                if n == 700_000:
                    break
            build(folder / "ref.fmx", contigs, n_threads=2)
            (folder / "ref.fa").write_text("".join(f">{name}\n{letters}\n" for name, letters in contigs))
            subprocess.run([peer("bowtie-build"), "-q", folder / "ref.fa", folder / "ref"], check=True)
            made[name] = folder / "ref.fmx", folder / "ref", contigs
        return made[name]

    return indexes


def simulated(contigs, n, seed, folder, most=0, is_turned=False) -> list:
    """FASTA files of n fragments' mates of unlike lengths, of both strands; a few lie the same way.

    Up to ``most`` bases of each mate are changed; if ``is_turned``, each mate is seen from the other strand.
    """
    rng, sides = random.Random(seed), ([], [])
    for i in range(n):
        sequence = max((rng.choice(contigs)[1] for _ in range(3)), key=len)
        start, insert = rng.randrange(max(1, len(sequence) - 700)), rng.randrange(60, 650)
        fragment = sequence[start : start + insert]
        if rng.random() < 0.5:
            fragment = naive.reverse_complement(fragment)
        one, two = fragment[: rng.randrange(20, 60)], fragment[-rng.randrange(20, 60) :]
        mates = one, two if i % 10 == 0 else naive.reverse_complement(two)
        for side, mate in zip(sides, mates, strict=True):
            for _ in range(rng.randrange(most + 1)):
                place = rng.randrange(len(mate))
                mate = mate[:place] + rng.choice("ACGTN") + mate[place + 1 :]
            side.append(f">s{i}\n{naive.reverse_complement(mate) if is_turned else mate}\n")
    paths = [folder / f"{i}.fa" for i in (1, 2)]
    for path, side in zip(paths, sides, strict=True):
        path.write_text("".join(side))
    return paths


@pytest.mark.xdist_group("pairs of yeast")
@pytest.mark.parametrize(
    ("run", "v"), [("SRR5204809_input1", 0), nightly("SRR5204809_input1", 1), ("SRR5204810_input2", 2)]
)
def test_pairs_of_yeast_are_those_of_bowtie(run, v, indexes, data, peer, command, tmp_path):
    """The first 20,000 real pairs, against a part of the genome with the ends of chromosomes."""
    index, bowtie_index, _ = indexes("scerevisiae_sacCer3.fa.gz")
    reads = []
    for i in (1, 2):
        lines = gzip.decompress(data(f"yeast_{run}_R{i}.fastq.gz").read_bytes()).splitlines(keepends=True)
        reads.append(tmp_path / f"{i}.fq")
        reads[-1].write_bytes(b"".join(lines[:80_000]))
    ours, theirs = check(command, peer, index, bowtie_index, reads, v=v)
    assert len(theirs) > 0.9 * len(ours) > 900


@pytest.mark.xdist_group("pairs of yeast")
@pytest.mark.parametrize(
    ("genome", "lie", "v", "least"),
    [
        ("lambda.fa.gz", "rf", 0, 1800), ("made up", "fr", 0, 600), ("made up", "ff", 0, 100),
        ("lambda.fa.gz", "fr", 1, 250), ("made up", "fr", 2, 250),
        *(nightly("human_hs37_chrX_20M-30M.fa.gz", lie, 0, 250) for lie in ("fr", "rf", "ff")),
    ],
)  # fmt: skip
def test_simulated_pairs_are_those_of_bowtie(genome, lie, v, least, indexes, peer, command, tmp_path):
    index, bowtie_index, contigs = indexes(genome)
    n = 1500 if v else 1000 if genome == "made up" else 3000
    paths = simulated(contigs, n, genome, tmp_path, 3 if v else 0, is_turned=lie == "rf")
    ours, _ = check(command, peer, index, bowtie_index, paths, [f"--{lie}"], "-f", v)
    assert len(ours) > least
    tags = {tag for pair in ours for mate in pair[2:] for tag in mate[3:]}
    assert tags >= {f"NM:i:{n}" for n in range(v + 1)}
