"""Progress: a line that fits any terminal, a line a minute elsewhere, true shares; the wall time."""

import bz2
import gzip
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import cases
import pytest
from output_of import bgzf
from runs import on_terminal
from texts import numbered, random_letters

from fmx.compiler import object_cache
from fmx.index import fasta
from fmx.input import ALL, InputShare, spans
from fmx.machines.progress import Progress, TimedFile, Wall, meter
from fmx.system import started

READS = cases.fastq([(f"r{i}", "ACGT" * 9) for i in range(500)])
GENOME = numbered([random_letters(300, "progress")])
UNIT = random_letters(3000, "wall")


def test_a_line_says_how_much_is_done_and_left():
    assert meter("7 reads", 0.25, 60, None) == " 25% in 0:01:00, 0:03:00 left: 7 reads"
    assert meter("7 reads", None, 3700, 80) == "1:01:40: 7 reads"
    assert meter("7 reads", 0, 5, 80) == "  0% in 0:00:05, ? left: 7 reads"


@pytest.mark.parametrize("share", [None, 0, 0.5, 1])
def test_a_line_is_no_wider_than_the_terminal(share):
    for columns in (1, 2, 9, 30, 63, 64, 79, 200):
        assert len(meter("1,234,567,890 reads, 1,234,567 reads/s", share, 7000, columns)) <= columns


FORMS = {"plain": lambda data: data, "gzip": gzip.compress, "BGZF": lambda data: bgzf(data, 3000)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wanted", [ALL, range(10**6)])
def test_the_share_of_what_was_read_grows_to_all_of_it(form, wanted, folder):
    (folder / "a").write_bytes(FORMS[form](READS))
    (folder / "b").write_bytes(READS)
    paths = ["a", "b", "b"]
    share, seen = InputShare(paths), []
    assert share() is None
    for span in spans.plan(paths, 7000, records=wanted, share=share):
        span.read()
        seen.append(share())
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert 0.1 < seen[len(seen) // 2] < 0.9


def test_no_share_is_known_of_a_pipe(folder):
    os.mkfifo("pipe")
    assert [InputShare(files)() for files in (["pipe"], ["-"], [READS], [])] == [None] * 4


def test_elsewhere_a_line_a_minute(capsys):
    now = 1000.0
    said = Progress(now=lambda: now)
    said.follow(lambda: (now - 1000) / 240)
    for _ in range(240):
        now += 1
        said.show(f"{now - 1000:.0f} reads")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "fmx: 25% in 0:01:01, 0:02:59 left: 61 reads"
    assert len(lines) == 3
    Progress(quiet=True).show("nothing")
    assert capsys.readouterr().err == ""


def test_a_stage_goes_on_while_nobody_tells_anything(capsys):
    lines = []

    def fail():
        with Progress(often=0.01, seldom=0.0).stage("layout"):
            while len(lines) <= 3:
                time.sleep(0.01)
                lines.extend(capsys.readouterr().err.splitlines())
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    assert {line for line in lines if "layout" not in line} == set()


def test_a_reference_that_is_read_tells_its_share(folder):
    text = cases.fasta([("a", random_letters(30_000, "share")), ("b", "ACGT" * 10)])
    (folder / "a.fa.gz").write_bytes(gzip.compress(text))
    (folder / "b.fa").write_bytes(text.replace(b">", b">b"))
    (folder / "c.fa.bz2").write_bytes(bz2.compress(text.replace(b">", b">c")))
    told = []
    fasta.read_fasta(["a.fa.gz", "b.fa", "c.fa.bz2"], done=told.append)
    assert told == sorted(told)
    assert (len(told) > 5, 0 < told[0] < 0.5, told[-1]) == (True, True, 1)
    told.clear()
    fasta.read_fasta(text, done=told.append)
    assert set(told) == {None}


def test_a_terminal_shows_it(folder, index_of):
    (folder / "r.fq").write_bytes(READS)
    with open("out", "wb") as out:
        code, said = on_terminal("search", "-x", index_of(GENOME), "r.fq", stdout=out)
    assert code == 0
    lines = said.split("\r\x1b[K")
    assert len(next(line for line in lines if line.startswith("100% in "))) < 70
    assert any(line.startswith("fmx: 500 reads") for line in lines)


# The wall time of a command: one number, from its start, and its parts


@pytest.fixture
def now(monkeypatch):
    """A list of one number, which the clock shows."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_what_time_is_spent_on_adds_up_to_all_of_it(now):
    class Slow(io.BytesIO):
        def write(self, piece):
            now[0] += 0.02

    wall = Wall(98.0)
    with wall.spending("opening"):
        now[0] += 0.5
    now[0] += 0.25
    now[0] += 4
    object_cache._seconds[0] += 4
    with wall.spending("mapping"):
        now[0] += 1
        TimedFile(Slow(), wall).write(b"x")
    now[0] += 0.04
    assert wall.over() == pytest.approx(7.81)
    now[0] += 60
    assert wall.over() == pytest.approx(7.81)  # what came after it is told of is not of the run
    assert dict(wall.spent) == pytest.approx(
        {"starting": 2.29, "opening": 0.5, "compiling": 4, "mapping": 1, "writing": 0.02}
    )
    assert wall.in_words() == "7.8 s (2.3 starting, 0.5 opening the index, 4.0 compiling, 1.0 mapping)"
    assert wall.rate(3810, "reads") == "1,000 reads/s without compiling"


def test_a_command_began_when_it_was_given(now):
    wall = Wall(99.0)
    assert (wall.in_words(), wall.rate(7, "reads")) == ("1.0 s", "7 reads/s")
    started.set(now[0] - 7)
    try:
        assert Wall().over() == 7
        assert Wall(now[0]).over() == 0
    finally:
        started.set(None)


def test_the_terminal_and_the_report_tell_the_same_time_of_the_whole_command(folder):
    """That of a process, from its start on; no more than what was measured around it."""
    cases.build(folder / "ref.fmx", numbered([UNIT]))
    records = [(f"r{i}", UNIT[i : i + 50]) for i in range(2000)]
    (folder / "reads.fq").write_bytes(cases.fastq(records))
    given = ["search", "-x", "ref.fmx", "reads.fq", "-o", "o.txt"]
    given += ["--format", "tsv", "--report", "run.json", "--report", "run.html"]
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "fmx", *given], capture_output=True, text=True, check=True)
    elapsed = time.monotonic() - start
    facts = json.loads(Path("run.json").read_text())
    seconds = facts["seconds"]
    wall, parts = seconds["wall"], [n for name, n in seconds.items() if name != "wall"]
    assert 0 < seconds["starting"] < wall <= elapsed
    assert sum(parts) == pytest.approx(wall, abs=0.01)
    assert {"starting", "opening", "mapping", "writing"} <= seconds.keys()
    (line,) = [line for line in done.stderr.splitlines() if " reads/s" in line]
    assert float(re.search(r"; ([0-9.]+) s[, ]", line)[1]) == pytest.approx(wall, abs=0.051)
    rate = int(re.search(r"([0-9,]+) reads/s", line)[1].replace(",", ""))
    assert rate == pytest.approx(facts["rates"]["reads_per_second"], rel=0.01)
    assert f"{wall:,.1f} s" in Path("run.html").read_text()
