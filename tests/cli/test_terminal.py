"""Control characters in paths and names are escaped before they reach the terminal."""

import os
import pty
import subprocess
import sys

import pytest

from fmx.errors import n_of, shown

MAIN = [sys.executable, "-m", "fmx"]
ODD = "a\x1b[31m\n\r\x07\x9b2J\u202e\u200b\udcff.fq"
CLEAR = "\r\x1b[K"  # ours, before a message that takes the place of progress
SEEN = r"a\x1b[31m\n\r\x07\x9b2J\u202e\u200b\xff.fq"


def test_what_cannot_be_seen_is_escaped():
    assert shown(ODD) == SEEN
    assert shown("plain, é and 日本.fq") == "plain, é and 日本.fq"
    assert shown("\ud800\u2028\x00\U000e0041") == r"\ud800\u2028\x00\U000e0041"


def test_one_thing_is_no_plural():
    told = [n_of(n, "read") for n in (0, 1, 2, 1500)]
    assert told == ["0 reads", "1 read", "2 reads", "1,500 reads"]
    assert [n_of(n, "query", "queries") for n in (1, 2)] == ["1 query", "2 queries"]


def lines_of(*arguments, **options):
    """Exit code and what a terminal is sent of a command whose stdout and stderr are that terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*MAIN, *arguments], stdout=theirs, stderr=theirs, **options) as process:
        os.close(theirs)
        said = b""
        while block := _read(ours):
            said += block
    os.close(ours)
    return process.returncode, said.replace(b"\r\n", b"\n").decode()


def _read(terminal) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["search", "-x", ODD, "r.fq"], 1),
        (["inspect", ODD], 1),
        (["pairwise", ODD], 1),
        (["index", ODD], 1),
        ([ODD], 2),
        (["search", f"--{ODD}"], 2),
        (["search", "-k", ODD, "r.fq"], 2),
        (["--debug", "inspect", ODD], 1),
    ],
)
def test_odd_arguments_reach_the_terminal_escaped(arguments, code, folder):
    (folder / "r.fq").write_bytes(b"@r\nACGT\n+\nIIII\n")
    returned, said = lines_of(*arguments)
    assert returned == code
    said = said.replace(CLEAR, "\n")
    assert said.replace("\n", "").isprintable(), said
    if arguments[0] != "--debug":
        assert r"\x1b[31m\n\r\x07\x9b2J\u202e\u200b" in said


def test_progress_and_answers_are_escaped_but_for_our_own_clearing(folder):
    (folder / ODD).write_bytes(b">a\nACGTACGGTACGTTACGATCGATCGCATCG\n")
    index = f"{ODD}.fmx"
    assert lines_of("index", ODD, "-o", index)[0] == 0
    (folder / "empty.fq").touch()
    for arguments in (["index", ODD, "-o", index], ["inspect", index], ["search", "-x", index, "empty.fq"]):
        code, said = lines_of(*arguments)
        assert code == 0, said
        said = said.replace(CLEAR, "\n")
        assert said.replace("\n", "").replace("\t", "").isprintable(), said
        assert SEEN in said


BINARY = [
    ("search -x ref.fmx r.fq --format bam", "BAM"),
    ("search -x ref.fmx r.fq --format bam -o /dev/stdout", "BAM"),
    ("search -x ref.fmx r.fq --format cram", "CRAM"),
    ("locate -x ref.fmx -p ACGT --format parquet", "Parquet"),
    ("count -l g.csv r.fq --format parquet", "Parquet"),
    ("merge bam.d", "BAM"),
]


@pytest.fixture
def shards(folder):
    """An index, reads, a library, and the one shard of a search for BAM."""
    (folder / "ref.fa").write_bytes(b">a\nACGTACGGTACGTTACGATCGATCGCATCG\n")
    (folder / "r.fq").write_bytes(b"@r\nACGTACGG\n+\nIIIIIIII\n")
    (folder / "g.csv").write_text("id,sequence,gene\ng1,ACGTACGG,A\n")
    shard = "search -q -x ref.fmx r.fq --format bam --shard 1/1 -o bam.d"
    for arguments in ("index -q ref.fa", shard):
        subprocess.run([*MAIN, *arguments.split()], check=True)


@pytest.mark.parametrize(("arguments", "kind"), BINARY)
def test_what_is_no_text_is_not_written_to_a_terminal(arguments, kind, shards):
    code, said = lines_of(*arguments.split())
    assert code == 2
    assert said.endswith(f"rror: {kind} is binary and not written to a terminal: use -o FILE or a pipe\n")
    assert said.isascii()
    done = subprocess.run([*MAIN, *arguments.split(), "-q"], capture_output=True, check=True)
    assert done.stdout[:4] in (b"\x1f\x8b\x08\x04", b"CRAM", b"PAR1")


def test_text_is_written_to_a_terminal(shards):
    for arguments in ("search -q -x ref.fmx r.fq", "locate -q -x ref.fmx -p ACGT -o /dev/stdout"):
        code, said = lines_of(*arguments.split())
        assert (code, "ACGT" in said) == (0, True)
