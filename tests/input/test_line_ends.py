"""Ends of lines: LF and CR LF are the same; a CR inside a line is refused by name in every input."""

import gzip
import subprocess
import sys

import cases
import pytest
from input.test_mates import letters_of
from texts import numbered, random_letters

from fmx.errors import InputError
from fmx.input import reads
from fmx.input.spans import read_chunks

GENOME = numbered([random_letters(700, "ends"), random_letters(300, "of lines")])
READS = [(f"r{i} a comment", GENOME[0][1][7 * i : 7 * i + 30]) for i in range(9)]
FASTA, FASTQ = cases.fasta(READS), cases.fastq(READS)
MAC = "lines end with CR alone: convert with"
INSIDE = "CR inside a line"


def mac(data: bytes) -> bytes:
    """As a classic Macintosh wrote it."""
    return data.replace(b"\n", b"\r")


BAD = {
    "a file of the Macintosh": (mac(FASTA), mac(FASTQ), "record 1: " + MAC),
    "the same and one LF at the end": (mac(FASTA)[:-1] + b"\n", mac(FASTQ)[:-1] + b"\n", "record 1: " + MAC),
    "in the first name": (b">x\rACGT\n" + FASTA, b"@x\rACGT\n+\nIIII\n" + FASTQ, "record 1: "),
    "in a name": (FASTA + b">x\ry\nACGT\n", FASTQ + b"@x\ry\nACGT\n+\nIIII\n", "record 10: " + INSIDE),
    "in a comment": (
        FASTA + b">x y\rACGT\r>z\nACGT\n", FASTQ + b"@x y\rz\nACGT\n+\nIIII\n", "record 10: " + INSIDE,
    ),
    "in a sequence": (FASTA + b">x\nAC\rGT\n", FASTQ + b"@x\nAC\rGT\n+\nIIII\n", "record 10: " + INSIDE),
    "twice at an end": (
        FASTA + b">x\nACGT\r\r\n", FASTQ + b"@x\nACGT\r\r\n+\nIIIII\n", "record 10: " + INSIDE,
    ),
    "for the end of a sequence": (
        FASTA + b">x\nAC\r>y\nGT\n", FASTQ + b"@x\nACGT\r+\nIIII\n", "record 10: " + INSIDE,
    ),
    "in a plus line": (None, FASTQ + b"@x\nACGT\n+x\ry\nIIII\n", "record 10: " + INSIDE),
    "in a quality": (None, FASTQ + b"@x\nACGT\n+\nII\rI\n", "record 10: " + INSIDE),
}  # fmt: skip
CASES = [(name, kind) for name in BAD for kind in ("FASTA", "FASTQ") if BAD[name][kind == "FASTQ"]]


def parsed(data, chunk_size=1 << 23) -> list:
    """Names and sequences of all records."""
    return [record for chunk in read_chunks([data], chunk_size) for record in letters_of(reads.parse(chunk))]


@pytest.mark.parametrize(("name", "kind"), CASES)
@pytest.mark.parametrize("chunk_size", [1, 7, 40, 100, 1 << 20])
def test_a_cr_inside_a_line_of_reads_is_refused(name, kind, chunk_size):
    data, words = BAD[name][kind == "FASTQ"], BAD[name][2]
    with pytest.raises(InputError) as error:
        parsed(data, chunk_size)
    assert words in str(error.value)
    assert "CR" in str(error.value)
    assert "tr '\\r' '\\n'" in str(error.value)


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_reference_with_a_cr_at_the_border_of_a_piece(cut):
    from fmx.index.fasta import read_fasta

    whole, _ = read_fasta(b">x y\r\nACGT\r\nAC\r\n>z\r\nGT\r", size=cut)
    assert (whole.names, whole.lengths.tolist()) == (["x", "z"], [6, 2])
    for bad, line in ((b">x\nAC\rGT\n", 2), (b">x\nACGT\r\r\n", 2), (b">x y\r>z\nAC\n", 1), (b">x\rAC\r", 1)):
        with pytest.raises(InputError, match=rf"line {line}: .*CR"):
            read_fasta(bad, size=cut)


RECORD = b"@a b\nACGT\n+\nIIII\n"
EMPTY = b"@e\n\n+\n\n"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("n_blank", [1, 2, 3, 4, 5, 13])
def test_blank_lines_between_records_are_refused_at_every_border(n_blank, end):
    for before in (RECORD, EMPTY, RECORD * 3, RECORD + EMPTY):
        blank, number = b"\n" * n_blank, before.count(b"@") + 1
        data = (before + blank + RECORD * 2).replace(b"\n", end)
        for chunk_size in range(1, len(data) + 2):
            with pytest.raises(
                InputError, match=rf"record {number}: there is a blank line before this record"
            ):
                parsed(data, chunk_size)
        data = (b"\n" * n_blank + before + blank).replace(b"\n", end)
        for chunk_size in range(1, len(data) + 2):
            assert len(parsed(data, chunk_size)) == number - 1


@pytest.mark.parametrize("end", [b"\x0b", b"\n\x0c\n", b"\r\r"])
def test_white_space_at_the_end_of_fasta_is_no_line_end(end):
    assert len(parsed(FASTA + b" \n\t\n\n")) == len(READS)
    for chunk_size in (1, 40, 1 << 20):
        with pytest.raises(InputError, match="record 9: "):
            parsed(FASTA + end, chunk_size)


def memory_of(code, path) -> int:
    """Bytes that a program takes at most, beyond what it takes after a start."""
    program = f"""
import sys
from fmx.input import reads, spans
from fmx.errors import InputError

def peak():  # of this program alone, which ru_maxrss is not
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

def count(paths):
    return sum(reads.parse(chunk).length.size for chunk in spans.read_chunks(paths))

count([b"@a\\nA\\n+\\nI\\n", b">a\\nA\\n"])
base = peak()
{code}
print(peak() - base)
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def refused(what) -> str:
    """A program that passes if the error of a file says this."""
    lines = (
        "try:",
        "    count(sys.argv[1:])",
        "except InputError as error:",
        f"    assert {what!r} in str(error)",
    )
    return "\n".join([*lines, "else:", "    sys.exit(1)"])


@pytest.mark.parametrize("records", [b"", RECORD])
def test_a_gzip_of_newlines_takes_little(records, folder):
    """More blank lines than are read beyond a span are not dropped at the end."""
    blank = gzip.compress(b"\n" * (1 << 20), 9)
    (folder / "blank.gz").write_bytes(gzip.compress(records) + blank * 100)
    code = refused("record 2: there is a blank line") if records else "assert count(sys.argv[1:]) == 0"
    assert memory_of(code, folder / "blank.gz") < 60 << 20


@pytest.mark.parametrize("kind", ["FASTA", "FASTQ"])
def test_a_long_record_takes_its_size_and_half(kind, folder):
    n = 100 << 20
    (folder / "long").write_bytes(
        b">a\n" + b"A" * n + b"\n" if kind == "FASTA" else b"@a\n" + b"A" * n + b"\n+\n" + b"I" * n + b"\n"
    )
    memory = memory_of("assert count(sys.argv[1:]) == 1", folder / "long")
    assert memory < 1.5 * (folder / "long").stat().st_size
