"""Real genomes and reads against outside oracles: bowtie, the published counts, a scan of every substring."""

import functools
import gzip
import hashlib
import re
import subprocess
from collections import Counter, defaultdict

import naive
import pytest
from cached import cached
from cases import fasta
from cover import nightly

import fmx

YEAST_READS = [
    "yeast_SRR5204809_input1_R1", "yeast_SRR5204809_input1_R2", "yeast_SRR5204810_input2_R1",
    "yeast_SRR5204810_input2_R2",
]  # fmt: skip


def known_counts(text) -> dict:
    """Read file -> (reads hit, hit once, total hits, most for one read), from the README of the data."""
    rows = re.findall(r"\| sacCer3 \| (SRR\d+) (R\d) \| (\d+) / (\d+) / (\d+) / (\d+) \|", text)
    return {f"{run} {end}": tuple(map(int, counts)) for run, end, *counts in rows}


@pytest.fixture(scope="module")
def yeast(data, tmp_path_factory):
    """The opened index of yeast."""
    path = tmp_path_factory.mktemp("yeast") / "yeast.fmx"
    return fmx.build(data("scerevisiae_sacCer3.fa.gz"), path, threads=2)


@pytest.fixture(scope="module")
def bowtie_hits(data, peer, tmp_path_factory):
    """A function: a file of reads -> sorted rows (read, contig, position, strand) of bowtie -v 0 -a in yeast.

    What bowtie has listed is kept: it is the same as long as bowtie and the files are.
    """
    genome, folder = data("scerevisiae_sacCer3.fa.gz"), tmp_path_factory.mktemp("bowtie")
    options = ["-v", "0", "-a", "-p", "2", "--refidx", "--suppress", "5,6,7,8"]

    @functools.cache
    def index():
        (folder / "yeast.fa").write_bytes(gzip.decompress(genome.read_bytes()))
        command = [peer("bowtie-build"), "-q", "--threads", "2", folder / "yeast.fa", folder / "yeast"]
        subprocess.run(command, check=True)
        return folder / "yeast"

    def listed(reads) -> str:
        command = [peer("bowtie"), *options, "-x", index(), reads]
        return subprocess.run(command, check=True, capture_output=True).stdout.decode()

    def bowtie_hits(reads) -> list:
        version = subprocess.run([peer("bowtie"), "--version"], check=True, capture_output=True, text=True)
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (genome, reads)]
        name = " ".join(["bowtie", version.stdout.splitlines()[0], *options, *digests])
        rows = [line.split("\t") for line in cached(name, lambda: listed(reads)).splitlines()]
        number = {name: i for i, name in enumerate(names_of(reads))}
        return sorted(
            (number[name.split()[0]], int(ref), int(place), strand == "-")
            for name, strand, ref, place in rows
        )

    return bowtie_hits


def names_of(fastq) -> list:
    with gzip.open(fastq, "rt") as file:
        return [line[1:].split()[0] for i, line in enumerate(file) if i % 4 == 0]


@pytest.mark.xdist_group("yeast")
@pytest.mark.parametrize("name", [YEAST_READS[0], *map(nightly, YEAST_READS[1:])])
def test_all_hits_of_yeast_reads_are_those_of_bowtie(name, yeast, bowtie_hits, data):
    reads = data(f"{name}.fastq.gz")
    names = names_of(reads)
    assert len(set(names)) == len(names) == 100_000
    hits = yeast.locate(reads)
    expected = bowtie_hits(reads)
    found = hits[["read", "contig", "position", "reverse"]].tolist()
    assert len(found) == len(set(found))
    assert sorted(found) == expected
    per_read = Counter(hits["read"].tolist())
    counts = (len(per_read), sum(n == 1 for n in per_read.values()), len(hits), max(per_read.values()))
    run, end = name.split("_")[1], name[-2:]
    assert counts == known_counts(data("README.md").read_text())[f"{run} {end}"]
    assert all(hits["occurrences"] == [per_read[read] for read in hits["read"].tolist()])


@pytest.mark.xdist_group("yeast")
def test_sam_of_yeast_reads_is_accepted_and_counts_agree(yeast, data, peer, command, tmp_path):
    """BAM and SAM by the command, read by samtools; NH is the number of records of a read with -a."""
    samtools, reads = peer("samtools"), data(f"{YEAST_READS[0]}.fastq.gz")
    views = []
    for output in (tmp_path / "out.sam", tmp_path / "out.bam"):
        assert command("search", "-q", "-a", "-t", "2", "-x", yeast.path, reads, "-o", output).code == 0
        subprocess.run([samtools, "quickcheck", "-v", output], check=True)
        view = [samtools, "view", "--no-PG", output]
        views.append(subprocess.run(view, check=True, capture_output=True).stdout)
    assert views[0] == views[1]
    records = [line.split("\t") for line in views[0].decode().splitlines()]
    mapped = Counter(record[0] for record in records if record[2] != "*")
    for record in records:
        assert int(record[11].removeprefix("NH:i:")) == mapped[record[0]]
    expected = known_counts(data("README.md").read_text())["SRR5204809 R1"]
    assert (len(mapped), sum(mapped.values())) == (expected[0], expected[2])


def fasta_of(path) -> list:
    """(name, sequence) of a gzipped FASTA file."""
    contigs = []
    with gzip.open(path, "rt") as file:
        for line in file:
            if line.startswith(">"):
                contigs.append((line[1:].split()[0], []))
            else:
                contigs[-1][1].append(line.strip())
    return [(name, "".join(parts)) for name, parts in contigs]


def scan(contigs, reads) -> dict:
    """Occurrences of every read, by looking at every substring of the reads' lengths in every contig."""
    wanted, found = defaultdict(list), {i: [] for i in range(len(reads))}
    for i, read in enumerate(reads):
        if naive.is_searchable(read):
            wanted[naive.plain(read)].append((i, naive.FORWARD))
            wanted[naive.reverse_complement(read)].append((i, naive.REVERSE))
    lengths = sorted({len(read) for read in wanted})
    for contig, (_, sequence) in enumerate(contigs):
        letters = naive.plain(sequence)
        for n in lengths:
            for start in range(len(letters) - n + 1):
                for read, strand in wanted.get(letters[start : start + n], ()):
                    found[read].append((contig, start, strand))
    return {read: sorted(places) for read, places in found.items() if places}


@pytest.mark.parametrize(("every", "least"), [(30, 1_500), nightly(1, 30_000)])
def test_mature_micro_rnas_in_hairpins_are_those_of_a_scan(every, least, data, tmp_path):
    contigs, reads = fasta_of(data("mirbase_hairpin.fa.gz")), fasta_of(data("mirbase_mature.fa.gz"))
    assert len(contigs) == 28_645  # as data/README.md says: tens of thousands of tiny contigs
    contigs = contigs[::every]
    (tmp_path / "hairpin.fa").write_bytes(fasta(contigs))
    mirbase = fmx.build(tmp_path / "hairpin.fa", tmp_path / "hairpin.fmx", threads=2)
    assert mirbase.contigs == [name for name, _ in contigs]
    found = defaultdict(list)
    for read, contig, position, reverse, occurrences in mirbase.locate(data("mirbase_mature.fa.gz")).tolist():
        found[read].append((contig, position, int(reverse)))
        assert occurrences > 0
    expected = scan(contigs, [sequence for _, sequence in reads])
    assert len(expected) > least
    assert dict(found) == expected
