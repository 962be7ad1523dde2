"""What may be wrong with a record of reads: problems as compiled code tells them, and in words."""

import re

from ..errors import escaped
from .chunks import BLANK_LINE, about_cr
from .dna import LETTERS

OK, TRUNCATED, NO_AT, BLANK_BEFORE, NO_PLUS, LENGTHS = range(6)
LETTER, QUALITY, BAD_NAME, AT_FIRST, INNER_CR = range(6, 11)
_SAM = "this looks like SAM: make BAM of it, as by samtools view -b"
_MESSAGES = {
    TRUNCATED: "the file ends within this record: truncated FASTQ",
    NO_AT: "does not start with '@': not a FASTQ record of four lines",
    BLANK_BEFORE: BLANK_LINE,
    NO_PLUS: "its third line does not start with '+': not a FASTQ record of four lines",
    LENGTHS: "sequence and quality differ in length",
    LETTER: "the sequence holds a byte that is not a letter: ",
    QUALITY: "the quality holds a byte outside '!' to '~'",
    BAD_NAME: "its name holds a byte that is not printable ASCII, which SAM cannot hold; rename it: ",
    AT_FIRST: "its name starts with '@', which SAM takes for a header line; rename it",
}


def complaint(chunk, batch, r, problem) -> str:
    """What is wrong with record r of a chunk; only what stands before the problem is in the batch."""
    if problem in (NO_AT, BLANK_BEFORE):
        return _MESSAGES[problem]
    text = chunk.data[batch.name_start[r] :].tobytes()
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n", 4)[:4]]
    if problem in (BAD_NAME, AT_FIRST, INNER_CR) and not chunk.is_fastq:
        del lines[1:]
    elif not chunk.is_fastq:
        lines = [b"", chunk.data[batch.start[r] : batch.start[r] + batch.length[r]].tobytes()]
    if problem == NO_PLUS and re.match(rb"(HD|SQ|RG|PG|CO)\t", lines[0]):
        return _SAM
    if any(b"\r" in line for line in lines):
        return about_cr(chunk.data)
    if problem in (LENGTHS, LETTER, QUALITY):
        for what, line in zip(("sequence", "quality"), lines[1::2], strict=False):
            if line.rstrip(b" \t") != line:
                return f"its {what} line ends with white space: remove it"
    if problem == QUALITY and len(lines[1]) != len(lines[3]):
        return _MESSAGES[LENGTHS]
    if problem == BAD_NAME:
        return _MESSAGES[problem] + escaped(re.findall(rb"[^\t -~]", lines[0])[0])
    if problem == LETTER:
        bad = lines[1].translate(None, LETTERS)[:1]
        return (
            f"{_MESSAGES[problem]}{escaped(bad)}{' (an alignment? remove its gaps)' if bad in b'-*' else ''}"
        )
    return _MESSAGES[problem]
