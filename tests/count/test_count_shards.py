"""Shards of a count: what fmx merge adds up is what a run without shards writes."""

import gzip
import random

import pytest
from output_of import bgzf
from texts import random_letters

OUTPUTS = ["--stats", "s.tsv", "--json", "s.json", "--report", "r.html"]


@pytest.fixture
def screen(folder):
    """A library, and two samples: a plain file with one of BGZF, and a gzip file."""
    library = [random_letters(20, i) for i in range(30)]
    (folder / "l.csv").write_text("".join(f"g{i},{x},G{i // 3}\n" for i, x in enumerate(library)))
    rng = random.Random(5)

    def reads(n, seed):
        letters = ((i % 2 * "T") + rng.choice(library)[: 20 - i % 9 // 8] + "GTTTTA" for i in range(n))
        return "".join(f"@{seed}{i}\n{x}\n+\n{len(x) * 'I'}\n" for i, x in enumerate(letters)).encode()

    (folder / "a.fq").write_bytes(reads(300, "a"))
    (folder / "b.fq.gz").write_bytes(bgzf(reads(400, "b")))
    (folder / "c.fq.gz").write_bytes(gzip.compress(reads(200, "c")))
    return ["-l", "l.csv", "a.fq,b.fq.gz", "c.fq.gz", "--names", "one,two", "--mismatches", "1"]


@pytest.mark.parametrize("n", [1, 3, 7])
def test_shards_add_up_to_the_run(n, screen, folder, command):
    whole = command("count", *screen, "-o", "whole.tsv", *OUTPUTS)
    assert whole.code == 0, whole.err
    expected = {name: (folder / name).read_bytes() for name in ("whole.tsv", "s.tsv", "r.html")}
    for i in range(n, 0, -1):
        done = command("count", *screen, "--shard", f"{i}/{n}", "-o", "out.d", "-t", 1 + i % 2)
        assert done.code == 0, done.err
    assert "is there already" in command("count", *screen, "--shard", f"1/{n}", "-o", "out.d").err
    done = command("merge", "out.d", "-o", "merged.tsv", *OUTPUTS)
    assert done.code == 0, done.err
    assert (folder / "merged.tsv").read_bytes() == expected["whole.tsv"]
    assert (folder / "s.tsv").read_bytes() == expected["s.tsv"]
    if n == 1:  # of many shards, only those that begin with a file know which of its reads are the first
        assert (folder / "r.html").read_bytes() == expected["r.html"]
    told = [line for line in whole.err.splitlines() if line.startswith(("fmx: one", "fmx: two"))]
    assert [line for line in done.err.splitlines() if "reads:" in line] == told
    assert "900 reads" in done.err


def test_shards_of_another_run_are_refused(screen, folder, command):
    assert command("count", *screen, "--shard", "1/2", "-o", "out.d").code == 0
    other = command("count", *screen[:-1], "0", "--shard", "2/2", "-o", "out.d")
    assert other.code == 0
    done = command("merge", "out.d", "-o", "merged.tsv")
    assert (done.code, (folder / "merged.tsv").exists()) == (1, False)
    assert "options: counting: mismatches" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["c.fq.gz", "--shard", "1/2", "-o", "d", "--stats", "x.tsv"], 2, "give them to fmx merge"),
        (["c.fq.gz", "--shard", "1/2"], 2, "--shard needs -o FOLDER"),
        (["c.fq.gz,c.fq.gz", "--shard", "1/2", "-o", "d"], 1, "c.fq.gz: is given twice"),
        (["-", "--shard", "1/2", "-o", "d"], 1, "cannot be cut into shards"),
        (["-1", "a.fq", "-2", "c.fq.gz", "--shard", "1/2", "-o", "d"], 1, "mates cannot be cut into shards"),
    ],
)
def test_errors_are_one_line(arguments, code, said, screen, command):
    done = command("count", "-l", "l.csv", *arguments)
    assert (done.code, done.out) == (code, b"")
    assert said in done.err


def test_what_only_other_shards_have_is_refused(screen, command):
    assert command("count", *screen, "--shard", "1/1", "-o", "out.d").code == 0
    done = command("merge", "out.d", "-o", "x.tsv", "--counts", "y.tsv")
    assert (done.code, "--counts is for shards of fmx search" in done.err) == (2, True)
    done = command("merge", "out.d", "-o", "x.sam")
    assert (done.code, "the output is TSV, not .sam" in done.err) == (2, True)
