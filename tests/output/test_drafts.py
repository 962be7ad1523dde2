"""Drafts: beside the final place, locked while their owner lives, swept when it is dead."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from fmx import system
from fmx.system import DraftFile, DraftFolder

OWNER = """
import sys, time
from fmx.system import DraftFile, DraftFolder
with (DraftFolder if sys.argv[2] == "folder" else DraftFile)(sys.argv[1]) as draft:
    print(draft.path, flush=True)
    time.sleep(600)
"""


def hidden(folder) -> list:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


@pytest.fixture
def owner():
    """owner(path, kind) -> a process that holds a draft of that path."""
    started = []

    def start(path, kind):
        process = subprocess.Popen([sys.executable, "-c", OWNER, path, kind], stdout=subprocess.PIPE)
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def make(draft, text="new"):
    """Write a draft in full; gives what its final place holds."""
    if isinstance(draft, DraftFile):
        draft.file.write(text.encode())
        draft.complete()
        draft.commit()
        return draft.final.read_text()
    (draft.path / "part0").mkdir()
    (draft.path / "part0" / "a").write_text(text)
    draft.commit()
    return (draft.final / "part0" / "a").read_text()


KINDS = pytest.mark.parametrize("kind", ["file", "folder"])
MAKERS = {"file": DraftFile, "folder": DraftFolder}


@KINDS
def test_the_draft_of_a_killed_owner_is_swept_and_that_of_a_living_one_is_not(tmp_path, owner, kind):
    dead, alive = owner(tmp_path / "x", kind), owner(tmp_path / "x", kind)
    assert len(hidden(tmp_path)) == 2
    dead.kill()
    dead.wait()
    with MAKERS[kind](tmp_path / "x"):
        assert len(hidden(tmp_path)) == 2  # that of the living, and this
    assert len(hidden(tmp_path)) == 1
    alive.send_signal(signal.SIGKILL)
    alive.wait()
    system.sweep(tmp_path / "x")
    assert hidden(tmp_path) == []


@KINDS
def test_a_draft_that_is_swept_before_it_is_locked_is_made_again(tmp_path, kind, monkeypatch):
    """As soon as it exists, and just before it is locked."""
    swept, lock = [], system.lock

    def late(descriptor):
        if len(swept) < 2:
            swept.extend(hidden(tmp_path))
            system.sweep(tmp_path / "x")
        return lock(descriptor)

    monkeypatch.setattr(system, "lock", late)
    with MAKERS[kind](tmp_path / "x") as draft:
        assert len(swept) == 2
        assert hidden(tmp_path) == [draft.path.name] != swept[1:]
        assert make(draft) == "new"
    assert os.listdir(tmp_path) == ["x"]


def test_only_drafts_of_the_same_name_are_swept(tmp_path):
    kept = [".x.0123456789abcdef.partial", ".y.0123456789abcdef.partial", ".x.12345.partial", ".x.partial"]
    for name in kept[1:]:
        (tmp_path / name).write_text("")
    (tmp_path / "elsewhere").mkdir()
    os.symlink("elsewhere", tmp_path / ".x.aaaaaaaaaaaaaaaa.partial")
    os.mkfifo(tmp_path / ".x.bbbbbbbbbbbbbbbb.partial")
    before = sorted(os.listdir(tmp_path))
    system.sweep(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == before
    (tmp_path / kept[0]).write_text("")
    system.sweep(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == before


def test_nothing_is_swept_where_locks_do_not_exist(tmp_path, monkeypatch):
    stale = tmp_path / ".x.0123456789abcdef.partial"
    stale.write_text("")

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(system.fcntl, "flock", refuse)
    with DraftFile(tmp_path / "x") as draft:
        assert make(draft) == "new"
    assert stale.exists()


@KINDS
@pytest.mark.parametrize(
    "name", [b"\xff\xfe\x01.sam", b"n" * 255, "ä".encode() * 127], ids=["bytes", "long", "cut"]
)
def test_any_name_has_drafts(tmp_path, kind, name):
    final = tmp_path / os.fsdecode(name)
    with MAKERS[kind](final) as draft:
        assert make(draft) == "new"
    assert os.listdir(os.fsencode(tmp_path)) == [name]
    stale = tmp_path / os.fsdecode(draft.path.name)
    stale.write_text("")
    system.sweep(final)
    assert os.listdir(os.fsencode(tmp_path)) == [name]


# Opens a draft in a process that gets SIGINT at one call, or return of a function of C, after the other.
INTERRUPTED = """
import contextlib, itertools, os, signal, sys
from fmx.index import writer
from fmx.jobs import shard
from fmx.output.search_output import SearchOutput
from fmx import system
signal.signal(signal.SIGINT, signal.default_int_handler)
opened = {
    "file": lambda: system.DraftFile("x"),
    "folder": lambda: system.DraftFolder("x"),
    "index": lambda: writer.IndexWriter("x"),
    "shard": lambda: shard.ShardRun(1, 2, ".").opened(SearchOutput()),
}[sys.argv[1]]()
watched = [module.__file__ for module in (contextlib, system, shard, writer)]
def work():
    events = itertools.count()
    def count(frame, event, _):
        if event in ("call", "c_return") and frame.f_code.co_filename in watched and next(events) == at:
            os.kill(os.getpid(), signal.SIGINT)
    sys.setprofile(count)
    with contextlib.ExitStack() as stack:
        stack.enter_context(opened)
        sys.setprofile(None)
    return 0
for at in itertools.count():
    if os.fork() == 0:
        system.run_with_signals(work)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    print(code, *os.listdir("."))
    if code == 0:
        break
"""


@pytest.mark.parametrize("kind", ["file", "folder", "index", "shard"])
def test_a_process_that_is_interrupted_while_it_makes_a_draft_leaves_nothing(tmp_path, kind):
    command = [sys.executable, "-c", INTERRUPTED, kind]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    *interrupted, last = done.stdout.splitlines()
    assert (set(interrupted), last.split()[0], done.stderr) == ({"130"}, "0", "")
    assert len(interrupted) > 10
