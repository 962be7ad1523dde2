"""The command: tables, samples of several files, where guides are found, and errors."""

import gzip
import random
import re
import shlex
import shutil

import naive
import pytest
from conftest import ROOT
from texts import random_letters

DATA = ROOT / "tests" / "data"


@pytest.fixture(scope="module")
def screen(tmp_path_factory):
    """A folder with a library and reads whose guides stand at four places; the guide of each read."""
    folder, rng = tmp_path_factory.mktemp("screen"), random.Random(7)
    library = [random_letters(20 - i % 2, f"guide {i}") for i in range(40)]
    (folder / "library.csv").write_text(
        "id,sequence,gene\n" + "".join(f"g{i},{x},G{i // 4}\n" for i, x in enumerate(library))
    )
    truth = [rng.choice([None, *range(39)]) for _ in range(3000)]
    with open(folder / "a.fq", "w") as file:
        for i, guide in enumerate(truth):
            inside = random_letters(20, i) if guide is None else library[guide]
            read = random_letters(i % 4, i) + "GACACCG" + inside + "GTTTTAGAGC"
            file.write(f"@{i}\n{read}\n+\n{len(read) * 'I'}\n")
    (folder / "a.fq.gz").write_bytes(gzip.compress((folder / "a.fq").read_bytes()))
    return folder, library, truth


def rows(text) -> list:
    return [line.split("\t") for line in text.decode().splitlines()]


@pytest.mark.parametrize(
    "where", [[], ["--offset", "7,8,9,10"], ["--after", "cacCG"], ["--before", "GTTYTA"], ["--anywhere"]]
)
def test_all_ways_to_find_guides_tell_the_truth(where, screen, command):
    folder, library, truth = screen
    done = command("count", "-l", folder / "library.csv", folder / "a.fq", *where)
    assert done.code == 0, done.err
    counts = [str(truth.count(i)) for i in range(len(library))]
    assert rows(done.out) == [
        ["sgRNA", "Gene", "a"], *([f"g{i}", f"G{i // 4}", n] for i, n in enumerate(counts)),
    ]  # fmt: skip
    assert "3,000 reads" in done.err
    assert "1 of 40 guides without reads" in done.err
    assert "; guides start after " in done.err
    assert all(f"after {i} bases (25 %)" in done.err for i in (7, 8, 9, 10)) or "24 %" in done.err


def test_files_of_a_sample_and_threads_and_standard_input(screen, command):
    folder = screen[0]
    a, lib = folder / "a.fq", folder / "library.csv"
    one = rows(command("count", "-l", lib, a, "-t", 1).out)
    done = command("count", "-l", lib, f"{a},{a}.gz", a, "--names", "twice,once", "-t", 3)
    assert rows(done.out)[0] == ["sgRNA", "Gene", "twice", "once"]
    assert [row[3] for row in rows(done.out)[1:]] == [row[2] for row in one[1:]]
    assert [int(row[2]) for row in rows(done.out)[1:]] == [2 * int(row[2]) for row in one[1:]]
    piped = command("count", "-l", lib, "-", stdin=a.read_bytes())
    assert rows(piped.out)[1:] == one[1:]
    sheet = folder / "sheet.tsv"
    sheet.write_text(f"sample\treads\ntwice\t{a}\nonce\t{a}.gz\ntwice\t{a}.gz\n")
    assert command("count", "-l", lib, "--samples", sheet).out == done.out


def test_reads_of_the_other_strand_are_found(screen, command):
    folder, _, truth = screen
    lines = (folder / "a.fq").read_text().splitlines()
    reads = "".join(f">r\nTT{naive.reverse_complement(read)}\n" for read in lines[1::4])
    done = command("count", "-l", folder / "library.csv", "-", stdin=reads.encode())
    assert [int(row[2]) for row in rows(done.out)[1:]] == [truth.count(i) for i in range(40)]
    assert "; guides start after 12 bases on the reverse strand (100 %)\n" in done.err


def fasta(*reads) -> str:
    """FASTA of reads, each given as often as a number says."""
    return "".join(n * f">r\n{letters}\n" for n, letters in reads)


FILES = {  # of all cases below
    "l.csv": "a,ACGTACGT\n", "l.tsv": "a,ACGTACGT\n", "l2.csv": "a,ACGTACGT\nb,GGATTACA\n",
    "p.csv": "id,sequence1,sequence2\na,ACGTACGT,GGGGTTTT\n",
    "iupac.csv": "g1,ACGTNACGTACGTACGTACG,A\ng2,ACGTACGT,B\n", "iupac1.csv": "g1,ACGTNACGTACGTACGTACG,A\n",
    "near.csv": "a,ACGTACGT\nb,ACGTACGA\nc,GGGGTTTT\nd,acgtacgt\n",
    "twice.csv": "a,ACGTACGA,A\nb,CCGTACGA,B\nc,ACGTACGA,C\nd,CCGTACGA,B\n"
    + "".join(f"e{i},ACGTACGA,{'AD'[i % 2]}\n" for i in range(9)),
    "turned.fa": ">a\nAACCGGAC\n>b\nGTCCGGTT\n>c\nCCNTACGA\n>d\nTCGTAAGG\n>e\nACGTACGT\n>f\nGTTTTTTT\n",
    "r.fq": "@1\nACGTACGT\n+\nIIIIIIII\n", "cut.fq": "@1\nACGTACGT\n+\nIIIIIIII\n@2\nACGT\n", "none.fq": "",
    "low1.fq": "@r\nACGTACGT\n+\nIIIIIIII\n@r\nACGTACGT\n+\n########\n" + 6 * "@r\nCCCCCCCC\n+\nIIIIIIII\n",
    "low3.fq": "@r\nACGTACGT\n+\nIIIIIIII\n" + 3 * "@r\nACGTACGT\n+\n########\n"
    + 6 * "@r\nCCCCCCCC\n+\nIIIIIIII\n",
    "r.fa": fasta((1, "ACGTACGT")), "one.fa": fasta((1, "CCCC")), "other.fa": fasta((1, "CC")),
    "two.fa": fasta((1, "A"), (1, "C")), "few.fa": fasta((1, "ACGTACGT"), (9, "CCCCCCCC")),
    "half.fa": fasta((5, "ACGTACGT"), (5, "CCCCCCCC")),
    "four.fa": fasta((1, "ACGTACGT"), (1, "ACGTACGC"), (1, "GGGGTTTA"), (1, "GGNGTTTT")),
    "several.fa": fasta((9, "ACGTACGTGGATTACA"), (1, "CCCCCCCCCCCCCCCC")),
    "mates1.fa": fasta((3, "ACGTACGT")), "mates2.fa": fasta((3, "GGATTACA")),
    "i.fa": fasta((1, "ACGTTACGTACGTACGTACG"), (1, "ACGTACGTTT")), "A.fa": fasta((1, "ACGTACGA")),
    "turned.fq": fasta((9, "TCGTACGT")),
    "turns.fa": fasta((1, "GTCCGGTTACGTCC"), (1, "CCTTACGAAACCCC"), (1, "ACGTACGTCCCCCC"),
                      (1, "GTTTTTTTCCCCCC")),
    **{f"A{n}.fa": fasta((int(n[:3]), "ACGTACGA")) for n in ("11", "199", "199b", "200")},
    "two.csv": "a,ACGTACGA\nb,CCGTACGA\n", "x.xlsx": "PK\x03\x04", "notes.txt": "what,ever\n",
}  # fmt: skip
FEW = "fmx: hint: few reads of sample few contain a guide"
TURNED = (
    "fmx: warning: turned.fa: 4 guides are reverse complements of other guides (such as a and b): reads with "
    "them are ambiguous if both strands are searched; give --forward-only or --reverse-only\n"
)
THIN = (
    "warning: samples A199, A11: 99.5, 5.5 reads per guide on average; below 100, counts vary much by chance"
)
NO_READS = "fmx: error: {}: this is a library of guides, not reads: give it with -l\n"
CUT = "cut.fq: record 2: the file ends within this record"
IS_RIGHT = "is it the right library?"
MESSAGES = [  # arguments, exit code, counts if there is a table, what is said, and what is not
    ("-l near.csv four.fa --mismatches 1 --offset 0 -t 1", 0, "1 0 2", [
        "fmx: near.csv: 1 guide has the same sequence as an earlier guide: left out (d, same as a)\n"
        "fmx: near.csv: 2 guides differ from another guide in only one base (such as a and b); reads that "
        "match both are ambiguous\n"
        "fmx: four: 4 reads: 3 assigned (75.00 %), 1 ambiguous; 1 of 3 guides without reads, Gini 0.613; "
        "guides start after 0 bases (100 %)\n"], []),
    ("-l l.csv r.fq --offset x", 2, "", ["'x' is not a number of bases, nor a comma-separated list"], []),
    ("-l l.csv r.fq --after AZ", 2, "", ["'AZ' contains 'Z', which is not an IUPAC base"], []),
    ("-l l.csv", 2, "", ["no reads: give READS, or -1 and -2, or --samples"], []),
    ("-l l.csv r.fq r.fq", 2, "", ["two samples are named r: give all names with --names"], []),
    ("-l l.tsv r.fq -o l.tsv", 2, "", ["the same file as the input"], []),
    ("-l no.csv r.fq", 1, "", ["no.csv: No such file"], []),
    ("-l l.csv cut.fq --offset 0", 1, "", [CUT], []),
    ("-l l.csv cut.fq", 1, "", [CUT], []),
    ("-l l.csv r.fq cut.fq --offset 0", 1, "", [CUT], []),
    # Guides of one length may all hold sets of letters.
    ("-l iupac.csv i.fa", 0, "1 1", [], []),
    ("-l iupac1.csv i.fa --mismatches 1", 0, "1", [], []),
    # Few reads that count, several guides in a read, low qualities.
    ("-l l.csv few.fa", 0, "1", [f"{FEW}: {IS_RIGHT} Try --anywhere and --mismatches 1; --report lists"], []),
    ("-l l.csv few.fa --anywhere", 0, "1", [f"{FEW}: {IS_RIGHT} Try --mismatches 1; --report"], []),
    ("-l l.csv few.fa --mismatches 1", 0, "1", [f"{FEW}: {IS_RIGHT} Try --anywhere; --report"], []),
    ("-l l.csv few.fa --mismatches 1 --anywhere", 0, "1", [f"{FEW}: {IS_RIGHT} --report lists"], []),
    ("-l l.csv few.fa --offset 1", 0, "0",
     [f"{FEW} there: check --offset, or leave it out to find offsets in the reads"], []),
    ("-l l.csv few.fa --after AC --before G", 0, "0",
     [f"{FEW} there: check --after and --before, or leave them out to find offsets in the reads"], []),
    ("-l l.csv half.fa", 0, "5", [], ["hint"]),
    ("-l l2.csv several.fa", 1, "",
     ["cannot choose between the several guides in the first 10 reads: say which one to count "], []),
    ("-l l2.csv several.fa --anywhere", 0, "0 0",
     ["hint: most reads of sample several are ambiguous; they contain several guides: say which one "],
     ["few reads"]),
    ("-l l2.csv several.fa --offset 8", 0, "0 9", [], []),
    ("-l l2.csv -1 mates1.fa -2 mates2.fa", 0, "0 0", ["hint: most pairs of sample mates1 are ambiguous; "
     "their mates contain different guides, or one mate contains several: check that -1 and -2 belong"], []),
    ("-l l.csv low1.fq --min-quality 20", 0, "1", ["fmx: hint: sample low1: of 2 reads with a guide, 1 has "
     "a base below --min-quality 20 in the guide\n"], [IS_RIGHT]),
    ("-l l.csv low3.fq --min-quality 20", 0, "1", ["fmx: hint: sample low3: of 4 reads with a guide, 3 have "
     "a base below --min-quality 20 in the guide\n"], [IS_RIGHT]),
    # Guides on the other strand, and guides that are reverse complements of others.
    ("-l two.csv turned.fq --forward-only", 1, "", ["turned.fq: the guides in the first 9 reads are reverse "
     "complements: leave out --forward-only\n"], []),
    ("-l two.csv A200.fa --reverse-only", 1, "",
     ["A200.fa: the guides in the first 200 reads are not reverse complements: leave out --reverse-only\n"],
     []),
    ("-l two.csv one.fa --forward-only", 1, "", [f"one.fa: no guide found in the first read: {IS_RIGHT} If "
     "guides are rare or start late, say where they are with --offset, --after or --before, or search whole "
     "reads with --anywhere\n"], []),
    *((f"-l turned.fa turns.fa {where}", 0, counts, [TURNED], [])
      for where, counts in (("--offset 0", "0 0 0 0 1 1"), ("--anywhere", "0 0 0 0 1 1"), ("", None))),
    *((f"-l turned.fa turns.fa --forward-only {where}", 0, "0 1 1 0 1 1", [], ["reverse complements"])
      for where in ("--offset 0", "--anywhere", "")),
    ("-l turned.fa turns.fa --before ACG", 0, None, [], ["reverse complements"]),
    # No reads, few reads per guide, guides that repeat, genes that vanish, a library in the place of reads.
    ("-l l.csv none.fq", 0, "0",
     ["fmx: warning: no reads in none.fq\nfmx: none: 0 reads: 0 assigned (0.00 %)"], []),
    ("-l l.csv -", 0, "0", ["fmx: warning: no reads in standard input\n"], []),
    ("-l l.csv r.fa", 0, "1", [], ["warning: no reads"]),
    ("-l l.csv r.fa none.fq", 0, "1", ["fmx: warning: no reads in none.fq\n"], []),
    ("-l two.csv A199.fa A200.fa A11.fa --offset 0", 0, "199 0", [THIN], []),
    ("-l two.csv -l two.csv -1 A199.fa -2 A199b.fa --offset 0", 0, "199", [], ["per guide"]),
    ("-l twice.csv A.fa --offset 0", 0, "1 0", ["twice.csv: 11 guides have the same sequence as an earlier "
     "guide: left out (c, same as a, d, same as b, " + "".join(f"e{i}, same as a, " for i in range(8))[:-2]
     + " and 1 more)\n", "fmx: warning: twice.csv: 2 genes have no guide left: C, D\n"], []),
    ("-l two.csv A.fa --offset 0", 0, "1 0", [], ["gene"]),
    ("-l x.xlsx r.fq", 1, "", ["(.xlsx) as CSV\n"], []),
    ("-l l.csv x.xlsx", 1, "", ["(.xlsx) as CSV\n"], []),
    ("-l r.fq r.fq", 1, "",
     ["fmx: error: r.fq: this is FASTQ, not a library of guides: give -l a table or FASTA\n"], []),
    ("-l l.csv r.fq l2.csv", 1, "", [NO_READS.format("l2.csv")], []),
    ("-l l.csv r.fq l.csv.gz", 1, "", [NO_READS.format("l.csv.gz")], []),
    ("-l r.fq r.fq l2.csv", 1, "", [NO_READS.format("l2.csv")], []),
    ("-l l.csv notes.txt", 1, "", ["fmx: error: notes.txt: record 1: expected '@' (FASTQ) or '>' (FASTA) at "
     "its start, found 'w' (sequences need a line '>NAME' before each; convert SAM with samtools view -b)\n"],
     []),
    # Mates.
    ("-l p.csv r.fa", 1, "",
     ["p.csv: this is a library of pairs: give the files of both mates with -1 and -2"], []),
    ("-l l.csv -l l.csv r.fa", 1, "", ["l.csv: a second library is for mates, with -1 "], []),
    ("-l l.csv -l p.csv -1 r.fa -2 one.fa", 1, "", ["give one library of pairs, or two"], []),
    ("-l l.csv -1 r.fa -2 one.fa r.fa", 2, "",
     ["READS, -1 with -2, and --samples cannot be combined"], []),
    ("-l l.csv -1 r.fa,r.fa -2 one.fa", 2, "",
     ["give one file with second mates for each file with first mates"], []),
    ("-l l.csv -1 r.fa -2 ./r.fa", 2, "", ["-1 r.fa and -2 ./r.fa are the same file\n"], []),
    ("-l l.csv -1 one.fa,r.fa -2 two.fa,r.fa", 2, "", ["-1 r.fa and -2 r.fa are the same file\n"], []),
    ("-l l.csv r.fa --offset 1/2", 2, "", ["give the files with -1 and -2"], []),
    ("-l l.csv -1 r.fa -2 one.fa --after A/C/G", 2, "", ["give values for mates with one slash each"], []),
    ("-l l.csv -1 r.fa -2 one.fa --after A/C --before G", 2, "", ["values for mates with one slash"], []),
    ("-l l.csv -1 r.fa -2 one.fa --after A --before C/G", 2, "", ["values for mates with one slash"], []),
    ("-l l.csv -1 r.fa -2 two.fa", 1, "", ["both files must have the same number of reads"], []),
    ("-l p.csv -1 r.fa -2 one.fa", 1, "", [f"{IS_RIGHT[:-1]}, and are -1 and -2 in the right order? If "
     "guides are rare or start late, say where"], []),
    ("-l l.csv -1 one.fa -2 other.fa", 1, "",
     [f"one.fa: no guide found in the first read: {IS_RIGHT} If"], []),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "counts", "said", "unsaid"), MESSAGES, ids=[x[0] for x in MESSAGES])
def test_what_a_count_says(line, code, counts, said, unsaid, folder, command):
    """The same in one run and of a shard that is merged."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "l.csv.gz").write_bytes(gzip.compress(FILES["l.csv"].encode()))
    done = command("count", *line.split())
    assert done.code == code, done.err
    if counts is not None:
        assert [row[2] for row in rows(done.out)[1:]] == counts.split()
    assert [words for words in said if words not in done.err] == [], done.err
    assert [words for words in unsaid if words in done.err] == [], done.err
    if code == 0 and not line.endswith(" -"):
        assert command("count", *line.split(), "--shard", "1/1", "-o", "out.d").code == 0
        merged = command("merge", "out.d")
        assert merged.out == done.out
        assert [words for words in unsaid if words in merged.err] == [], merged.err
        of_samples = [
            words for words in said if re.match("fmx: (warning: no|hint)|hint|warning: samples", words)
        ]
        assert [words for words in of_samples if words not in merged.err] == [], merged.err


def test_columns_of_a_library_are_told_and_can_be_said(folder, command):
    (folder / "l.txt").write_text(
        "sgRNA Sequence\tAnnotated Gene Symbol\tAnnotated Gene ID\nACGTACGT\tA1BG\t1\n"
    )
    (folder / "r.fa").write_text(">1\nACGTACGT\n")
    done = command("count", "-l", "l.txt", "r.fa")
    assert rows(done.out) == [["sgRNA", "Gene", "r"], ["ACGTACGT", "A1BG", "1"]]
    assert (
        "fmx: l.txt: sequences from column 'sgRNA Sequence'; genes from column 'Annotated Gene Symbol'; "
        "guides are named by their sequence; not used: 'Annotated Gene ID'\n"
    ) in done.err
    done = command("count", "-l", "l.txt", "r.fa", "--columns", "gene=annotated gene id,id=2")
    assert rows(done.out) == [["sgRNA", "Gene", "r"], ["A1BG", "1", "1"]]
    named = command("count", "-l", "l.txt", "r.fa", "--columns", "gene=annotated gene id,id=2,sequence1=1")
    assert (named.code, named.out) == (0, done.out), named.err
    for wrong in ("gene", "gene=", "colour=x", "gene=1,gene=2", "gene=7", "sequence=1,sequence1=1"):
        done = command("count", "-l", "l.txt", "r.fa", "--columns", wrong)
        assert (done.code, "--columns" in done.err) == (1 if wrong == "gene=7" else 2, True)
    for i, columns in enumerate(("gene=2", "gene=3"), 1):
        command("count", "-l", "l.txt", "r.fa", "--columns", columns, "--shard", f"{i}/2", "-o", "out.d")
    differs = 'options: columns ["gene", "3"], not ["gene", "2"]'
    assert f"from another run than shard 1 ({differs}): delete" in command("merge", "out.d").err


def test_a_file_without_guides_is_a_column_of_zeros(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGA\nb,GGATTACA\n")
    for i in range(3):
        (folder / f"s{i}.fa").write_text(4 * ">1\nTTACGTACGATT\n" + 2 * ">1\nTTGGATTACATT\n")
    (folder / "no.fa").write_text(5 * ">1\nCCCCCCCCCCCCCCCC\n")
    (folder / "more.fa").write_text((folder / "no.fa").read_text())
    said = "fmx: warning: no.fa: no guide found in the first 5 reads: is it the right library?"
    for given in (("s0.fa", "no.fa", "s1.fa,s2.fa"), ("s0.fa", "s1.fa,no.fa,s2.fa")):
        done = command("count", "-l", "l.csv", *given, "-t", 2)
        assert (done.code, done.err.count(said)) == (0, 1), done.err
        assert "; its reads count as unassigned\n" in done.err
        n = [given[1] == "no.fa", len(given) == 2]
        assert rows(done.out)[1:] == [
            ["a", "a", "4", *(["0"] * n[0]), "8"], ["b", "b", "2", *(["0"] * n[0]), "4"],
        ]  # fmt: skip
        for i in (1, 2):
            command("count", "-l", "l.csv", *given, "--shard", f"{i}/2", "-o", f"{n[0]}.d")
        assert command("merge", f"{n[0]}.d").out == done.out
    done = command("count", "-l", "l.csv", "-", "s0.fa", stdin=(folder / "no.fa").read_bytes())
    assert [row[2:] for row in rows(done.out)[1:]] == [["0", "4"], ["0", "2"]], done.err
    pairs = ("-1", "s0.fa", "-2", "s1.fa", "-1", "no.fa", "-2", "more.fa")
    done = command("count", "-l", "l.csv", *pairs)
    assert [row[2:] for row in rows(done.out)[1:]] == [["4", "0"], ["2", "0"]], done.err
    for given in (("no.fa", "more.fa"), ("no.fa",), ("-1", "no.fa", "-2", "more.fa")):
        done = command("count", "-l", "l.csv", *given)
        assert (done.code, done.out) == (1, b"")
        assert ".fa: no guide found in the first 5 reads" in done.err


def test_the_page_tells_the_truth(folder, command):
    """The commands of docs/count.md over a cut of MAGeCK's demo, whose answers plain Python knows."""
    lines = (DATA / "guides.txt").read_text().splitlines()
    library = {sequence: (name, gene) for name, sequence, gene in (line.split("\t") for line in lines)}
    with gzip.open(DATA / "guides.fq.gz", "rt") as file:
        reads = file.read().splitlines()[1::4]
    page = (ROOT / "docs" / "count.md").read_text().split("## Barcodes")[0]
    for name in ("day0_L1.fq.gz", "day0_L2.fq.gz", "day14.fq.gz"):
        shutil.copy(DATA / "guides.fq.gz", name)
    shutil.copy(DATA / "guides.txt", "library.txt")
    (folder / "screen.csv").write_text(
        "sample,reads\nday0,day0_L1.fq.gz\nday0,day0_L2.fq.gz\nday14,day14.fq.gz\n"
    )
    exact = {
        name: sum(read.startswith(sequence) for read in reads) for sequence, (name, _) in library.items()
    }
    n = sum(exact.values())
    assert f"{len(reads)} reads: {n} assigned" in page
    commands = [
        shlex.split(line)[1:]
        for line in page.splitlines()
        if line.startswith("    fmx count") and " -2 " not in line
    ]
    table = [line.split("\t") for line in lines]
    head = "sgRNA Sequence\tAnnotated Gene Symbol\tAnnotated Gene ID\n"
    (folder / "addgene.txt").write_text(head + "".join(f"{x}\t{gene}\t1\n" for _, x, gene in table))
    (folder / "plain.csv").write_text("".join(f"{gene},{name},{x}\n" for name, x, gene in table))
    assert len(commands) >= 5
    told, tables = "", []
    for words in commands:
        done = command(*words)
        assert done.code == 0, done.err
        told += done.err
        if "counts.tsv" in words:
            tables.append(rows((folder / "counts.tsv").read_bytes()))
    assert [[int(row[-1]) for row in table[1:]] for table in tables] == 4 * [list(exact.values())]
    assert [line for line in page.splitlines() if line.startswith("    fmx: ") and line[4:] not in told] == []
    shown = [line.split() for line in page.split("the table begins\n\n")[1].splitlines()[:3]]
    assert shown == tables[0][:3]
