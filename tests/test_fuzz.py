"""The fuzzer (tests/fuzz): its first cases find nothing, and what it looks for it would see."""

import os
import random
import signal
from dataclasses import replace

import pytest
from cover import nightly
from fuzz.kinds import reads
from fuzz.runner import Runner
from fuzz.session import Session

FEW = {
    "reads": 80, "reference": 12, "packed": 25, "damaged": 35, "arguments": 30, "pairs": 10, "shards": 15,
    "offtargets": 6, "alignments": 8, "collapse": 6,
}  # fmt: skip
MANY = {kind: 6 * n for kind, n in FEW.items()}


@pytest.mark.parametrize("cases", [FEW, nightly(MANY)], ids=["few", "many"])
def test_the_first_cases_find_nothing(cases, tmp_path):
    with Session(tmp_path) as session:
        session.run_first(cases, seed=1)
        assert not session.found, session.report()
    for kind in cases.keys() - {"offtargets", "collapse"}:
        assert all(session.counts[kind, code] for code in (0, 1)), session.report()


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with Session(tmp_path_factory.mktemp("fuzz")) as made:
        yield made


def answered(session) -> tuple:
    """A case of a search of standard output whose reads are whole, and its outcome."""
    for number in range(1000):
        found = replace(reads.make(random.Random(number), session.world), kind="reads", name="x")
        if found.commands[0][0] == "search" and "-o" not in found.commands[0] and not found.chunk_size:
            complaints, (outcome,) = session.play(found)
            if outcome.code == 0 and outcome.out.count(b"\tNH:i:") > 3:
                assert complaints == []
                return found, outcome
    raise AssertionError


def test_a_lost_read_and_a_moved_hit_are_seen(session):
    found, outcome = answered(session)
    lines = outcome.out.split(b"\n")
    assert reads.check(found, [outcome], session.folder) == []
    (complaint,) = reads.check(found, [replace(outcome, out=b"\n".join([*lines[:-2], b""]))], session.folder)
    assert "wrong output" in complaint
    moved = [line.replace(b"NH:i:1\t", b"NH:i:2\t").replace(b"NH:i:0", b"NH:i:1") for line in lines]
    (complaint,) = reads.check(found, [replace(outcome, out=b"\n".join(moved))], session.folder)
    assert "wrong output" in complaint


def test_a_crash_and_a_hang_are_seen(tmp_path):
    with Runner(tmp_path / "a") as runner:
        assert runner.run(tmp_path, ["--version"]).code == 0
        os.kill(runner.child.pid, signal.SIGSEGV)
        runner.child.join()
        assert runner.run(tmp_path, ["--version"]).broken.startswith("crash: SIGSEGV")
        assert runner.run(tmp_path, ["--version"]).code == 0
    with Runner(tmp_path / "b", limit=0) as runner:
        assert runner.run(tmp_path, ["--version"]).broken.startswith("hang")
