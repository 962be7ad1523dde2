"""Several indexes as one, and screens: what a naive scan of all references together tells."""

from collections import Counter

import cases
import naive
import naive_pairs
import pytest
import workflow
from screened import CONTIGS, GROUPS, PAIRS, READS, REFERENCES, UNIT
from texts import numbered, random_letters


def combinations(found, of="indexes") -> list:
    """Lines of a screen, of reads whose occurrences are ``found``; ``of``: "indexes" or "groups"."""
    numbers = Counter(tuple(sorted({GROUPS[place[0]] for place in places})) for places in found)
    order = {name: i for i, name in enumerate(REFERENCES)}
    known = [(name,) for name in REFERENCES]
    more = [tuple(sorted(names, key=order.get)) for names in numbers if len(names) > 1]
    more.sort(key=lambda names: (len(names), [order[name] for name in names]))
    rows = [(",".join(names), len(names), numbers[tuple(sorted(names))]) for names in [*known, *more]]
    rows.append(("*", 0, numbers[()]))
    lines = [f"{name}\t{n}\t{reads}\t{100 * reads / len(found):.2f}" for name, n, reads in rows]
    return [f"{of}\tnumber\treads\tpercent", *lines]


def several(screened) -> list:
    return [word for name in REFERENCES for word in ("-x", screened / f"{name}.fmx")]


@pytest.mark.parametrize(("most", "v"), [(None, 0), (4, 0), (None, 1)])
def test_reads_are_told_apart_by_the_indexes_that_they_occur_in(most, v, screened, folder, command):
    if v:
        found = [[place[1:] for place in naive.near(CONTIGS, read, v)] for read in READS]
    else:
        found = [naive.locate(CONTIGS, read) for read in READS]
    found = [places if most is None or len(places) <= most else [] for places in found]
    how = ["search", "-q", *several(screened), screened / "r.fq", "--un", "rest.fq", "--al", "some.fq"]
    how += ["--mismatches", v, *(["-m", most] if most else [])]
    result = command(*how)
    assert (result.code, result.err) == (0, "")
    lines = result.out.decode().splitlines()
    assert lines == combinations(found)
    assert len(lines) > 6
    rest = [line[2:] for line in (folder / "rest.fq").read_text().splitlines() if line.startswith("@r")]
    assert rest == [str(i) for i, places in enumerate(found) if not places]
    assert (folder / "some.fq").read_text().count("@r") == len(READS) - len(rest)


def test_groups_of_one_index_are_screened_alike(screened, folder, command):
    found = [naive.locate(CONTIGS, read) for read in READS]
    for indexes, of in ((several(screened), "indexes"), (["-x", screened / "all.fmx"], "groups")):
        expected = combinations(found, of)
        how = ["search", "-q", *indexes, screened / "r.fq", "--screen", "s.tsv", "--counts", "n.tsv"]
        result = command(*how, "--counts-by", "group")
        assert (result.code, result.err, result.out) == (0, "", b"")
        assert (folder / "s.tsv").read_text().splitlines() == expected
        table = [line.split("\t") for line in (folder / "n.tsv").read_text().splitlines()[1:]]
        alone = {line.split("\t")[0]: line.split("\t")[2] for line in expected}
        assert [(row[0], row[4]) for row in table] == [(name, alone[name]) for name in REFERENCES]
        assert command(*how, "--counts-by", "group", "-o", "hits.sam").code == 0
        assert (folder / "s.tsv").read_text().splitlines() == expected


@pytest.mark.parametrize(
    ("most", "near"),
    [
        (None, (0, False)),
        (4, (0, False)),
        (1, (0, False)),
        (None, (1, False)),
        (4, (1, False)),
        (4, (2, True)),
    ],
)
def test_a_pair_occurs_wherever_one_of_its_mates_does(most, near, screened, folder, command):
    found = []
    for pair in PAIRS:
        places = [naive_pairs.occurrences(CONTIGS, read, *near) for read in pair]
        proper = naive_pairs.proper_pairs(CONTIGS, *pair, "fr", 0, 20, *near)
        numbers = [len(proper)] * 2 if proper else map(len, places)
        limited = zip(places, numbers, strict=True)
        found.append([place for own, n in limited if most is None or n <= most for place in own])
    expected = combinations(found)
    expected[0] = expected[0].replace("reads", "pairs")
    mates = ["-1", screened / "1.fq", "-2", screened / "2.fq", "--max-insert", 20]
    how = ["search", "-q", *mates, *(["-m", most] if most else []), "--mismatches", near[0]]
    how += ["--strata"] if near[1] else []
    how += ["--al", "some.fq", "--un", "rest.fq"]
    assert command(*how, *several(screened)).out.decode().splitlines() == expected
    expected[0] = expected[0].replace("indexes", "groups")
    hits = ["-x", screened / "all.fmx", "--screen", "s.tsv", "--counts", "n.tsv", "-o", "hits.sam"]
    hits += ["--no-unmapped"]
    for more in ([], hits):
        assert not more or command(*how, *more).code == 0
        for name, has_hit in (("some", True), ("rest", False)):
            for mate in (1, 2):
                lines = (folder / f"{name}_{mate}.fq").read_text().splitlines()
                reads = [int(line[2:]) for line in lines if line.startswith("@p")]
                assert reads == [i for i, places in enumerate(found) if bool(places) == has_hit]
    assert (folder / "s.tsv").read_text().splitlines() == expected
    lines = (folder / "hits.sam").read_text().splitlines()
    mapped = {line.split("\t")[0] for line in lines if line[0] != "@"}
    assert mapped == {f"p{i}" for i, places in enumerate(found) if places}


@pytest.mark.parametrize("arguments", [["-a"], ["-k", "2", "--seed", "3"], ["--mismatches", "1", "-a"]])
def test_hits_in_several_indexes_are_those_of_one(arguments, screened, folder, command):
    how = ["search", "-q", screened / "r.fq", "-o", "hits.sam", "--counts", "n.tsv", *arguments]
    found = []
    for indexes in (several(screened), ["-x", screened / "all.fmx"]):
        assert command(*how, *indexes).code == 0
        lines = (folder / "hits.sam").read_text().splitlines()
        found.append(([x for x in lines if not x.startswith("@PG")], (folder / "n.tsv").read_text()))
    assert found[0] == found[1]
    for indexes in (several(screened), ["-x", screened / "all.fmx"]):
        found.append(command("locate", "-q", *indexes, "-p", UNIT[42:58], "-p", "AC").out)
    assert found[2] == found[3]


SAME = ["-x", "a.fmx", "-x", "b.fmx"]
IN_BOTH = (
    "contig c0 is in both a and b: rebuild one of them with 'fmx index --prefix-names', or write only "
    "tables, with --counts-by group"
)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([*SAME, "-o", "x.sam"], 1, f"{IN_BOTH}\n"),
        ([*SAME, "--format", "sam"], 1, f"{IN_BOTH}\n"),
        ([*SAME, "-o", "x.sam", "--counts", "x.tsv"], 1, f"{IN_BOTH}\n"),
        ([*SAME, "--counts", "x.tsv"], 1, f"{IN_BOTH}\n"),
        (
            ["-x", "a.fmx", "--screen", "x.tsv", "--counts", "c.tsv", "--counts-by", "group"],
            1,
            "has no groups",
        ),
        (["-x", "a.fmx", "--screen", "r.fa"], 2, "--screen r.fa: the output can only be TSV, not .fa"),
    ],
)
def test_what_cannot_be_is_refused(arguments, code, message, folder, command):
    (folder / "r.fa").write_text(">r\nACGT\n")
    for name in "ab":
        cases.build(folder / f"{name}.fmx", numbered([random_letters(50, name)]))
    result = command("search", "-q", *arguments, "r.fa")
    assert (result.code, message in result.err) == (code, True), result.err
    assert command("search", "-q", *SAME, "r.fa").code == 0
    for arguments in (["locate", "-p", "ACGT"], ["mem", "r.fa"]):
        assert command(*arguments, *SAME).err.endswith(f"error: {IN_BOTH.split(', or')[0]}\n")


def test_a_screen_of_one_index_counts_what_is_mapped(folder, command):
    cases.build(folder / "a.fmx", numbered([random_letters(50, "a")]))
    (folder / "r.fa").write_text(f">r\n{random_letters(50, 'a')[5:30]}\n>s\n{'ACGT' * 9}\n>t\nN\n")
    table = "indexes\tnumber\treads\tpercent\na\t1\t1\t33.33\n*\t0\t2\t66.67\n"
    assert command("search", "-q", "-x", "a.fmx", "r.fa", "--screen", "-").out.decode() == table


@pytest.mark.parametrize("more", [[], ["--min-match", "16"]])
def test_the_table_of_a_screen_is_written_unless_another_output_is_named(more, folder, command):
    for name in "ab":
        cases.build(folder / f"{name}.fmx", numbered([random_letters(50, name)]))
    (folder / "r.fa").write_text(">r\nACGT\n")
    how = ["search", "-q", *SAME, "r.fa", *more]
    counts = "group\tlength\treads\thits\tunique\tshared\tfractional\n"
    for outputs, begin in (
        ([], "indexes\tnumber\treads"),
        (["--un", "u.fa"], "indexes\tnumber\treads"),
        (["--un", "-"], ">r\nACGT\n"),
        (["--counts", "-", "--counts-by", "group"], counts),
        (["--counts", "c.tsv", "--counts-by", "group"], ""),
    ):
        done = command(*how, *outputs)
        assert (done.code, done.out.decode()[: len(begin) or None]) == (0, begin), done.err
    assert (folder / "c.tsv").read_text().startswith(counts)


def test_a_screen_has_room_for_63_groups(folder, command):
    contigs = [(f"c{i}", random_letters(20, i)) for i in range(64)]
    for n in (63, 64):
        (folder / "groups.tsv").write_text("".join(f"c{i}\tg{min(i, n - 1)}\n" for i in range(64)))
        options = workflow.IndexOptions(groups="groups.tsv")
        workflow.build_index(cases.fasta(contigs), f"{n}.fmx", options)
    (folder / "r.fa").write_bytes(cases.fasta(contigs))
    lines = command("search", "-q", "-x", "63.fmx", "r.fa", "--screen", "-").out.decode().splitlines()
    assert [line.split("\t")[2] for line in lines[1:]] == 62 * ["1"] + ["2", "0"]
    result = command("search", "-q", "-x", "64.fmx", "r.fa", "--screen", "-")
    assert (result.code, "at most 63 groups, but this index has 64" in result.err) == (1, True)
    counted = ["--min-match", "16", "--counts", "c.tsv", "--counts-by", "group"]  # as the error advises
    assert command("search", "-q", "-x", "64.fmx", "r.fa", *counted).code == 0
