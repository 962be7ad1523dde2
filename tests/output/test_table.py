"""The tables: occurrences as TSV and BED, counts per contig."""

import cases
import naive
import pytest
from texts import TEXTS, reads_of

HEADER = "pattern\tcontig\tstart\tend\tstrand\toccurrences"


@pytest.mark.parametrize("name", ["palindromes", "contigs of 1 to 6", "repeats across separators"])
def test_locate_lists_every_occurrence_in_order(name, folder, index_of, command):
    contigs = TEXTS[name]
    sequences = [sequence for sequence in reads_of(contigs) if sequence]
    (folder / "p.fa").write_bytes(cases.fasta([(f"p{i}", s) for i, s in enumerate(sequences)]))
    tsv, bed = [HEADER], []
    for i, sequence in enumerate(sequences):
        found = naive.locate(contigs, sequence)
        for contig, start, strand in found:
            place = [contigs[contig][0], str(start), str(start + len(sequence))]
            tsv.append("\t".join([f"p{i}", *place, "+-"[strand], str(len(found))]))
            bed.append("\t".join([*place, f"p{i}", "0", "+-"[strand]]))
    for kind, expected in (("tsv", tsv), ("bed", bed)):
        result = command("locate", "-q", "-x", index_of(contigs), "p.fa", "--format", kind)
        assert (result.code, result.err) == (0, "")
        assert result.out.decode().splitlines() == expected
    assert command("locate", "-q", "-x", index_of(contigs), "p.fa").out.decode().splitlines() == tsv


def test_patterns_of_the_command_line_are_their_own_names(folder, index_of, command):
    index = index_of([("x", "AACGTT"), ("y", "ttt")])
    result = command("locate", "-q", "-x", index, "-p", "ACGT", "-p", "ggg", "-p", "aaa", "--forward-only")
    assert result.out.decode().splitlines() == [HEADER, "ACGT\tx\t1\t5\t+\t1"]
    result = command("locate", "-q", "-x", index, "-p", "aaa", "--reverse-only", "--format", "bed")
    assert result.out == b"y\t0\t3\taaa\t0\t-\n"
    result = command("locate", "-q", "-x", index, "-p", "AC", "--format", "sam")
    assert [record[:4] for record in result.records] == [["AC", "0", "x", "2"], ["AC", "272", "x", "4"]]


@pytest.mark.parametrize(
    "arguments", [[], ["-a"], ["-k", "2", "-t", "2"], ["-m", "3"], ["--seed", "5"]], ids=str
)
def test_counts_per_contig(arguments, folder, index_of, command):
    contigs = TEXTS["contigs of 1 to 6"]
    sequences = reads_of(contigs)
    (folder / "r.fq").write_bytes(cases.fastq(enumerate(sequences)))
    result = command(
        "search", "-q", "-x", index_of(contigs), "r.fq", "-o", "out.sam", "--counts", "counts.tsv", *arguments
    )
    assert result.code == 0
    at_most = 3 if "-m" in arguments else len(sequences) * 1000
    found = [naive.locate(contigs, sequence) for sequence in sequences]
    found = [places for places in found if len(places) <= at_most]
    expected = ["contig\tlength\treads\thits\tunique\tfractional", *naive.counts(contigs, found)]
    assert (folder / "counts.tsv").read_text().splitlines() == expected
