"""--samples of pairs, --counts, --skip and --first of pairs: as the records of one run tell them."""

from collections import Counter

import cases
import naive
import pytest
from output_of import without_program
from texts import numbered, random_letters

UNIT = random_letters(200, "samples of pairs")
GENOME = numbered([UNIT, UNIT[:120] + "N" + UNIT[60:], "AC" * 40, random_letters(90, "one more")])
N = 30
ROWS = {
    "two files": ("reads\treads2", "x\tx_1.fq,xx_1.fq\tx_2.fq,xx_2.fq", "y\ty_1.fq\ty_2.fq"),
    "interleaved": ("reads", "x\tx.fq,xx.fq", "y\ty.fq"),
}


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
def there(folder):
    """Files of mates, apart and together, and sheets of them."""
    for name in ("x", "xx", "y"):
        pairs = [fragment(name, i) for i in range(N)]
        for i in (0, 1):
            (folder / f"{name}_{i + 1}.fq").write_bytes(cases.fastq(pair[i] for pair in pairs))
        (folder / f"{name}.fq").write_bytes(cases.fastq(mate for pair in pairs for mate in pair))
    for name, (columns, *rows) in ROWS.items():
        lines = [f"sample\t{columns}", *rows, ""]
        (folder / name).write_text("\n".join(lines))
    return folder


@pytest.fixture
def search(there, index_of, command):
    """A function: arguments of a search that fails for nothing -> its records, columns each."""

    def search(*arguments):
        result = command("search", "-q", "-x", index_of(GENOME), *arguments)
        assert (result.code, result.err) == (0, "")
        return records(result.out)

    return search


def records(data) -> list:
    lines = without_program(data).decode().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("@")]


@pytest.mark.parametrize("sheet", ROWS)
def test_samples_are_mapped_as_one_by_one(sheet, search, there):
    way = ["--interleaved"] if sheet == "interleaved" else []
    outputs = ["-o", "{sample}.sam", "--al", "al_{sample}.fq", "--counts", "{sample}.tsv"]
    assert search("--samples", sheet, *way, *outputs) == []
    every = []
    for name, row in zip("xy", ROWS[sheet][1:], strict=True):
        files = row.split("\t")[1:]
        given = [*way, *files[0].split(",")] if way else ["-1", files[0], "-2", files[1]]
        more = ["--rg", rf"@RG\tID:{name}\tSM:{name}", "--counts", "own.tsv", "--al", "own.fq"]
        own = search(*given, *more)
        every += own
        assert records((there / f"{name}.sam").read_bytes()) == own
        assert (there / f"{name}.tsv").read_bytes() == (there / "own.tsv").read_bytes()
        for end in [""] if way else ["_1", "_2"]:
            mapped = (there / f"own{end}.fq").read_bytes()
            assert (there / f"al_{name}{end}.fq").read_bytes() == mapped != b""
    assert search("--samples", sheet, *way) == every


REFUSED = {
    "--interleaved": "--interleaved means that READS hold both mates: leave out the mates columns",
    "--collapse": "--collapse works on single reads only, not on pairs",
    "--al {sample}.fq -o {sample}.sam --un un.fq": "--un (first mates) would be overwritten by each sample",
    "--al {sample}.fq -o x.sam": "-o would be overwritten by each sample",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_a_sheet_of_mates_may_not_have(options, there, index_of, command):
    result = command("search", "-x", index_of(GENOME), "--samples", "two files", *options.split())
    assert (result.code, result.out) == (2, b"")
    assert REFUSED[options] in result.err


@pytest.mark.parametrize(("more", "at_most"), [([], 10**9), (["-m", "3", "-k", "1"], 3)])
def test_counts_are_those_of_all_records(more, at_most, search, there):
    files = ["-1", "x_1.fq,y_1.fq", "-2", "x_2.fq,y_2.fq"]
    found = [r for r in search(*files, "-a") if not int(r[1]) & 4 and int(r[11][5:]) <= at_most]
    occurrences: dict = {}
    for record in found:
        occurrences.setdefault((record[0], int(record[1]) & 64), []).append(record[2])
    assert max(map(len, occurrences.values())) > min(at_most - 1, 3)
    names = [name for name, _ in GENOME]
    expected = naive.counts(GENOME, [[(names.index(x),) for x in places] for places in occurrences.values()])
    search(*files, *(more or ["-a"]), "--counts", "c.tsv", "-o", "o.sam")
    assert (there / "c.tsv").read_text().splitlines()[1:] == expected
    assert Counter(record[1] for record in found)["99"] > 3


@pytest.mark.parametrize(
    "how", [["-1", "x_1.fq,y_1.fq", "-2", "x_2.fq,y_2.fq"], ["--interleaved", "x.fq", "y.fq"]]
)
def test_just_these_pairs_are_mapped(how, search, there):
    every = search(*how)
    assert len(every) == 4 * N
    for skip, first in ((0, 1), (5, 30), (29, 1), (30, 4), (59, 9), (7, None)):
        number = [] if first is None else ["--first", first]
        stop = None if first is None else 2 * (skip + first)
        assert search(*how, *number, *(["--skip", skip] if skip else []), "-t", 3) == every[2 * skip : stop]


def test_damage_behind_the_last_pair_is_not_met(there, index_of, command):
    with open(there / "x_2.fq", "a") as file:
        file.write("@bad\nAC\n+\nI\n")
    for first, code in ((N, 0), (N + 1, 1)):
        files = ["-1", "x_1.fq", "-2", "x_2.fq", "--first", first]
        result = command("search", "-q", "-x", index_of(GENOME), *files, "-o", "o.sam")
        assert (result.code, f"x_2.fq: record {N + 1}: " in result.err) == (code, code == 1)


def test_pairs_are_counted_by_group(there, command):
    for name, letters in GENOME[:2]:
        (there / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    assert command("index", "-q", *(f"{name}.fa" for name, _ in GENOME[1::-1]), "-o", "two.fmx").code == 0
    tables = []
    for by in ("contig", "group"):
        given = ["-1", "x_1.fq", "-2", "x_2.fq", "-o", "o.sam", "--counts", "c.tsv", "--counts-by", by]
        assert command("search", "-q", "-x", "two.fmx", *given).code == 0
        tables.append([line.split("\t") for line in (there / "c.tsv").read_text().splitlines()[1:]])
    assert [row[0] for row in tables[0]] == [name for name, _ in GENOME[1::-1]]
    assert min(int(row[2]) for row in tables[0]) > 10
    by_contig, by_group = ([[*row[2:4], row[-1]] for row in table] for table in tables)
    assert by_contig == by_group
