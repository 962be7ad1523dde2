"""One rule for names: what SAM can hold is written as it is in every format, anything else is refused."""

import re
import subprocess
from pathlib import Path

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
FORMATS = {  # column of the name in what is written
    "search -o out.sam": 0, "search -o out.bam": 0, "locate -o out --format tsv": 0,
    "locate -o out --format bed": 3, "locate -o out --format sam": 0, "mem -o out --format mummer": 1,
    "mem -o out --format paf": 0, "mem -o out --format bed": 3, "mem -o out --format tsv": 0,
    "mem -o out --format sam": 0, "pairwise -o out": 1, "pairwise -o out --format paf": 5,
    "pairwise -o out --matrix score": 0,
}  # fmt: skip


def runs_of(command, index, kind="FASTA"):
    """Yield (arguments, result, output) of every command that reads FASTA or FASTQ."""
    for arguments in FORMATS:
        if kind == "FASTA" or "pairwise" not in arguments:
            where = [] if "pairwise" in arguments else ["-x", index]
            yield arguments, command(*arguments.split(), "-q", *where, "in"), Path(arguments.split()[2])


def text_of(output, peer) -> str:
    """The text of an output; BAM and SAM are read by samtools."""
    if output.read_bytes()[:3] not in (b"@HD", b"\x1f\x8b\x08"):
        return output.read_text()
    done = subprocess.run([peer("samtools"), "view", output], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("kind", ["FASTA", "FASTQ"])
def test_a_name_that_sam_cannot_hold_is_refused_by_every_command(kind, folder, index_of, command):
    letters, records = LETTERS.encode(), {"FASTA": b">%s\n%s\n", "FASTQ": b"@%s\n%s\n+\n" + b"I" * 50 + b"\n"}
    first, what = records[kind] % (b"a", letters) * 3, "{}: record 4: its name .*rename it"
    for name, shown in BAD.items():
        data = first + records[kind] % (name, letters) + records[kind] % (b"a", letters)
        with pytest.raises(InputError, match=what.format("given sequences")) as error:
            reads.parse(*spans.read_chunks([data]))
        assert shown in str(error.value)
    (folder / "in").write_bytes(data)
    for arguments, result, output in runs_of(command, index_of(GENOME), kind):
        assert result.code == 1, arguments
        assert re.fullmatch(f"fmx: error: {what.format('in')}.*\n", result.err), arguments
        assert not output.exists()


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
    for arguments, result, output in runs_of(command, index_of(GENOME), kind):
        assert (result.code, result.err) == (0, ""), arguments
        lines = text_of(output, peer).splitlines()["matrix" in arguments :]
        lines = [line for line in lines if not line.startswith(("pattern\t", "query\t", " "))]
        found = [GOOD[0]] * ("pairwise" in arguments)  # which is no target
        found += [re.split("[\t ]", line)[FORMATS[arguments]] for line in lines]
        assert list(dict.fromkeys(found)) == GOOD, arguments


def test_a_name_over_254_is_refused_for_sam_and_bam_only(folder, index_of, command):
    names = ["short", "n" * 254, "m" * 255, "o" * 3000]
    (folder / "in").write_bytes(cases.fasta([(name, LETTERS) for name in names]))
    for arguments, result, output in runs_of(command, index_of(GENOME)):
        if arguments.endswith(("sam", "bam")):
            what = "its name is longer than 254 characters, the limit of SAM and BAM"
            assert (result.code, f"in: record 3: {what}" in result.err, output.exists()) == (1, True, False)
        else:
            assert (result.code, result.err) == (0, "")
            assert all(name in output.read_text() for name in names)
            output.unlink()


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


def test_contig_names_of_the_specification(folder, command, peer):
    names = [*RNAME, "x" + RNAME + "*=", "HLA:HLA00001", "gi|9626243|ref", "c" * 300]
    contigs = [(name, random_letters(50, f"contig {name}")) for name in names]
    (folder / "r.fa").write_text("".join(f">{name} words\r\n{letters}\r\n" for name, letters in contigs))
    (folder / "r.fq").write_bytes(cases.fastq([("r", letters) for _, letters in contigs]))
    assert command("index", "-q", "r.fa").code == 0
    for output in ("out.sam", "out.bam"):
        assert command("search", "-q", "r.fq", "-o", output).code == 0
        lines = text_of(folder / output, peer).splitlines()
        assert [line.split("\t")[2] for line in lines] == names


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
