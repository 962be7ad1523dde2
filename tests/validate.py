"""Checks of SAM text against its specification, its reads and its reference, record by record.

Written from the SAM 1.6 specification and docs/formats.md alone; knows nothing of fmx's code.
"""

import hashlib
import itertools
import math
import re

import naive

REVERSE, UNMAPPED, SECONDARY = 16, 4, 256
NAME = re.compile(r"[!-~]{1,254}")
TAG = re.compile(r"[A-Za-z][A-Za-z0-9]:(A:[!-~]|i:[-+]?[0-9]+|Z:[ !-~]*)")


def mapping_quality(n: int) -> int:
    return 0 if n == 0 else 60 if n == 1 else round(-10 * math.log10(1 - 1 / n))


def written(read: str) -> str:
    """The letters of a read on the plus strand."""
    return "".join(letter if letter in "ACGTNRYSWKMBDHV" else "N" for letter in naive.plain(read))


class Sam:
    """SAM text taken apart: header lines, and records as lists of columns."""

    def __init__(self, data: bytes):
        text = data.decode("ascii")
        assert text.endswith("\n")
        lines = text[:-1].split("\n")
        n = next((i for i, line in enumerate(lines) if not line.startswith("@")), len(lines))
        self.header, self.records = (
            [line.split("\t") for line in lines[:n]],
            [x.split("\t") for x in lines[n:]],
        )
        self.contigs = [
            dict(item.split(":", 1) for item in line[1:]) for line in self.header if line[0] == "@SQ"
        ]


def check_header(sam, contigs) -> None:
    """@HD first; @SQ as the contigs are; one @PG with the command."""
    assert sam.header[0][:2] == ["@HD", "VN:1.6"]
    assert [item["SN"] for item in sam.contigs] == [name for name, _ in contigs]
    for item, (_, sequence) in zip(sam.contigs, contigs, strict=True):
        assert int(item["LN"]) == len(sequence)
        letters = sequence.upper()
        assert item["M5"] == hashlib.md5(letters.encode()).hexdigest()
    (program,) = [line for line in sam.header if line[0] == "@PG"]
    assert "ID:fmx" in program
    assert any(item.startswith("CL:fmx ") for item in program)


def check_record(record, contigs, group) -> dict:
    """One record by itself and against the reference; returns its tags."""
    name, flag, contig, position, quality, cigar, mate, mate_position, length, sequence, letters = record[:11]
    tags = {}
    assert NAME.fullmatch(name)
    for item in record[11:]:
        assert TAG.fullmatch(item), item
        assert item[:2] not in tags
        tags[item[:2]] = int(item[5:]) if item[3] == "i" else item[5:]
    flag, position, quality = int(flag), int(position), int(quality)
    assert (mate, mate_position, length) == ("*", "0", "0")
    assert flag & ~(REVERSE | UNMAPPED | SECONDARY) == 0
    assert letters == "*" or len(letters) == len(sequence)
    assert tags.get("RG") == group
    if flag & UNMAPPED:
        assert (flag, contig, position, quality, cigar) == (UNMAPPED, "*", 0, 0, "*")
        assert set(tags) <= {"NH", "RG"}
        return tags
    assert set(tags) - {"RG"} == {"NH", "HI", "NM", "MD"}
    assert tags["NH"] >= tags["HI"] >= 1
    assert quality == mapping_quality(tags["NH"])
    n = int(re.fullmatch(r"([1-9][0-9]*)M", cigar)[1])
    assert (tags["NM"], tags["MD"]) == (0, str(n))
    reference = naive.plain(dict(contigs)[contig])[position - 1 : position - 1 + n]
    assert re.fullmatch("[ACGT]+", reference)
    assert len(reference) == n
    if flag & SECONDARY:
        assert (sequence, letters) == ("*", "*")
    else:
        assert sequence == reference
    return tags


def check(
    data: bytes, contigs, reads, limit=1, at_most=None, group=None, unmapped=True, strands=(0, 1)
) -> Sam:
    """All of a SAM file.  ``reads`` (name, sequence, quality or None) in the order of the input.

    ``limit`` None: all hits.  Which hits of a read are reported is compared with the naive oracle.
    """
    sam = Sam(data)
    check_header(sam, contigs)
    number = {name: i for i, (name, _) in enumerate(contigs)}
    parts = iter(_by_read(sam.records))
    for name, sequence, quality in reads:
        found = naive.locate(contigs, sequence, strands)
        suppressed = at_most is not None and len(found) > at_most
        if not unmapped and (suppressed or not found):
            continue
        records = next(parts)
        tags = [check_record(record, contigs, group) for record in records]
        assert all(record[0] == (name or "*") for record in records)
        assert all(tag["NH"] == len(found) for tag in tags)
        first = records[0]
        if suppressed or not found:
            assert [int(record[1]) for record in records] == [UNMAPPED]
            assert first[9] == (written(sequence) or "*")
            assert first[10] == (quality or "*")
            continue
        expected = found[:limit]
        assert [
            (number[record[2]], int(record[3]) - 1, bool(int(record[1]) & REVERSE)) for record in records
        ] == expected
        assert [tag["HI"] for tag in tags] == list(range(1, len(expected) + 1))
        assert [bool(int(record[1]) & SECONDARY) for record in records] == [False] + [True] * (
            len(expected) - 1
        )
        backwards = int(first[1]) & REVERSE
        assert first[9] == (naive.reverse_complement(sequence) if backwards else written(sequence))
        assert first[10] == ((quality[::-1] if backwards else quality) if quality else "*")
    assert next(parts, None) is None
    return sam


def _by_read(records) -> list:
    """Records of the same read together: each read has one that is not secondary, and it comes first."""
    counter = itertools.accumulate(not int(record[1]) & SECONDARY for record in records)
    groups = itertools.groupby(zip(counter, records, strict=True), key=lambda pair: pair[0])
    return [[record for _, record in group] for _, group in groups]
