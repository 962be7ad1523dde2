"""Reads that share a stretch of bases with contigs, by the naive oracle."""

import random

import cases
import naive
import numpy as np
import pytest
from texts import numbered

from fmx.errors import UnsupportedError
from fmx.index import fm_index
from fmx.index.reference import find_block
from fmx.search.mapping import Hooks, MapOptions
from fmx.stretches.finder import make_stretch_finder

LAYOUTS = {"verify": "bvsfm-k2-d96", "sparse": "sparse-k7-w6"}


def found_in(index, reads, least, strands=3, by_contig=True):
    """The contigs of each read by the finder; without ``by_contig`` at most one."""
    options = MapOptions(stretch=least, strands=strands)
    finder = make_stretch_finder(index, options, Hooks(tally=by_contig or None))
    batch, blocks = cases.batch_of(reads), index.reference.blocks
    found = finder.search(batch)
    assert found.total.tolist() == np.diff(found.matches.first).tolist()
    contigs = [int(blocks.contig[find_block(blocks, int(key) >> 1)]) for key in found.matches.keys]
    return [set(contigs[a:b]) for a, b in zip(found.matches.first, found.matches.first[1:], strict=False)]


def drawn(rng, letters, n):
    return "".join(rng.choices(letters, k=n))


def read_of(rng, text, least):
    """A part of a text or of its reverse complement, perhaps longer than it, with up to three changes."""
    length = rng.randrange(1, least + 60)
    start = rng.randrange(max(1, len(text) - length + 1))
    letters = list(text[start : start + length].ljust(length, "A"))
    for _ in range(rng.randrange(4)):
        letters[rng.randrange(length)] = rng.choice("ACGTNacgu")
    return rng.choice([str, naive.reverse_complement])("".join(letters))


@pytest.mark.parametrize("letters", ["ACGTN", "AC", "AAAAAAAC"])
@pytest.mark.parametrize("method", LAYOUTS)
def test_reads_belong_to_the_contigs_of_their_stretches(method, letters, index_of):
    rng = random.Random(f"{method} {letters}")
    for _ in range(2):
        texts = [drawn(rng, letters, rng.randrange(5, 400)) for _ in range(rng.randrange(1, 5))]
        contigs = numbered([*texts, texts[0][5:150] + "A" * 600 + "C" + "A" * 300])
        index = fm_index.load(index_of(contigs, [LAYOUTS[method]]), method=method)
        for least in (12, 20, 31, 40, 70):
            reads = [read_of(rng, rng.choice(contigs)[1], least) for _ in range(50)]
            for strands, numbers in ((1, (0,)), (2, (1,)), (3, (0, 1))):
                expected = [naive.contigs_of_stretches(contigs, read, least, numbers) for read in reads]
                assert found_in(index, reads, least, strands) == expected
                ones = found_in(index, reads, least, strands, by_contig=False)
                assert [one <= each for one, each in zip(ones, expected, strict=True)] == [True] * 50
                assert [bool(one) for one in ones] == [bool(each) for each in expected]


def test_long_reads_are_searched_in_spans(index_of):
    rng = random.Random("long")
    contigs = numbered([drawn(rng, "ACGT", 3000)])
    part = contigs[0][1][40:76]
    reads = [drawn(rng, "ACGT", n) + part + drawn(rng, "ACGT", 1500) for n in range(960, 1030)]
    indexes = [fm_index.load(index_of(contigs, [LAYOUTS[method]]), method=method) for method in LAYOUTS]
    for least in (36, 38):
        expected = [naive.contigs_of_stretches(contigs, read, least) for read in reads]
        for index in indexes:
            assert found_in(index, reads, least, by_contig=False) == expected


def test_a_sparse_index_names_its_shortest_stretch_or_uses_its_suffix_array(index_of):
    contigs = numbered(["GATTACAGGCT", "ACGT" * 20])
    index = fm_index.load(index_of(contigs, ["sparse-k7-w6"]), method="sparse")
    with pytest.raises(UnsupportedError, match=r"--min-match is 11, .* 12 bases or more: raise it to 12"):
        make_stretch_finder(index, MapOptions(stretch=11), Hooks())
    index = fm_index.load(index_of(contigs, ["sparse-k7-w6", LAYOUTS["verify"]]), method="sparse")
    assert found_in(index, ["CCAGCCTGTAATC", "GATTACAGGC"], 11) == [{0}, set()]


def test_an_index_with_a_part_of_the_suffix_array_is_refused(index_of, command, folder):
    path = index_of(numbered(["ACGTTGCA" * 20]), sa_rate=8)
    (folder / "r.fa").write_text(">r\nACGT\n")
    result = command("search", "-x", path, "r.fa", "--min-match", "20")
    assert (result.code, "build the index without --sa-rate" in result.err) == (1, True)


# The command.


def names_in(path):
    return [line[1:] for line in path.read_text().splitlines()[::2]]


@pytest.mark.parametrize("shards", [0, 3])
def test_the_command_separates_reads_and_counts_them(shards, command, folder):
    rng = random.Random("command")
    contigs = numbered([drawn(rng, "ACGT", 300), drawn(rng, "ACGT", 200)])
    reads = [read_of(rng, rng.choice([*contigs, (0, drawn(rng, "ACGT", 300))])[1], 20) for _ in range(120)]
    (folder / "r.fa").write_bytes(cases.fasta(numbered(reads)))
    of = [naive.contigs_of_stretches(contigs, read, 20) for read in reads]
    outputs = ["--al", "al.fa", "--un", "un.fa", "--counts", "c.tsv", "--screen", "s.tsv"]
    cases.build(folder / "a.fmx", contigs)
    words = ["search", "-q", "-x", "a.fmx", "--min-match", 20, "r.fa", *outputs]
    for number in range(shards):
        assert command(*words, "-o", "parts", "--shard", f"{number + 1}/{shards}").code == 0
    result = command("merge", "-q", "parts") if shards else command(*words)
    assert (result.code, result.err) == (0, "")
    assert names_in(folder / "al.fa") == [f"c{i}" for i, each in enumerate(of) if each]
    assert names_in(folder / "un.fa") == [f"c{i}" for i, each in enumerate(of) if not each]
    n = sum(map(bool, of))
    share = [f"{100 * part / 120:.2f}" for part in (n, 120 - n)]
    assert (folder / "s.tsv").read_text() == (
        f"indexes\tnumber\treads\tpercent\na\t1\t{n}\t{share[0]}\n*\t0\t{120 - n}\t{share[1]}\n"
    )
    rows = [line.split("\t") for line in (folder / "c.tsv").read_text().splitlines()[1:]]
    assert [(name, int(n)) for name, _, n, *_ in rows] == [
        (f"c{i}", sum(i in each for each in of)) for i in (0, 1)
    ]


def test_a_pair_belongs_where_a_mate_does(command, folder):
    rng = random.Random("pairs")
    contigs = {name: numbered([drawn(rng, "ACGT", 300)]) for name in "ab"}
    texts = [contigs["a"][0][1], contigs["b"][0][1], drawn(rng, "ACGT", 300)]
    mates = [[read_of(rng, rng.choice(texts), 25) for _ in range(90)] for _ in (1, 2)]
    for name, some in contigs.items():
        cases.build(folder / f"{name}.fmx", some)
    for number, some in enumerate(mates, 1):
        (folder / f"{number}.fa").write_bytes(cases.fasta(numbered(some)))
    of = [
        "".join(
            name for name in "ab" if any(naive.contigs_of_stretches(contigs[name], mate, 25) for mate in pair)
        )
        for pair in zip(*mates, strict=True)
    ]
    words = ["-x", "a.fmx", "-x", "b.fmx", "-1", "1.fa", "-2", "2.fa", "--min-match", 25, "--un", "un.fa"]
    result = command("search", "-q", *words)
    rows = [line.split("\t")[:3] for line in result.out.decode().splitlines()[1:]]
    assert {name: int(n) for name, _, n in rows} == {
        "a": of.count("a"), "b": of.count("b"), "a,b": of.count("ab"), "*": of.count(""),
    }  # fmt: skip
    assert (
        names_in(folder / "un_1.fa")
        == names_in(folder / "un_2.fa")
        == [f"c{i}" for i, x in enumerate(of) if not x]
    )


@pytest.mark.parametrize(
    "option", [["-o", "x.sam"], ["-k", "2"], ["-a"], ["--mismatches", "1"], ["-C"], ["--fr", "--interleaved"]]
)
def test_options_of_hits_are_refused(option, command, folder):
    (folder / "r.fa").write_text(">r\nACGT\n")
    cases.build(folder / "a.fmx", numbered(["ACGT" * 9]))
    result = command("search", "-x", "a.fmx", "r.fa", "--min-match", "31", *option)
    assert result.code == 2
    assert f"--min-match cannot be combined with {option[0]}: no hits are written" in result.err
    assert command("search", "-x", "a.fmx", "r.fa", "--min-match", "15").code == 2


def test_standard_output_is_for_reads_if_they_are_to_go_there(command, folder):
    (folder / "r.fa").write_text(">r\n" + "ACGT" * 9 + "\n>s\nGATTACA\n")
    cases.build(folder / "a.fmx", numbered(["ACGT" * 9]))
    result = command("search", "-x", "a.fmx", "r.fa", "--min-match", "--un", "-")
    assert (result.code, result.out) == (0, b">s\nGATTACA\n")
    assert "2 reads: 1 with a match of 31 bases (50.00 %); 1 not searched (fewer than 31" in result.err
