"""Standard input, output and error that are closed or full: the work is done, or one line and exit 1."""

import itertools
import shutil
import subprocess
import sys

import cases
import pytest
from cover import covered
from texts import numbered, random_letters

GENOME = numbered([random_letters(700, "g1")])
READS = cases.fastq([(f"r{i}", GENOME[0][1][7 * i : 7 * i + 30]) for i in range(50)])
FMX = f"{sys.executable} -m fmx"
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
        f"{FMX} {arguments} {redirect}", shell=True, capture_output=True, check=False, **options
    )
    return done.returncode, done.stdout, done.stderr.decode()


def lines(out) -> list:
    """All but the line that tells how much memory is free."""
    return [line for line in out.splitlines() if b" is free" not in line]


@pytest.mark.parametrize(
    ("what", "redirect"), covered(itertools.product(ANSWERS, ["<&- 2>&-", "2>/dev/full"]), set)
)
def test_answers_do_not_need_standard_input_or_error(what, redirect, home):
    usual, (code, out, err) = sh(ANSWERS[what], ""), sh(ANSWERS[what], redirect)
    assert (usual[0], code) == (0, 0)
    assert lines(out) == lines(usual[1])
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
def test_no_words_get_into_a_file_whose_descriptor_was_free(arguments, redirect, home):
    path = home / FILES[arguments]
    assert sh(arguments, "")[0] == 0
    usual = path.read_bytes()
    shutil.rmtree(path.parent) if path.suffix == ".npy" else path.unlink()
    code, out, err = sh(arguments, redirect)
    assert (code, out) == (0, b""), err
    assert "Traceback" not in err
    assert path.read_bytes() == usual


@pytest.mark.parametrize("arguments", WRONG)
def test_an_error_keeps_its_code_where_it_cannot_be_told(arguments, home):
    code, _, err = sh(arguments, "")
    assert code in (1, 2)
    assert err
    for redirect in ("2>/dev/full", "<&- >&- 2>&-"):
        assert sh(arguments, redirect) == (code, b"", ""), redirect


def test_input_from_nowhere(home):
    for arguments in ("search -", "locate -", "mem -", "pairwise -", "index - -o new.fmx"):
        code, out, err = sh(arguments, "-q <&-")
        assert code == 1
        assert [line for line in out.splitlines() if not line.startswith((b"@", b"pattern", b"name"))] == []
        (line,) = err.splitlines()
        assert line == "fmx: error: standard input: Bad file descriptor"
