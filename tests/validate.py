"""Checks of SAM text against its specification, its reads and its reference, record by record.

Written from the SAM 1.6 specification and docs/formats.md alone; knows nothing of fmx's code.
"""

import hashlib
import math

import naive

REVERSE, SECONDARY = 16, 256
UNPLACED = ["*", "0", "0", "*", "*", "0", "0"]


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
        lines = [line.split("\t") for line in lines]
        self.header, self.records = lines[:n], lines[n:]
        sequences = [line[1:] for line in self.header if line[0] == "@SQ"]
        self.contigs = [dict(item.split(":", 1) for item in items) for items in sequences]


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


def records(
    contigs, read, limit=1, at_most=None, group=None, unmapped=True, strands=(0, 1), mismatches=0,
    strata=False, nh="total", tags=("NH", "HI", "NM", "MD"),
) -> list:  # fmt: skip
    """The records, lists of columns, of a read (name, sequence, quality or None); ``limit`` None: all."""
    name, sequence, quality = read
    if mismatches:
        found = naive.near(contigs, sequence, mismatches, strands=strands)
    else:
        found = [(0, *hit) for hit in naive.locate(contigs, sequence, strands)]
    best = [hit for hit in found if hit[0] == found[0][0]]
    found = best if strata else found
    ends = [f"RG:Z:{group}"] if group else []
    if not found or (at_most is not None and len(found) > at_most):
        n = 0 if nh == "reported" else len(found)
        letters = [written(sequence) or "*", quality or "*", *[f"NH:i:{n}"] * ("NH" in tags)]
        return [[name or "*", "4", *UNPLACED, *letters, *ends]] if unmapped else []
    lines, n_hits = [], len(found[:limit] if nh == "reported" else found)
    for number, (n, contig, start, strand) in enumerate(found[:limit], 1):
        plus = naive.reverse_complement(sequence) if strand else written(sequence)
        letters = [plus, (quality[::-1] if strand else quality) if quality else "*"]
        bases = naive.plain(contigs[contig][1])[start : start + len(sequence)]
        all_tags = [f"NH:i:{n_hits}", f"HI:i:{number}", f"NM:i:{n}", f"MD:Z:{naive.md(plus, bases)}"]
        of_it = [*(tag for tag in all_tags if tag[:2] in tags), *ends]
        mapq = mapping_quality(len(best)) if n == best[0][0] else 0
        place = [contigs[contig][0], str(start + 1), str(mapq), f"{len(sequence)}M", "*", "0", "0"]
        flag = str(REVERSE * strand + SECONDARY * (number > 1))
        lines.append([name or "*", flag, *place, *(["*", "*"] if number > 1 else letters), *of_it])
    return lines


def check(data: bytes, contigs, reads, *options, **named) -> Sam:
    """All of a SAM file.  ``reads`` (name, sequence, quality or None) in the order of the input.

    The options are those of ``records``.
    """
    sam = Sam(data)
    check_header(sam, contigs)
    expected = [line for read in reads for line in records(contigs, read, *options, **named)]
    different = (both for both in zip(sam.records, expected, strict=False) if both[0] != both[1])
    assert sam.records == expected, next(different, "more or fewer records")
    return sam
