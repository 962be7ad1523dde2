"""One rule for names: what SAM can hold is written as it is in every format, anything else is refused."""

import subprocess

import cases
import naive
import numpy as np
import pytest
from texts import numbered, random_letters

from fmx.errors import InputError
from fmx.input import reads, spans

GENOME = numbered([random_letters(700, "names"), random_letters(300, "of reads")])
LETTERS = GENOME[0][1][10:60]
GOOD = [
    "r1", "SRR5204809.1", "a/1", "x@y", "*", "=", "<>&'\"", "!~", "n" * 254, "1" * 7, "2" * 8, "3" * 9,
]  # fmt: skip
BAD = {
    b"@x": "its name starts with '@'", b"@": "its name starts with '@'", b"\x00": r"'\x00'",
    b"x\x00": r"'\x00'", b"x\x01y": r"'\x01'", b"x\x1b[1m": r"'\x1b'", b"x\x0by": r"'\x0b'",
    b"x\x7f": r"'\x7f'", b"\xc3\xa9": r"'\xc3'", b"seventee\xff": r"'\xff'", b"x\x80 comment": r"'\x80'",
}  # fmt: skip
FORMATS = [
    ["search", "-o", "out.sam"],
    ["search", "-o", "out.bam"],
    *(["locate", "-o", "out", "--format", kind] for kind in ("tsv", "bed", "sam")),
    *(["mem", "-o", "out", "--format", kind] for kind in ("mummer", "paf", "bed", "tsv", "sam")),
    ["pairwise", "-o", "out"],
    ["pairwise", "-o", "out", "--format", "paf"],
    ["pairwise", "-o", "out", "--matrix", "score"],
]


def run(command, index, arguments, source):
    """A command over a file of reads or sequences."""
    where = [] if arguments[0] == "pairwise" else ["-x", index]
    return command(*arguments, "-q", *where, source)


@pytest.mark.parametrize("name", BAD, ids=repr)
@pytest.mark.parametrize("kind", ["FASTA", "FASTQ"])
def test_a_name_that_sam_cannot_hold_is_refused_by_every_command(name, kind, folder, index_of, command):
    letters = LETTERS.encode()
    first, last = (b">a\n%s\n", b">%s\n%s\n") if kind == "FASTA" else (
        b"@a\n%s\n+\n" + b"I" * 50 + b"\n", b"@%s\n%s\n+\n" + b"I" * 50 + b"\n"
    )  # fmt: skip
    (folder / "in").write_bytes(first % letters * 3 + last % (name, letters) + first % letters)
    for arguments in FORMATS:
        if arguments[0] == "pairwise" and kind == "FASTQ":
            continue
        result = run(command, index_of(GENOME), arguments, "in")
        assert result.code == 1, arguments
        (line,) = result.err.splitlines()
        assert line.startswith("fmx: error: in: record 4: ")
        assert BAD[name] in line
        assert "rename it" in line
        assert not (folder / arguments[2]).exists()


AROUND = [
    ("", "\n"), ("", "\r\n"), ("", " a comment\n"), ("", "\ta comment\r\n"), (" ", "\n"), ("  \t ", " a\r\n")
]  # fmt: skip


@pytest.mark.parametrize(("begin", "end"), AROUND)
@pytest.mark.parametrize("kind", ["FASTA", "FASTQ"])
def test_names_are_written_as_they_are(kind, begin, end, folder, index_of, command, peer):
    """Without the blanks before them, and what follows them."""
    lines = {"FASTA": ">{}{}{}{}\n", "FASTQ": "@{}{}{}{}\n+\n" + "I" * 50 + "\n"}
    text = "".join(lines[kind].format(begin, name, end, LETTERS) for name in GOOD)
    (folder / "in").write_text(text, newline="")
    for arguments in FORMATS:
        if arguments[0] == "pairwise" and kind == "FASTQ":
            continue
        result = run(command, index_of(GENOME), arguments, "in")
        assert (result.code, result.err) == (0, ""), arguments
        output = folder / arguments[2]
        if arguments[2].endswith((".sam", ".bam")) or arguments[-1] == "sam":
            read = [peer("samtools"), "view", output]
            done = subprocess.run(read, capture_output=True, text=True, check=True)
            assert done.stderr == ""
            found = [line.split("\t")[0] for line in done.stdout.splitlines()]
        elif arguments[0] == "pairwise" and "--matrix" not in arguments:
            found = [GOOD[0]]
            for line in output.read_text().splitlines():
                if line.split("\t")[0] == GOOD[0]:
                    found.append(line.split("\t")[1 if "paf" not in arguments else 5])
        elif arguments[0] == "pairwise":
            found = [line.split(" ")[0] for line in output.read_text().splitlines()[1:]]
        else:
            column = 3 if arguments[-1] == "bed" else 0
            found = [line.split("\t")[column] for line in output.read_text().splitlines()]
            if arguments[-1] == "mummer":
                found = [line[2:] for line in found if line.startswith(">")]
            elif arguments[-1] == "tsv":
                del found[0]
        if arguments[0] == "pairwise" and "paf" not in arguments and "--matrix" not in arguments:
            found.remove("target") if "target" in found else None
        assert list(dict.fromkeys(found)) == GOOD, arguments


def test_a_name_over_254_is_refused_for_sam_and_bam_only(folder, index_of, command):
    names = ["short", "n" * 254, "m" * 255, "o" * 3000]
    (folder / "in").write_bytes(cases.fasta([(name, LETTERS) for name in names]))
    for arguments in FORMATS:
        result = run(command, index_of(GENOME), arguments, "in")
        if arguments[2].endswith((".sam", ".bam")) or arguments[-1] == "sam":
            assert result.code == 1
            what = "its name is longer than 254 characters, the limit of SAM and BAM"
            assert f"in: record 3: {what}" in result.err
            assert not (folder / arguments[2]).exists()
        else:
            assert (result.code, result.err) == (0, "")
            assert all(name in (folder / arguments[2]).read_text() for name in names)
            (folder / arguments[2]).unlink()


def test_blanks_before_a_name_are_skipped_by_every_command(folder, index_of, command):
    """Contigs, guides and mates too."""
    (folder / "ref.fa").write_text(f"> a b\n{GENOME[0][1]}\n>\t c\n{GENOME[1][1]}\n")
    assert command("index", "-q", "ref.fa").code == 0
    for mate in (1, 2):
        letters = GENOME[0][1][100 * mate :][:50]
        letters = naive.reverse_complement(letters) if mate == 2 else letters
        (folder / f"{mate}.fq").write_text(f"@ r/{mate}\n{letters}\n+\n{'I' * 50}\n" * 50)
    (folder / "guides.fa").write_text(f"> g gene=x\n{GENOME[0][1][100:120]}\n")
    records = command("search", "-q", "-1", "1.fq", "-2", "2.fq").records
    assert [record[:3:2] for record in records] == [["r", "a"]] * 100
    result = command("count", "-q", "-l", "guides.fa", "1.fq")
    assert result.out.splitlines()[1] == b"g\tx\t50"


RNAME = "0azAZ!#$%&+./:;?@^_|~-"


@pytest.mark.parametrize("name", [*RNAME, "x" + RNAME + "*=", "HLA:HLA00001", "gi|9626243|ref", "c" * 300])
def test_contig_names_of_the_specification(name, folder, command, peer):
    (folder / "r.fa").write_text(f">{name} words\r\n{LETTERS}\r\n")
    (folder / "r.fq").write_bytes(cases.fastq([("r", LETTERS)]))
    assert command("index", "-q", "r.fa").code == 0
    for output in ("out.sam", "out.bam"):
        assert command("search", "-q", "r.fq", "-o", output).code == 0
        read = [peer("samtools"), "view", folder / output]
        done = subprocess.run(read, capture_output=True, text=True, check=True)
        assert [line.split("\t")[2] for line in done.stdout.splitlines()] == [name]


@pytest.mark.parametrize(
    "name", ["*", "*a", "=a", *"\\,\"'`()[]{}<>", "a,b", "chr1(x)", "a\x0bb", "a\x7f", "ä"]
)
def test_contig_names_outside_the_specification_are_refused(name, folder, command):
    (folder / "r.fa").write_text(f">ok\n{LETTERS}\n>{name} words\n{LETTERS}\n", newline="")
    result = command("index", "-q", "r.fa")
    assert result.code == 1
    (line,) = result.err.splitlines()
    assert "r.fa: contig number 2: its name " in line
    assert not name.isprintable() or f"its name {name} " in line
    assert "SAM" in line
    assert "rename it" in line


def test_a_sequence_that_a_cigar_cannot_hold_is_refused_as_long_names_are():
    (chunk,) = spans.read_chunks([cases.fasta([("a", "ACGT"), ("b", "ACGT")])])
    batch = reads.parse(chunk)
    reads.check_sam(chunk, batch._replace(length=np.array([4, 2**28 - 1])))
    with pytest.raises(InputError, match="record 2: its sequence is longer than 268435455 bases, the limit"):
        reads.check_sam(chunk, batch._replace(length=np.array([4, 2**28])))
