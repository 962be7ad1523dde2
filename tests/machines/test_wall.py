"""The wall time of a command: one number, from its start, and its parts."""

import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import cases
import pytest
from texts import numbered, random_letters

from fmx.compiler import object_cache
from fmx.machines.progress import Wall
from fmx.system import started

UNIT = random_letters(3000, "wall")


@pytest.fixture
def now(monkeypatch):
    """A list of one number, which the clock shows."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_what_time_is_spent_on_adds_up_to_all_of_it(now):
    wall = Wall(98.0)
    with wall.spending("opening"):
        now[0] += 0.5
    now[0] += 0.25
    with object_cache.compiling():
        now[0] += 4
    with wall.spending("mapping"):
        now[0] += 1
        sink = wall.written(io.BytesIO())
        sink.write(b"x")
    now[0] += 0.04
    assert wall.over() == pytest.approx(7.79)
    now[0] += 60
    assert wall.over() == pytest.approx(7.79)  # what came after it is told of is not of the run
    assert dict(wall.spent) == pytest.approx(
        {"starting": 2.29, "opening": 0.5, "compiling": 4, "mapping": 1, "writing": 0}
    )
    assert wall.in_words() == "7.8 s (2.3 starting, 0.5 opening the index, 4.0 compiling, 1.0 mapping)"
    assert wall.rate(3790, "reads") == "1,000 reads/s without compiling"


def test_one_that_was_spent_on_one_thing_has_no_parts(now):
    wall = Wall(99.0)
    assert (wall.in_words(), wall.rate(7, "reads")) == ("1.0 s", "7 reads/s")


def test_a_write_is_no_part_of_what_else_is_done(now, monkeypatch):
    class Slow(io.BytesIO):
        def write(self, piece):
            now[0] += 3

    wall = Wall(now[0])
    with wall.spending("mapping"):
        wall.written(Slow()).write(b"x")
        now[0] += 1
    wall.over()
    assert (wall.spent["mapping"], wall.spent["writing"]) == (1, 3)


def test_a_command_began_when_it_was_given(now):
    started.set(now[0] - 7)
    try:
        assert Wall().over() == 7
        assert Wall(now[0]).over() == 0
    finally:
        started.set(None)


@pytest.mark.parametrize(
    ("command", "stage", "unit"),
    [("search", "mapping", "reads"), ("mem", "matching", "bases")],
)
def test_the_terminal_and_the_report_tell_the_same_time_of_the_whole_command(command, stage, unit, folder):
    """That of a process, from its start on; no more than what was measured around it."""
    cases.build(folder / "ref.fmx", numbered([UNIT]))
    records = [(f"r{i}", UNIT[i : i + 50]) for i in range(2000)]
    (folder / "reads.fq").write_bytes(cases.fastq(records))
    given = [command, "-x", "ref.fmx", "reads.fq", "-o", "o.txt"]
    given += ["--format", "tsv", "--report", "run.json", "--report", "run.html"]
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "fmx", *given], capture_output=True, text=True, check=True)
    elapsed = time.monotonic() - start
    facts = json.loads(Path("run.json").read_text())
    seconds = facts["seconds"]
    wall, parts = seconds["wall"], [n for name, n in seconds.items() if name != "wall"]
    assert 0 < seconds["starting"] < wall <= elapsed
    assert sum(parts) == pytest.approx(wall, abs=0.01)
    assert {"starting", "opening", stage, "writing"} <= seconds.keys()
    (line,) = [line for line in done.stderr.splitlines() if f" {unit}/s" in line]
    assert float(re.search(r"; ([0-9.]+) s[, ]", line)[1]) == pytest.approx(wall, abs=0.051)
    rate = int(re.search(rf"([0-9,]+) {unit}/s", line)[1].replace(",", ""))
    assert rate == pytest.approx(facts["rates"][f"{unit}_per_second"], rel=0.01)
    assert f"{wall:,.1f} s" in Path("run.html").read_text()
