"""Products of pairs of primers: those of a naive scan and of primersearch, and letters of the reference."""

import subprocess
from functools import partial

import naive
import pytest
from conftest import ROOT
from texts import numbered, random_letters

from fmx.input.spans import read_chunks
from fmx.search import products

UNIT = random_letters(500, "products")
CONTIGS = numbered(
    [UNIT, random_letters(90, 1) + "NNNN" + naive.reverse_complement(UNIT[20:300]), UNIT[100:180]]
)
PAIRS = [
    ("plain", UNIT[30:45], naive.reverse_complement(UNIT[200:214])),
    ("sets", UNIT[30:36] + "N" + UNIT[37:44], naive.reverse_complement(UNIT[100:109]) + "R"),
    ("swapped", naive.reverse_complement(UNIT[200:214]), UNIT[30:45]),
    ("inside", UNIT[40:60], naive.reverse_complement(UNIT[45:50])),
    ("overlapping", UNIT[40:60], naive.reverse_complement(UNIT[50:70])),
    ("short", "ACG", "CGT"),
    ("nowhere", "A" * 20, "C" * 20),
    ("across", UNIT[480:492], naive.reverse_complement(UNIT[20:32])),
]
TABLE = "name\tforward\treverse\n" + "".join("\t".join(pair) + "\n" for pair in PAIRS)


def expected(pair, most, v) -> list:
    """(contig, start, end, strand, mismatches of the forward primer, of the reverse one) of each product."""
    hits = [naive.near(CONTIGS, primer, v, iupac=True) for primer in pair[1:]]
    lengths, found = [len(primer) for primer in pair[1:]], []
    for strand in (0, 1):
        one, other = (0, 1) if strand == 0 else (1, 0)
        for n, contig, start, reverse in hits[one]:
            for m, its, place, other_reverse in hits[other]:
                end = place + lengths[other]
                if (
                    (contig, reverse, other_reverse) == (its, 0, 1)
                    and start <= place
                    and start + lengths[one] <= end
                ):
                    numbers = (n, m) if strand == 0 else (m, n)
                    found += [(contig, start, end, strand, *numbers)] * (end - start <= most)
    return sorted(found)


def test_primers_may_be_more_bytes_than_a_chunk(folder, index_of, command, monkeypatch):
    (folder / "primers.csv").write_text(TABLE)
    how = ["locate", "-q", "-x", index_of(CONTIGS), "--pairs", "primers.csv", "--absent"]
    expected = command(*how)
    monkeypatch.setattr(products, "read_chunks", partial(read_chunks, size=30))
    found = command(*how)
    assert (found.code, found.out) == (0, expected.out)


def test_products_are_the_naive_ones(folder, index_of, command):
    index, n_seen = index_of(CONTIGS), 0
    (folder / "primers.csv").write_text(TABLE)
    for most, v in ((3000, 0), (230, 1)):
        how = ["locate", "-q", "-x", index, "--pairs", "primers.csv", "--max-size", most, "--mismatches", v]
        head, *lines = command(*how, "--absent").out.decode().splitlines()
        assert head.split("\t")[5:] == ["size", "forward_mismatches", "reverse_mismatches", "products"]
        table, bed, fasta = [], "", ""
        for pair in PAIRS:
            found = expected(pair, most, v)
            table += [[pair[0], *"*******", "0"]] if not found else []
            for contig, start, end, strand, n, m in found:
                sign = "+-"[strand]
                row = pair[0], f"c{contig}", start, end, sign, end - start, n, m, len(found)
                table.append(list(map(str, row)))
                bed += f"c{contig}\t{start}\t{end}\t{pair[0]}\t{n + m}\t{sign}\n"
                spelled = CONTIGS[contig][1][start:end]
                spelled = naive.reverse_complement(spelled) if strand else spelled
                place = f"c{contig}:{start + 1}-{end}({sign})"
                fasta += f">{pair[0]} {place} size={end - start} mismatches={n},{m}\n{spelled}\n"
        assert [line.split("\t") for line in lines] == table
        assert command(*how, "--format", "bed").out.decode() == bed
        assert command(*how, "--format", "fasta").out.decode() == fasta
        n_seen += len(table)
        assert "N" in fasta
    assert n_seen > 60
    result = command("locate", "-x", index, "--pairs", "primers.csv")
    assert "fmx: 8 pairs of primers: " in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["--pairs", "bad.tsv"],
            1,
            "bad.tsv: line 2: pair b: 'ACGE' is not a forward primer: use A C G T and",
        ),
        (
            ["--pairs", "head.csv"],
            1,
            "pair id: 'sequence' is not a forward primer: use A C G T and IUPAC codes; if this line is a",
        ),
        (
            ["--pairs", "two.tsv"],
            1,
            "two.tsv: line 1: expected name, forward primer and reverse primer, separated by tabs or commas",
        ),
        (["--pairs", "same.tsv"], 1, "same.tsv: line 2: a is also the pair of line 1: rename one"),
        (["--pairs", "none.tsv"], 1, "none.tsv: no primer pairs: give lines of name, forward and reverse"),
    ],
)
def test_what_cannot_be_is_refused(arguments, code, message, folder, index_of, command):
    (folder / "bad.tsv").write_text("a\tACG\tACG\nb\tACGE\tACG\n")
    (folder / "head.csv").write_text("id,sequence,gene\na,ACG,ACG\n")
    (folder / "two.tsv").write_text("a\tACG\n")
    (folder / "same.tsv").write_text("a\tACG\tACG\na\tACG\tACG\n")
    (folder / "none.tsv").write_text("name\tforward\treverse\n")
    result = command("locate", "-x", index_of(CONTIGS), *arguments)
    assert result.code == code
    assert message in result.err


def test_patterns_that_do_not_occur_are_listed(index_of, command):
    how = ["locate", "-q", "-x", index_of(CONTIGS), "--absent", "-p", UNIT[3:20], "-p", "A" * 18, "-p", "N"]
    lines = command(*how).out.decode().splitlines()[1:]
    nowhere = "\t*\t*\t*\t*\t0"
    assert lines[1:] == [f"{'A' * 18}{nowhere}", f"N{nowhere}"]
    lines = command(*how, "--mismatches", 1).out.decode().splitlines()[1:]
    assert lines[1:] == [f"{'A' * 18}{nowhere}\t*", f"N{nowhere}\t*"]


@pytest.fixture(scope="module")
def coli(data, tmp_path_factory):
    """A folder with the genome of Escherichia coli 536, its index, and the primers of the page."""
    import gzip

    import workflow

    folder, page = (
        tmp_path_factory.mktemp("coli"),
        (ROOT / "docs" / "probes.md").read_text().split("## Primer pairs")[1],
    )
    (folder / "ecoli.fa").write_bytes(gzip.decompress(data("ecoli536_NC_008253.fna.gz").read_bytes()))
    workflow.build_index(folder / "ecoli.fa", folder / "ecoli.fmx", workflow.IndexOptions(), 2)
    table = page.split("primers.csv:\n\n")[1].split("\n\n")[0]
    (folder / "primers.csv").write_text("".join(f"{line.strip()}\n" for line in table.splitlines()))
    return folder


def test_the_page_tells_the_truth(coli, command, monkeypatch):
    monkeypatch.chdir(coli)
    page = (ROOT / "docs" / "probes.md").read_text().split("## Primer pairs")[1]
    shown = [line.strip().split("  #")[0] for line in page.splitlines() if line.startswith("    fmx locate")]
    assert len(shown) > 4
    for line in shown:
        result = command(*line.split()[1:])
        assert result.code == 0, result.err
        word, told = page.split(f"{line}\n\n")[-1].split("\n\n")[:2]
        if word in ("This prints", "The output begins"):
            rows = [row.split() for row in told.splitlines()]
            assert [row.split() for row in result.out.decode().splitlines()[: len(rows)]] == rows


def test_products_are_those_of_primersearch(coli, command, peer):
    """It says where both primers hit, the reverse one by its distance from the end."""
    result = command(
        "locate", "-q", "-x", coli / "ecoli.fmx", "--pairs", coli / "primers.csv", "--format", "bed"
    )
    found = {(int(row[1]), int(row[2]), row[3]) for row in map(str.split, result.out.decode().splitlines())}
    pairs = (coli / "primers.csv").read_text().split("\n", 1)[1]
    (coli / "primers.txt").write_text(pairs.replace(",", "\t"))
    primersearch = [peer("primersearch"), "-seqall", coli / "ecoli.fa", "-infile", coli / "primers.txt"]
    subprocess.run(
        [*primersearch, "-mismatchpercent", "0", "-outfile", coli / "out"], check=True, capture_output=True
    )
    told, name = set(), ""
    for line in (coli / "out").read_text().splitlines():
        if line.startswith("Primer name"):
            name = line.split()[2]
        elif "hits forward strand at" in line:
            start = int(line.split("strand at ")[1].split()[0]) - 1
        elif "Amplimer length" in line and (size := int(line.split()[2])) <= 3000:
            told.add((start, start + size, name))
    assert found == told
    assert len(found) == 14
