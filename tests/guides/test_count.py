"""The command: tables, samples of several files, where guides are found, and errors."""

import gzip
import random
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
    done = command("count", "-l", folder / "library.csv", "-", "--forward-only", stdin=reads.encode())
    assert done.code == 1
    assert done.err.endswith(
        "standard input: the guides in the first 3,000 reads are reverse complements: leave out "
        "--forward-only\n"
    )
    done = command("count", "-l", folder / "library.csv", folder / "a.fq", "--reverse-only")
    assert done.err.endswith(
        "a.fq: the guides in the first 3,000 reads are not reverse complements: leave out --reverse-only\n"
    )
    (folder / "other.csv").write_text(f"x,{20 * 'A'}\n")
    done = command("count", "-l", folder / "other.csv", "-", "--forward-only", stdin=reads.encode())
    assert done.err.endswith(
        "standard input: no guide found in the first 3,000 reads: is it the right library? If guides are "
        "rare here, say where they are with --offset, --after or --before, or search whole reads with "
        "--anywhere\n"
    )


def test_what_is_known_of_a_library_is_told_before_counting(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGT\nb,ACGTACGA\nc,GGGGTTTT\nd,acgtacgt\n")
    (folder / "r.fa").write_text(">1\nACGTACGT\n>2\nACGTACGC\n>3\nGGGGTTTA\n>4\nGGNGTTTT\n")
    done = command("count", "-l", "l.csv", "r.fa", "--mismatches", 1, "--offset", "0", "-t", 1)
    assert rows(done.out)[1:] == [["a", "a", "1"], ["b", "b", "0"], ["c", "c", "2"]]
    told = done.err.splitlines()
    assert told[:3] == [
        "fmx: l.csv: 1 guide has the same sequence as an earlier guide: left out (d, same as a)",
        "fmx: l.csv: 2 guides differ from another guide in only one base (such as a and b); reads "
        "that match both are ambiguous",
        "fmx: r: 4 reads: 3 assigned (75.00 %), 1 ambiguous; 1 of 3 guides without reads, Gini 0.613; "
        "guides start after 0 bases (100 %)",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["r.fq", "--offset", "x"], 2, "'x' is not a number of bases, nor a comma-separated list"),
        (["r.fq", "--offset", "1", "--anywhere"], 2, "give only --offset, or only --anywhere, or --after"),
        (["r.fq", "--after", "AZ"], 2, "'AZ' contains 'Z', which is not an IUPAC base"),
        ([], 2, "no reads: give READS, or -1 and -2, or --samples"),
        (["r.fq", "r.fq"], 2, "two samples are named r: give all names with --names"),
        (["r.fq", "-o", "l.tsv", "-l", "l.tsv"], 2, "the same file as the input"),
        (["r.fq", "-o", "x.sam"], 2, "the output can only be TSV or Parquet, not .sam"),
        (["no.fq"], 1, "no.fq: No such file"),
        (["r.fq", "-l", "no.csv"], 1, "no.csv: No such file"),
        (["cut.fq", "--offset", "0"], 1, "cut.fq: record 2: the file ends within this record"),
        (["cut.fq"], 1, "cut.fq: record 2: the file ends within this record"),
        (["r.fq", "cut.fq", "--offset", "0"], 1, "cut.fq: record 2: the file ends within this record"),
    ],
)
def test_errors_are_one_line(arguments, code, said, folder, command):
    for name in ("l.csv", "l.tsv"):
        (folder / name).write_text("a,ACGTACGT\n")
    (folder / "r.fq").write_text("@1\nACGTACGT\n+\nIIIIIIII\n")
    (folder / "cut.fq").write_text("@1\nACGTACGT\n+\nIIIIIIII\n@2\nACGT\n")
    done = command("count", *([] if "-l" in arguments else ["-l", "l.csv"]), *arguments)
    assert (done.code, done.out) == (code, b"")
    assert said in done.err


def test_guides_of_one_length_may_all_hold_sets_of_letters(folder, command):
    (folder / "l.csv").write_text("g1,ACGTNACGTACGTACGTACG,A\ng2,ACGTACGT,B\n")
    (folder / "r.fa").write_text(">1\nACGTTACGTACGTACGTACG\n>2\nACGTACGTTT\n")
    done = command("count", "-l", "l.csv", "r.fa")
    assert (done.code, rows(done.out)[1:]) == (0, [["g1", "A", "1"], ["g2", "B", "1"]]), done.err
    (folder / "l.csv").write_text("g1,ACGTNACGTACGTACGTACG,A\n")
    done = command("count", "-l", "l.csv", "r.fa", "--mismatches", 1)
    assert (done.code, rows(done.out)[1:]) == (0, [["g1", "A", "1"]]), done.err


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
    differs = "with --columns gene=3 in shard 2; with --columns gene=2 in shard 1"
    assert f"from another run than shard 1 ({differs}): delete" in command("merge", "out.d").err


def test_few_reads_that_count_are_told(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGT\n")
    (folder / "r.fa").write_text(">1\nACGTACGT\n" + 9 * ">2\nCCCCCCCC\n")
    told = command("count", "-l", "l.csv", "r.fa").err
    right = "fmx: hint: few reads of sample r contain a guide: is it the right library? Try --"
    assert f"{right}anywhere and --mismatches 1; --report lists" in told
    assert f"{right}mismatches 1; --report" in command("count", "-l", "l.csv", "r.fa", "--anywhere").err
    assert f"{right}anywhere; --report" in command("count", "-l", "l.csv", "r.fa", "--mismatches", 1).err
    done = command("count", "-l", "l.csv", "r.fa", "--anywhere", "--mismatches", 1)
    assert "is it the right library? --report lists" in done.err
    for options, what in ((("--offset", "1"), "--offset, or leave it"), (("--after", "AC", "--before", "G"),
                           "--after and --before, or leave them")):  # fmt: skip
        told = command("count", "-l", "l.csv", "r.fa", *options).err
        assert (
            f"few reads of sample r contain a guide there: check {what} out to find offsets in the reads"
            in told
        )
    (folder / "r.fa").write_text(5 * ">1\nACGTACGT\n" + 5 * ">2\nCCCCCCCC\n")
    assert "hint" not in command("count", "-l", "l.csv", "r.fa").err


def test_reads_with_several_guides_are_told_as_such(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGT\nb,GGATTACA\n")
    (folder / "r.fa").write_text(9 * ">1\nACGTACGTGGATTACA\n" + ">2\nCCCCCCCCCCCCCCCC\n")
    done = command("count", "-l", "l.csv", "r.fa")
    assert done.code == 1
    assert (
        "cannot choose between the several guides in the first 10 reads: say which one to count " in done.err
    )
    told = command("count", "-l", "l.csv", "r.fa", "--anywhere").err
    assert "hint: most reads of sample r are ambiguous; they contain several guides: say which one " in told
    assert "few reads" not in told
    assert command("count", "-l", "l.csv", "r.fa", "--offset", "8").code == 0
    (folder / "1.fa").write_text(3 * ">1\nACGTACGT\n")
    (folder / "2.fa").write_text(3 * ">1\nGGATTACA\n")
    told = command("count", "-l", "l.csv", "-1", "1.fa", "-2", "2.fa").err
    assert (
        "hint: most pairs of sample 1 are ambiguous; their mates contain different guides, or one mate "
        in told
    )


def test_guides_of_low_quality_are_told_as_such(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGT\n")
    for n_low, said in ((1, "sample r: of 2 reads with a guide, 1 has"),
                        (3, "sample r: of 4 reads with a guide, 3 have")):  # fmt: skip
        reads = [("ACGTACGT", "I"), *n_low * [("ACGTACGT", "#")], *6 * [("CCCCCCCC", "I")]]
        (folder / "r.fq").write_text("".join(f"@r\n{read}\n+\n{8 * quality}\n" for read, quality in reads))
        given = ["count", "-l", "l.csv", "r.fq", "--min-quality", 20]
        assert command(*given, "--shard", "1/1", "-o", f"{n_low}.d").code == 0
        for done in (command(*given), command("merge", f"{n_low}.d")):
            assert f"fmx: hint: {said} a base below --min-quality 20 in the guide\n" in done.err
            assert "right library" not in done.err


@pytest.mark.parametrize("where", [("--offset", 0), ("--anywhere",), ()])
def test_guides_that_are_reverse_complements_of_others_are_warned_of(where, folder, command):
    letters = {
        "a": "AACCGGAC",
        "b": "GTCCGGTT",
        "c": "CCNTACGA",
        "d": "TCGTAAGG",
        "e": "ACGTACGT",
        "f": "GTTTTTTT",
    }
    (folder / "l.fa").write_text("".join(f">{name}\n{x}\n" for name, x in letters.items()))
    (folder / "r.fa").write_text(
        ">1\nGTCCGGTTACGTCC\n>2\nCCTTACGAAACCCC\n>3\nACGTACGTCCCCCC\n>4\nGTTTTTTTCCCCCC\n"
    )
    said = (
        "fmx: warning: l.fa: 4 guides are reverse complements of other guides (such as a and b): reads with "
        "them are ambiguous if both strands are searched; give --forward-only or --reverse-only\n"
    )
    done = command("count", "-l", "l.fa", "r.fa", *where)
    assert said in done.err
    if where:
        assert [row[2] for row in rows(done.out)[1:]] == ["0", "0", "0", "0", "1", "1"]
    done = command("count", "-l", "l.fa", "r.fa", *where, "--forward-only")
    assert [row[2] for row in rows(done.out)[1:]] == ["0", "1", "1", "0", "1", "1"]
    assert "reverse complements" not in done.err
    told = command("count", "-l", "l.fa", "r.fa", "--before", "ACG").err
    assert "reverse complements" not in told


def test_no_reads_are_no_error(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGT\n")
    (folder / "r.fq").touch()
    done = command("count", "-l", "l.csv", "r.fq")
    assert (done.code, rows(done.out)) == (0, [["sgRNA", "Gene", "r"], ["a", "a", "0"]])
    assert "fmx: warning: no reads in r.fq\nfmx: r: 0 reads: 0 assigned (0.00 %)" in done.err
    done = command("count", "-l", "l.csv", "-", stdin=b"")
    assert "fmx: warning: no reads in standard input\n" in done.err
    (folder / "a.fa").write_text(">1\nACGTACGT\n")
    assert "warning: no reads" not in command("count", "-l", "l.csv", "a.fa").err
    assert command("count", "-l", "l.csv", "a.fa", "r.fq", "--shard", "1/1", "-o", "out.d").code == 0
    assert "fmx: warning: no reads in r.fq\n" in command("merge", "out.d").err


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


def test_guides_that_repeat_and_genes_that_vanish_are_named(folder, command):
    (folder / "l.csv").write_text(
        "a,ACGTACGA,A\nb,CCGTACGA,B\nc,ACGTACGA,C\nd,CCGTACGA,B\n"
        + "".join(f"e{i},ACGTACGA,{'AD'[i % 2]}\n" for i in range(9))
    )
    (folder / "r.fa").write_text(">1\nACGTACGA\n")
    told = command("count", "-l", "l.csv", "r.fa", "--offset", 0).err
    named = ", ".join(f"{x}, same as {y}" for x, y in zip("cd", "ab", strict=True))
    named += "".join(f", e{i}, same as a" for i in range(8)) + " and 1 more"
    assert f"l.csv: 11 guides have the same sequence as an earlier guide: left out ({named})\n" in told
    assert "fmx: warning: l.csv: 2 genes have no guide left: C, D\n" in told
    (folder / "l.csv").write_text("a,ACGTACGA\nb,ACGTACGA\n")
    assert "gene" not in command("count", "-l", "l.csv", "r.fa", "--offset", 0).err


def test_few_reads_per_guide_are_warned_of(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGA\nb,CCGTACGA\n")
    for name, n in (("r.fa", 199), ("s.fa", 200), ("t.fa", 11)):
        (folder / name).write_text(n * ">1\nACGTACGA\n")
    given = ["count", "-l", "l.csv", "r.fa", "s.fa", "t.fa", "--offset", 0]
    assert command(*given, "--shard", "1/1", "-o", "out.d").code == 0
    said = (
        "warning: samples r, t: 99.5, 5.5 reads per guide on average; below 100, counts vary much by chance"
    )
    for done in (command(*given), command("merge", "out.d")):
        assert said in done.err
    pairs = ["-1", "r.fa", "-2", "r.fa", "-l", "l.csv", "-l", "l.csv"]
    assert "per guide" not in command("count", *pairs, "--offset", 0).err


def test_a_library_in_the_place_of_reads_is_named(folder, command):
    (folder / "l.csv").write_text("a,ACGTACGT,G\n")
    (folder / "l.csv.gz").write_bytes(gzip.compress(b"a,ACGTACGT,G\n"))
    (folder / "r.fq").write_text("@1\nACGTACGT\n+\nIIIIIIII\n")
    (folder / "notes.txt").write_text("what,ever\n")
    (folder / "l.xlsx").write_bytes(b"PK\x03\x04")
    for given in (("l.xlsx", "r.fq"), ("l.csv", "l.xlsx")):
        done = command("count", "-l", *given)
        assert (done.code, "(.xlsx) as CSV\n" in done.err) == (1, True)
    done = command("count", "-l", "r.fq", "r.fq")
    said = "fmx: error: r.fq: this is FASTQ, not a library of guides: give -l a table or FASTA\n"
    assert (done.code, done.err) == (1, said)
    for library, name in (("l.csv", "l.csv"), ("l.csv", "l.csv.gz"), ("r.fq", "l.csv")):
        done = command("count", "-l", library, "r.fq", name)
        said = f"fmx: error: {name}: this is a library of guides, not reads: give it with -l\n"
        assert (done.code, done.err) == (1, said)
    done = command("count", "-l", "l.csv", "notes.txt")
    said = "record 1: expected '@' (FASTQ) or '>' (FASTA) at its start, found 'w' (is this a file of reads?)"
    assert (done.code, done.err) == (1, f"fmx: error: notes.txt: {said}\n")


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
