"""SAM records are what the specification, docs/formats.md and the naive oracle say, with every option."""

import cases
import naive
import pytest
import validate
from texts import TEXTS, reads_of

NAMES = [
    "one letter",
    "contigs of 1 to 6",
    "palindromes",
    "IUPAC",
    "lower case and U",
    "repeats across separators",
]
OPTIONS = {
    "default": ([], {}),
    "-a": (["-a"], {"limit": None}),
    "-k 3": (["-k", "3"], {"limit": 3}),
    "-k 3 -m 4": (["-k", "3", "-m", "4"], {"limit": 3, "at_most": 4}),
    "-a -m 1": (["-a", "-m", "1"], {"limit": None, "at_most": 1}),
    "forward": (["-a", "--forward-only"], {"limit": None, "strands": (naive.FORWARD,)}),
    "reverse": (["-a", "--reverse-only"], {"limit": None, "strands": (naive.REVERSE,)}),
    "no unmapped": (["-k", "2", "--no-unmapped", "-m", "9"], {"limit": 2, "at_most": 9, "unmapped": False}),
    "read group": (["--rg", r"@RG\tID:lane1\tSM:a sample"], {"group": "lane1"}),
}


def named(sequences) -> list:
    """(name, sequence, quality) of cases.fastq."""
    return [(f"r{i}", s, "".join(chr(33 + j % 94) for j in range(len(s)))) for i, s in enumerate(sequences)]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_records_of_fastq(name, options, folder, index_of, command):
    arguments, expected = OPTIONS[options]
    contigs, reads = TEXTS[name], named(reads_of(TEXTS[name]))
    (folder / "reads.fq").write_bytes(cases.fastq([read[:2] for read in reads]))
    result = command("search", "-q", "-x", index_of(contigs), "reads.fq", *arguments)
    assert (result.code, result.err) == (0, "")
    sam = validate.check(result.out, contigs, reads, **expected)
    assert ["@RG", "ID:lane1", "SM:a sample"] in sam.header or "group" not in expected


def test_names_end_at_the_first_blank_and_may_be_missing(folder, index_of, command):
    contigs = TEXTS["palindromes"]
    (folder / "r.fa").write_bytes(
        b">a b\nGAATTC\n>x\ty\nAC\n> z\nA\n>\nTTTTAAAA\n" + b">" + b"n" * 254 + b"\nA\n"
    )
    result = command("search", "-q", "-x", index_of(contigs), "r.fa")
    assert [record[0] for record in result.records] == ["a", "x", "z", "*", "n" * 254]


def test_mapping_qualities_are_those_of_the_documents():
    from fmx.output.formats import sam

    assert [sam.mapping_quality(n) for n in range(1, 12)] == [60, 3, 2, 1, 1, 1, 1, 1, 1, 0, 0]
    for n in range(1, 100):
        assert sam.mapping_quality(n) == validate.mapping_quality(n)
        assert n >= len(sam.MAPQ) or sam.MAPQ[n] == validate.mapping_quality(n)


def test_a_read_group_with_real_tabs_leaves_the_header_whole(folder, index_of, command):
    (folder / "r.fa").write_bytes(b">a\nGAATTC\n")
    arguments = ["--rg", "@RG\tID:x\tSM:y"]
    result = command("search", "-q", "-x", index_of(TEXTS["palindromes"]), "r.fa", *arguments)
    validate.check(result.out, TEXTS["palindromes"], [("a", "GAATTC", None)], group="x")
