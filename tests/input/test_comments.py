"""Lines of tables that begin with # are comments, in every table that fmx reads; one may be the header."""

import pytest

from fmx.guides.library import read_library
from fmx.guides.samples import read_sheet
from fmx.index.fasta import read_groups
from fmx.input.tables import read_pairs

COMMENT = '# made by hand, of several; see "there"\n#\n  # it\'s more\n'


def _library(path):
    found = read_library(path)
    return list(zip(found.ids, found.sequences, found.genes, strict=True))


def _groups(path):
    return read_groups(str(path), ["a", "b"], print)


TABLES = {
    "library": (_library, "id\tsequence\tgene\n", "g1\tACGTA\tx\ng2\tTTGCA\ty\n"),
    "library of another order": (_library, "gene\tid\tsequence\n", "x\tg1\tACGTA\ny\tg2\tTTGCA\n"),
    "sheet": (read_sheet, "sample,reads\n", "one,a.fq\ntwo,b.fq\n"),
    "groups": (_groups, "contig\tgroup\n", "a\tx\nb\ty\n"),
    "primers": (read_pairs, "name;forward;reverse\n", "p;ACGT;CCGT\nq;ACGA;GGGT\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_comments_are_left_out(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("a.fq", "b.fq"):
        (tmp_path / file).touch()
    (read, header, lines), path = TABLES[name], tmp_path / "table"

    def found(text):
        path.write_text(text)
        return repr(read(path))

    first, second = lines.splitlines(keepends=True)
    wanted = found(header + lines)
    assert found(COMMENT + header + first + COMMENT + second + COMMENT) == wanted
    assert found(COMMENT + "#" + header + "# a, b; c\td\n" + lines) == wanted
    assert found("# " + header + lines + "#" + header) == wanted
    if name not in ("sheet", "library of another order"):
        assert found(COMMENT + first + "#" + second + second) == found(lines)


def test_an_error_names_its_line_among_comments(tmp_path):
    path = tmp_path / "table"
    path.write_text(COMMENT + "p\tACGT\tCCGT\n" + COMMENT + "q\tAC!T\tCCGT\n")
    with pytest.raises(Exception, match="line 8: pair q: 'AC!T' is not a forward primer"):
        read_pairs(path)
