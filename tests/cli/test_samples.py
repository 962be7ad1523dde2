"""Samples, mapped as one by one; counts, --skip and --first of pairs."""

from collections import Counter

import cases
import naive
import pysam
import pytest
from output_of import without_program
from texts import numbered, random_letters

UNIT = random_letters(300, "samples")
GENOME = numbered([UNIT, UNIT[:120] + "N" + UNIT[60:], "AC" * 40, random_letters(90, "one more")])
N = 30
SHEETS = {  # the columns, and the rows of samples x and y
    "reads": ("reads\tread_group", "x\tx_1.fq\t@RG\\tID:x\\tSM:x", "y\ty.fa\t"),
    "lanes": ("reads\tread_group", "x\tx_1.fq\t@RG\\tID:x1\\tSM:x", "y\ty.fa\t",
              "x\txx_1.fq\t@RG\\tID:x2\\tSM:x"),
    "mates": ("reads\treads2", "x\tx_1.fq,xx_1.fq\tx_2.fq,xx_2.fq", "y\ty_1.fq\ty_2.fq"),
    "interleaved": ("reads", "x\tx.fq,xx.fq", "y\ty.fq"),
}  # fmt: skip


def fragment(name, i) -> tuple:
    """Both mates of a pair: proper once or several times, apart, or of which one does not occur."""
    letters = GENOME[i % 4][1].replace("N", "")
    start = 7 * i % (len(letters) - 60)
    one, two = letters[start : start + 20], naive.reverse_complement(letters[start + 30 : start + 50])
    if i % 5 == 3:
        two = naive.reverse_complement(two)
    if i % 7 == 6:
        one = one[:9] + "N"
    return (f"{name}.{i}", one), (f"{name}.{i}", two)


@pytest.fixture
def home(folder):
    """Files of mates, apart and together, and sheets of them."""
    for name in ("x", "xx", "y"):
        pairs = [fragment(name, i) for i in range(N)]
        for i in (0, 1):
            (folder / f"{name}_{i + 1}.fq").write_bytes(cases.fastq(pair[i] for pair in pairs))
        (folder / f"{name}.fq").write_bytes(cases.fastq(mate for pair in pairs for mate in pair))
    (folder / "y.fa").write_bytes(cases.fasta(pair[0] for pair in pairs))
    for name, (columns, *rows) in SHEETS.items():
        (folder / name).write_text("\n".join([f"sample\t{columns}", *rows, ""]))
    return folder


@pytest.fixture
def search(home, index_of, command):
    """A function: search with these arguments -> Result."""
    return lambda *arguments: command("search", "-q", "-x", index_of(GENOME), *arguments)


def records(data) -> list:
    lines = without_program(data).decode().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("@")]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sheet", ["reads", "mates", "interleaved"])
def test_samples_are_mapped_as_one_by_one(sheet, threads, search, home):
    way = ["-t", threads, *(["--interleaved"] if sheet == "interleaved" else [])]
    outputs = ["-o", "{sample}.sam", "--al", "al_{sample}.fq.gz", "--counts", "{sample}.tsv"]
    done = search("--samples", sheet, *way, *outputs)
    assert (done.code, done.out, done.err) == (0, b"", "")
    every = []
    for name, row in zip("xy", SHEETS[sheet][1:], strict=True):
        files = row.split("\t")[1:]
        words = ["-1", files[0], "-2", files[1]] if sheet == "mates" else files[0].split(",")
        more = ["--rg", rf"@RG\tID:{name}\tSM:{name}", "--counts", "alone.tsv", "--al", "alone.fq.gz"]
        alone = search(*way, *words, *more)
        every += records(alone.out)
        assert without_program((home / f"{name}.sam").read_bytes()) == without_program(alone.out)
        assert (home / f"{name}.tsv").read_bytes() == (home / "alone.tsv").read_bytes()
        for end in ["_1", "_2"] if sheet == "mates" else [""]:
            mapped = (home / f"alone{end}.fq.gz").read_bytes()
            assert (home / f"al_{name}{end}.fq.gz").read_bytes() == mapped != b""
    assert records(search("--samples", sheet, *way).out) == every


@pytest.mark.parametrize("threads", [1, 3])
def test_all_samples_share_one_output_with_their_groups(threads, search, home):
    assert search("--samples", "lanes", "-o", "all.bam", "--sort", "-t", threads).code == 0
    with pysam.AlignmentFile("all.bam") as file:
        groups = [(group["ID"], group["SM"]) for group in file.header["RG"]]
        reads = [(each.query_name.split(".")[0], each.get_tag("RG")) for each in file.fetch(until_eof=True)]
    assert groups == [("x1", "x"), ("x2", "x"), ("y", "y")]
    assert Counter(reads) == {("x", "x1"): N, ("xx", "x2"): N, ("y", "y"): N}
    assert search("--samples", "lanes", "-o", "{sample}.sam").code == 0
    assert {record[-1] for record in records((home / "x.sam").read_bytes())} == {"RG:Z:x1", "RG:Z:x2"}


WRONG = {
    "sample\treads\na\tx.fq\nb\tx.fq\n": "sheet.tsv: x.fq is listed twice",
    "sample\treads\na\tx.fq,x.fq\n": "sheet.tsv: x.fq is listed twice",
    "sample\treads\na b\tx.fq\n": "sheet.tsv: sample a b: read_group: the ID contains a space",
    "sample\treads\na\t-\n": "sheet.tsv: sample a: -: standard input cannot be used in a sample sheet",
    "sample\treads\trg\na\tx.fq\tlane\n": r"sheet.tsv: sample a: read_group: must look like '@RG\tID:",
    "sample\treads\trg\na\tx.fq\t@RG\\tID:x\nb\ty.fq\t@RG\\tID:x\\tSM:b\n":
        "sheet.tsv: read group x is listed twice, with different fields",
    "sample\treads\treads2\na\tx_1.fq\ty_2.fq\n": "y_2.fq: record 1: its name is y.0, but that of its mate",
    "sample\treads\treads2\na\tx.fq\tx.fq\n": "sheet.tsv: x.fq is listed twice",
    "sample\treads\na\tnone.fq\n": "none.fq: No such file or directory",
    "x.fq\n": "sheet.tsv: line 1: a sample sheet needs a header with columns sample and reads",
}  # fmt: skip


@pytest.mark.parametrize("sheet", WRONG)
def test_a_wrong_sheet_is_refused_before_anything_is_written(sheet, search, home):
    (home / "sheet.tsv").write_text(sheet)
    before = sorted(home.iterdir())
    result = search("--samples", "sheet.tsv", "-o", "{sample}.sam")
    assert (result.code, result.out, result.err.count("\n")) == (1, b"", 1)
    assert WRONG[sheet] in result.err
    assert sorted(home.iterdir()) == before


REFUSED = {
    "reads y.fq": "give only one of READS, -1 with -2, and --samples",
    "reads -1 x_1.fq -2 x_2.fq": "give only one of READS, -1 with -2, and --samples",
    "reads --max-insert 9": "--max-insert needs pairs",
    "reads --rg @RG\\tID:x": "--rg cannot be combined with --samples",
    "reads -o {sample}.sam --counts c.tsv": "--counts would be overwritten by each sample: put {sample}",
    "reads -o all.sam --un {sample}.fq": "-o would be overwritten by each sample: put {sample}",
    "reads -o reads": "-o reads is the same file as the input reads",
    "reads --collapse": "--collapse needs one output per sample: put {sample} into the names of the outputs",
    "lanes --collapse -o {sample}.sam": "--collapse: sample x has several read groups; give it one",
    "mates --interleaved": "--interleaved means that READS hold both mates: leave out the mates columns",
    "mates --collapse": "--collapse works on single reads only, not on pairs",
    "mates --al {sample}.fq -o {sample}.sam --un u.fq": "--un (first mates) would be overwritten by each",
    "slash -o {sample}.sam": "sample a/b: the name contains '/' and cannot be part of a file name",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wrong_commands_are_refused(options, search, home):
    (home / "slash").write_text("sample\treads\na/b\tx.fq\n")
    before = sorted(home.iterdir())
    result = search("--samples", *options.split())
    assert (result.code, result.out) == (2, b""), result.err
    assert REFUSED[options] in result.err
    assert sorted(home.iterdir()) == before


# Pairs: counts, --skip and --first.

PAIRS = ["-1", "x_1.fq,y_1.fq", "-2", "x_2.fq,y_2.fq"]


@pytest.mark.parametrize(("more", "at_most"), [([], 10**9), (["-m", "3", "-k", "1"], 3)])
def test_counts_are_those_of_all_records(more, at_most, search, home):
    hits = [r for r in records(search(*PAIRS, "-a").out) if not int(r[1]) & 4 and int(r[11][5:]) <= at_most]
    occurrences: dict = {}
    for record in hits:
        occurrences.setdefault((record[0], int(record[1]) & 64), []).append(record[2])
    assert max(map(len, occurrences.values())) > min(at_most - 1, 3)
    names = [name for name, _ in GENOME]
    expected = naive.counts(GENOME, [[(names.index(x),) for x in places] for places in occurrences.values()])
    search(*PAIRS, *(more or ["-a"]), "--counts", "c.tsv", "-o", "o.sam")
    assert (home / "c.tsv").read_text().splitlines()[1:] == expected
    assert Counter(record[1] for record in hits)["99"] > 3


@pytest.mark.parametrize("how", [PAIRS, ["--interleaved", "x.fq", "y.fq"]])
def test_just_these_pairs_are_mapped(how, search):
    every = records(search(*how).out)
    assert len(every) == 4 * N
    for skip, first in ((0, 1), (5, 30), (29, 1), (30, 4), (59, 9), (7, None)):
        words = [*(["--first", first] if first else []), *(["--skip", skip] if skip else []), "-t", 3]
        stop = None if first is None else 2 * (skip + first)
        assert records(search(*how, *words).out) == every[2 * skip : stop]


def test_damage_behind_the_last_pair_is_not_met(search, home):
    with open(home / "x_2.fq", "a") as file:
        file.write("@bad\nAC\n+\nI\n")
    for first, code in ((N, 0), (N + 1, 1)):
        result = search("-1", "x_1.fq", "-2", "x_2.fq", "--first", first, "-o", "o.sam")
        assert (result.code, f"x_2.fq: record {N + 1}: " in result.err) == (code, code == 1)


def test_pairs_are_counted_by_group(home, command):
    for name, letters in GENOME[:2]:
        (home / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    assert command("index", "-q", *(f"{name}.fa" for name, _ in GENOME[1::-1]), "-o", "two.fmx").code == 0
    tables = []
    for by in ("contig", "group"):
        words = [*PAIRS, "-o", "o.sam", "--counts", "c.tsv", "--counts-by", by]
        assert command("search", "-q", "-x", "two.fmx", *words).code == 0
        tables.append([line.split("\t") for line in (home / "c.tsv").read_text().splitlines()[1:]])
    assert [row[0] for row in tables[0]] == [name for name, _ in GENOME[1::-1]]
    assert min(int(row[2]) for row in tables[0]) > 10
    by_contig, by_group = ([[*row[2:4], row[-1]] for row in table] for table in tables)
    assert by_contig == by_group
