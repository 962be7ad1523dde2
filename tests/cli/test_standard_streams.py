"""Standard input, output and error that are closed, full or a terminal."""

import itertools
import shutil
import subprocess

import cases
import pytest
from cover import covered
from runs import MAIN, on_terminal
from texts import numbered, random_letters

GENOME = numbered([random_letters(700, "g1")])
READS = cases.fastq([(f"r{i}", GENOME[0][1][7 * i : 7 * i + 30]) for i in range(50)])
ANSWERS = {  # commands that answer on standard output
    "search": "search r.fq",
    "locate": "locate -p ACG",
    "mem": "mem r.fq",
    "pairwise": "pairwise -q r.fa",
    "inspect": "inspect",
    "help": "--help",
    "help of a command": "search --help",
    "version": "--version",
}
FILES = {  # commands that write a file: its name
    "search r.fq -o out": "out",
    "search r.fq -o out.bam": "out.bam",
    "search r.fq -o out --counts tally": "tally",
    "locate -p ACG -o out": "out",
    "mem r.fq -o out": "out",
    "pairwise r.fa -o out": "out",
    "index ref.fa -o new.fmx": "new.fmx/sa_positions.npy",
}
WRONG = ["--nope", "search --nope", "search no.fq -o out", "inspect no.fmx", "search -k 0 r.fq"]


@pytest.fixture
def home(folder, index_of):
    """A folder that holds ref.fmx, ref.fa and reads."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    (folder / "ref.fa").write_bytes(cases.fasta(GENOME))
    (folder / "r.fq").write_bytes(READS)
    (folder / "r.fa").write_bytes(
        b"".join(b">%d\n%s\n" % (i, READS.split(b"\n")[4 * i + 1]) for i in range(4))
    )
    return folder


def sh(arguments, redirect, **options):
    """(exit code, stdout, stderr) of a command line with redirections of the shell."""
    done = subprocess.run(
        f"{' '.join(MAIN)} {arguments} {redirect}", shell=True, capture_output=True, check=False, **options
    )
    return done.returncode, done.stdout, done.stderr.decode()


def lines(out) -> list:
    """All but the line that tells how much memory is free."""
    return [line for line in out.splitlines() if b" is free" not in line]


@pytest.mark.parametrize(
    ("what", "redirect"), covered(itertools.product(ANSWERS, ["<&- 2>&-", "2>/dev/full"]), set)
)
def test_answers_do_not_need_standard_input_or_error(what, redirect, home, command):
    usual, (code, out, err) = command(*ANSWERS[what].split()), sh(ANSWERS[what], redirect)
    assert (usual.code, code) == (0, 0)
    assert lines(out) == lines(usual.out)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("what", "redirect"), covered(itertools.product(ANSWERS, ["<&- >&-", ">/dev/full"]), set)
)
def test_an_answer_that_cannot_be_written_is_an_error(what, redirect, home):
    code, out, err = sh(ANSWERS[what], redirect)
    assert (code, out) == (1, b"")
    (line,) = [line for line in err.splitlines() if "compiling" not in line]
    assert line.startswith("fmx: error: standard output: cannot write: ")
    assert "No space left" in line if "full" in redirect else "Bad file descriptor" in line
    assert sh(ANSWERS[what], f"{redirect} 2>&-")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "redirect"),
    covered(itertools.product(FILES, [">&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"]), set),
)
def test_no_words_get_into_a_file_whose_descriptor_was_free(arguments, redirect, home, command):
    path = home / FILES[arguments]
    assert command(*arguments.split()).code == 0
    usual = path.read_bytes()
    shutil.rmtree(path.parent) if path.suffix == ".npy" else path.unlink()
    code, out, err = sh(arguments, redirect)
    assert (code, out) == (0, b""), err
    assert "Traceback" not in err
    assert path.read_bytes() == usual


@pytest.mark.parametrize("arguments", WRONG)
def test_an_error_keeps_its_code_where_it_cannot_be_told(arguments, home, command):
    told = command(*arguments.split())
    assert told.code in (1, 2)
    assert told.err
    for redirect in ("2>/dev/full", "<&- >&- 2>&-"):
        assert sh(arguments, redirect) == (told.code, b"", ""), redirect


def test_input_from_nowhere(home):
    for arguments in ("search -", "locate -", "mem -", "pairwise -", "index - -o new.fmx"):
        code, out, err = sh(arguments, "-q <&-")
        assert code == 1
        assert [line for line in out.splitlines() if not line.startswith((b"@", b"pattern", b"name"))] == []
        (line,) = err.splitlines()
        assert line == "fmx: error: standard input: Bad file descriptor"


# A terminal: control characters in paths and names are escaped, and binary output is refused.

ODD = "a\x1b[31m\n\r\x07\x9b2J\u202e\u200b\udcff.fq"
CLEAR = "\r\x1b[K"  # ours, before a message that takes the place of progress
SEEN = r"a\x1b[31m\n\r\x07\x9b2J\u202e\u200b\xff.fq"


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
    returned, said = on_terminal(*arguments)
    assert returned == code
    said = said.replace(CLEAR, "\n")
    assert said.replace("\n", "").isprintable(), said
    if arguments[0] != "--debug":
        assert r"\x1b[31m\n\r\x07\x9b2J\u202e\u200b" in said


def test_progress_and_answers_are_escaped_but_for_our_own_clearing(folder):
    (folder / ODD).write_bytes(b">a\nACGTACGGTACGTTACGATCGATCGCATCG\n")
    index = f"{ODD}.fmx"
    assert on_terminal("index", ODD, "-o", index)[0] == 0
    (folder / "empty.fq").touch()
    for arguments in (["index", ODD, "-o", index], ["inspect", index], ["search", "-x", index, "empty.fq"]):
        code, said = on_terminal(*arguments)
        assert code == 0, said
        said = said.replace(CLEAR, "\n")
        assert said.replace("\n", "").replace("\t", "").isprintable(), said
        assert SEEN in said


BINARY = [
    ("search -x ref.fmx r.fq --format bam", "BAM"),
    ("search -x ref.fmx r.fq --format bam -o /dev/stdout", "BAM"),
    ("search -x ref.fmx r.fq --format cram", "CRAM"),
    ("locate -x ref.fmx -p ACGT --format parquet", "Parquet"),
    ("merge bam.d", "BAM"),
]


@pytest.fixture
def shards(folder, command):
    """An index, reads, a library, and the one shard of a search for BAM."""
    (folder / "ref.fa").write_bytes(b">a\nACGTACGGTACGTTACGATCGATCGCATCG\n")
    (folder / "r.fq").write_bytes(b"@r\nACGTACGG\n+\nIIIIIIII\n")
    (folder / "g.csv").write_text("id,sequence,gene\ng1,ACGTACGG,A\n")
    shard = "search -q -x ref.fmx r.fq --format bam --shard 1/1 -o bam.d"
    assert [command(*arguments.split()).code for arguments in ("index -q ref.fa", shard)] == [0, 0]


@pytest.mark.parametrize(("arguments", "kind"), BINARY)
def test_what_is_no_text_is_not_written_to_a_terminal(arguments, kind, shards, command):
    code, said = on_terminal(*arguments.split())
    assert code == 2
    assert said.endswith(f"rror: {kind} is binary and not written to a terminal: use -o FILE or a pipe\n")
    assert said.isascii()
    assert command(*arguments.split(), "-q").out[:4] in (b"\x1f\x8b\x08\x04", b"CRAM", b"PAR1")
