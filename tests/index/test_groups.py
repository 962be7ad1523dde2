"""References of several files, and the groups of their contigs: what is kept, added, and refused."""

import json
import lzma

import cases
import pytest
import workflow
from texts import numbered, random_letters

from fmx.errors import UnsupportedError
from fmx.index import disk, fasta, fm_index
from fmx.index import reference as contigs

ONE, TWO = numbered([random_letters(90, 1), "ACGNNTT"]), [("x", "GATTACA"), ("c9", random_letters(40, 2))]
TABLE = "c0\tgut\nx\tskin flora\nc1\tgut\nc9\tgut\n"


@pytest.fixture
def home(folder):
    """A folder with strain.one.fa, two.fna.xz (whose contigs are others) and groups.tsv."""
    (folder / "strain.one.fa").write_bytes(cases.fasta(ONE))
    (folder / "two.fna.xz").write_bytes(lzma.compress(cases.fasta(TWO)))
    (folder / "groups.tsv").write_text(TABLE)
    return folder


def arrays(path) -> dict:
    """The files of an index but for meta.json."""
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name != "meta.json"}


def groups_of(path) -> list:
    """(contig, group) of an index."""
    reference = fm_index.load(path).reference
    return [
        (name, reference.groups.names[number])
        for name, number in zip(reference.names, reference.groups.of_contig, strict=True)
    ]


def test_several_files_are_one_reference_and_its_groups(home, command):
    assert command("index", "-q", "strain.one.fa", "two.fna.xz", "-o", "both.fmx").code == 0
    workflow.build_index(cases.fasta(ONE + TWO), "plain.fmx")
    found = arrays(home / "both.fmx")
    assert found.pop("group_names.npy").endswith(b"strain.one\ntwo")
    assert found.pop("group_of_contig.npy")
    assert found == arrays(home / "plain.fmx")
    assert groups_of("both.fmx") == [(n, "strain.one") for n, _ in ONE] + [(n, "two") for n, _ in TWO]
    assert "groups         2\n" in command("inspect", "--verify", "both.fmx").out.decode()


def test_an_index_without_groups_stays_as_it_was_and_says_what_it_lacks(home, command):
    workflow.build_index("strain.one.fa", "one.fmx")
    meta = json.loads((home / "one.fmx" / "meta.json").read_text())
    assert (meta["format"], "n_groups" in meta) == (1, False)
    with pytest.raises(UnsupportedError, match=r"one.fmx has no groups.* 'fmx index --add --groups TABLE"):
        contigs.groups_of(fm_index.load("one.fmx"))
    assert b"groups" not in command("inspect", "one.fmx").out


def test_groups_of_a_table_may_come_later(home, command):
    files = ["strain.one.fa", "two.fna.xz"]
    assert command("index", "-q", *files, "-o", "now.fmx", "--groups", "groups.tsv").code == 0
    expected = [("c0", "gut"), ("c1", "gut"), ("x", "skin flora"), ("c9", "gut")]
    assert groups_of("now.fmx") == expected
    workflow.build_index(cases.fasta(ONE + TWO), "later.fmx")
    result = command("index", "--add", "later.fmx", "--groups", "groups.tsv")
    assert "later.fmx: added 2 groups" in result.err
    assert groups_of("later.fmx") == expected
    assert arrays(home / "now.fmx") == arrays(home / "later.fmx")
    assert disk.read_meta("later.fmx")["format"] == 2
    result = command("index", "--add", "later.fmx", "--groups", "groups.tsv")
    assert "later.fmx already has groups: build it again with --groups groups.tsv" in result.err


def test_names_of_files_precede_those_of_contigs(home, command):
    (home / "b").mkdir()
    for name in ("two.fa", "b/two.fa.gz"):
        (home / name).write_bytes(cases.fasta(ONE))
    result = command("index", "-q", "two.fa", "b/two.fa.gz", "-o", "out.fmx")
    assert (
        result.err
        == "fmx: error: b/two.fa.gz: contig c0 is also in two.fa; use --prefix-names to name it FILE#c0\n"
    )
    assert command("index", "-q", "two.fa", "b/two.fa.gz", "-o", "out.fmx", "--prefix-names").code == 0
    stems = ["two", "b/two"]
    assert groups_of("out.fmx") == [(f"{stem}#{name}", stem) for stem in stems for name, _ in ONE]
    assert command("index", "-q", "two.fa", "--prefix-names").code == 0
    assert fm_index.load("two.fmx").reference.names == ["two#c0", "two#c1"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("c0\tg\nc1\tg\nx\tg\n", "no line for contig c9: the table needs one line per contig"),
        ("c0\tg\n", "no line for contig c1 and 2 others: the table needs one"),
        ("c0\tg\nc0\th\n", "line 2: contig c0 is already in group g"),
        ("c0\tg\nc1\t\n", "line 2: '' is not a group name"),
        ("c0\nc1\n", "line 1: expected a contig and its group, separated by a tab"),
        ("", "no line for contig c0"),
    ],
)
def test_tables_that_cannot_be(table, message, home, command):
    (home / "bad.tsv").write_text(table)
    result = command("index", "-q", "strain.one.fa", "two.fna.xz", "-o", "out.fmx", "--groups", "bad.tsv")
    assert (result.code, result.err.startswith(f"fmx: error: bad.tsv: {message}")) == (1, True)
    assert not (home / "out.fmx").exists()


def test_a_table_may_have_names_of_columns_and_lines_of_others():
    found = []
    text = b"species,note,contig\nA b,,c0\nC,,c1\nD,,other\n"
    made = fasta.read_groups(text, ["c1", "c0"], found.append)
    assert (made.names, made.of_contig.tolist()) == (["C", "A b"], [0, 1])
    assert len(found) == 1
    assert "1 of its contigs is not in the reference" in found[0]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["two.fna.xz", "./two.fna.xz", "-o", "x.fmx"], 1, "contig x is also in two.fna.xz"),
        (["two.fna.xz", "two.fna.xz", "-o", "x.fmx"], 1, "two.fna.xz: the file is given twice"),
        (["--add", "a.fmx", "b.fmx", "--groups", "groups.tsv"], 2, "--add needs one index and --layout"),
        (["--add", "a.fmx", "--prefix-names", "--groups", "groups.tsv"], 2, "or --prefix-names"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, code, message, home, command):
    result = command("index", "-q", *arguments)
    assert result.code == code
    assert message in result.err
