"""Index folders on disk: what is replaced, by whom, what a kill leaves, and what opening them can meet."""

import builtins
import contextlib
import errno
import io
import itertools
import json
import os
import signal
import subprocess
import sys

import cases
import numpy as np
import pytest
import workflow
from bad_reads import complaint
from conftest import ROOT
from texts import numbered, random_letters

from fmx import system
from fmx.cli import main
from fmx.errors import OutputError
from fmx.index import disk, fm_index
from fmx.index import writer as index_writer

ONE = cases.fasta(numbered([random_letters(500, "one")]))
TWO = cases.fasta(numbered([random_letters(600, "two"), "ACGTNNACC"]))
MAIN = [sys.executable, "-m", "fmx"]


@pytest.fixture
def home(folder):
    """A folder with one.fa, two.fa, their sizes of text in SIZES, and ref.fmx of one.fa."""
    (folder / "one.fa").write_bytes(ONE)
    (folder / "two.fa").write_bytes(TWO)
    workflow.build_index("one.fa", "ref.fmx")
    return folder


def n_text(path="ref.fmx"):
    """Symbols in an index, all of it checked."""
    return workflow.inspect(path, verify=True)["n_text"]


@pytest.mark.parametrize("read", [n_text, lambda: fm_index.load("ref.fmx").reference.n_text])
@pytest.mark.parametrize("step", ["read_any_meta", "read_array"])
def test_an_index_replaced_as_it_is_opened_is_opened_as_it_is_then(read, step, home, monkeypatch):
    seldom = getattr(disk, step)

    def replaced_meanwhile(*arguments):
        found = seldom(*arguments)
        monkeypatch.setattr(disk, step, seldom)
        workflow.build_index("two.fa", "ref.fmx")
        return found

    monkeypatch.setattr(disk, step, replaced_meanwhile)
    assert read() == len("ACGTNNACC") + 600 + 1


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "name", ["thesis.txt", "x.npy", "part0/mine.npy", ".hidden", "more/meta.json", "meta.json~"]
)
def test_a_file_of_the_user_in_an_index_is_never_erased(name, home, command):
    file = home / "ref.fmx" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    message = complaint(command("index", "-q", "two.fa", "-o", "ref.fmx"))
    assert "ref.fmx holds " in message
    assert "which fmx did not write" in message
    assert (file.read_text(), n_text()) == ("mine", 501)
    assert names(home) == ["one.fa", "ref.fmx", "two.fa"]


@pytest.mark.parametrize(
    "meta", ["{}", "", '{"name": "a web page"}', "[]", '{"format": 1, "checksum": ""}', "null"]
)
def test_another_folder_with_a_meta_json_is_never_erased(meta, home, command):
    (home / "site").mkdir()
    (home / "site" / "meta.json").write_text(meta)
    (home / "site" / "photo.jpg").write_text("mine")
    assert "site exists and is not a complete fmx index" in complaint(
        command("index", "-q", "one.fa", "-o", "site")
    )
    assert names(home / "site") == ["meta.json", "photo.jpg"]


def test_what_was_put_there_during_the_build_is_not_erased(home):
    with index_writer.IndexWriter("ref.fmx") as writer:
        (home / "ref.fmx" / "mine").write_text("x")
        with pytest.raises(OutputError, match="mine"):
            writer.commit({})
    assert n_text() == 501
    assert names(home) == ["one.fa", "ref.fmx", "two.fa"]


def test_what_killed_additions_left_is_no_file_of_the_user(home):
    for stale in (".4711.partial", ".added.0123456789abcdef.partial"):
        (home / "ref.fmx" / stale).mkdir()
        (home / "ref.fmx" / stale / "cofi-k4.offsets.npy").write_text("x")
    assert workflow.add_layouts("ref.fmx", ["sampled"]) == ["sampled-k1-d64"]
    assert not list((home / "ref.fmx").glob(".*"))
    (home / "ref.fmx" / ".4711.partial").mkdir()
    workflow.build_index("two.fa", "ref.fmx")
    assert n_text() == 610
    assert names(home) == ["one.fa", "ref.fmx", "two.fa"]


def test_a_damaged_index_and_one_of_another_format_can_be_built_again(home):
    (home / "ref.fmx" / "sa_positions.npy").write_text("x")
    (home / "ref.fmx" / "text_words.npy").unlink()
    workflow.build_index("one.fa", "ref.fmx")
    assert n_text() == 501
    meta = json.loads((home / "ref.fmx" / "meta.json").read_text())
    meta["format"], meta["arrays"]["of_old"] = 0, {}
    (home / "ref.fmx" / "meta.json").write_text(json.dumps(meta))
    (home / "ref.fmx" / "of_old.npy").write_text("x")
    workflow.build_index("one.fa", "ref.fmx")
    assert n_text() == 501


# Reads lines "STEP kill|fail exchange|aside build|add", and answers whether a child that ends there was done.
KILLED = """
import os, pathlib, signal, sys
from fmx import system
from fmx.compiler import object_cache
from fmx.index import build
object_cache.write = lambda *_: None  # may fail without consequence
def work(step, how, way, job):
    count = 0
    def counted(function):
        def stopping(*arguments, **named):
            nonlocal count
            count += 1
            if count == int(step):
                if how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(5, "Input/output error")
            return function(*arguments, **named)
        return stopping
    if way == "aside":
        system.exchange = lambda *names: False
    for module, name in [(os, "rename"), (os, "replace"), (os, "fsync"), (system, "exchange"),
                         (system.shutil, "rmtree")]:
        setattr(module, name, counted(getattr(module, name)))
    pathlib.Path.replace = lambda self, other: os.replace(self, other)
    if job == "build":
        build.build_index("two.fa", "ref.fmx")
    else:
        build.add_layouts("ref.fmx", ["sampled"])
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(*line.split())
            code = 0
        finally:
            os._exit(code)
    print(os.waitpid(child, 0)[1] == 0, flush=True)
"""


@pytest.fixture
def ends_at(home):
    """A function (step, how, way, job) -> whether the job was done before the step at which it ends."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", KILLED], **pipes) as process:

        def ends_at(*words):
            print(*words, file=process.stdin, flush=True)
            return process.stdout.readline() == "True\n"

        yield ends_at
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize(("how", "way"), [("kill", "exchange"), ("kill", "aside"), ("fail", "aside")])
def test_an_end_at_any_step_of_replacing_leaves_an_index(how, way, home, ends_at):
    states: list = []
    for step in itertools.count(1):
        is_done = ends_at(step, how, way, "build")
        if way == "aside" and not (home / "ref.fmx").exists():
            assert how == "kill"
            system.sweep(home / "ref.fmx")  # what the next build begins with
        states.append(n_text())
        if is_done:
            break
    assert step > 5
    assert set(states) == {501, 610}
    assert states == sorted(states)
    system.sweep(home / "ref.fmx")
    assert names(home) == ["one.fa", "ref.fmx", "two.fa"]


@pytest.mark.parametrize("how", ["kill", "fail"])
def test_an_end_at_any_step_of_adding_leaves_an_index(how, home, ends_at):
    for step in itertools.count(1):
        is_done = ends_at(step, how, "-", "add")
        layouts = workflow.inspect("ref.fmx", verify=True)["layouts"]
        assert layouts[0] == "bvsfm-k2-d96"
        if is_done:
            break
    assert step > 3
    assert "sampled-k1-d64" in layouts
    assert not list((home / "ref.fmx").glob(".*"))


def test_of_two_builds_at_once_one_wins_whole(home):
    builds = [
        subprocess.Popen([*MAIN, "index", "-q", "-t1", f"{name}.fa", "-o", "new.fmx"])
        for name in ("one", "two")
    ]
    assert [process.wait() for process in builds] == [0, 0]
    assert n_text("new.fmx") in (501, 610)
    assert names(home) == ["new.fmx", "one.fa", "ref.fmx", "two.fa"]


def test_a_build_waits_for_an_addition_and_an_addition_for_a_build(home):
    build = [*MAIN, "index", "-t1", "two.fa", "-o", "ref.fmx"]
    add = [*MAIN, "index", "-t1", "--add", "--layout", "sampled", "ref.fmx"]
    for command, expected in ((build, ["bvsfm-k2-d96"]), (add, ["bvsfm-k2-d96", "sampled-k1-d64"])):
        with index_writer.IndexExtender("ref.fmx"):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            for line in process.stderr:
                if "waiting for another fmx" in line:
                    break
            assert process.poll() is None
            assert n_text() == (501 if command is build else 610)
        process.communicate()
        assert process.returncode == 0
        assert workflow.inspect("ref.fmx", verify=True)["layouts"] == expected


def test_interrupting_a_wait_ends_it(home):
    with index_writer.IndexExtender("ref.fmx"):
        add = [*MAIN, "index", "-t1", "--add", "--layout", "sampled", "ref.fmx"]
        process = subprocess.Popen(add, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "waiting for another fmx" in line:
                break
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130


def test_a_link_is_written_through(home, command):
    (home / "real").mkdir()
    (home / "ref.fmx").rename(home / "real" / "a.fmx")
    (home / "link.fmx").symlink_to("real/a.fmx")
    assert command("index", "-q", "two.fa", "-o", "link.fmx").code == 0
    (home / "new.fmx").symlink_to("real/b.fmx")
    assert command("index", "-q", "two.fa", "-o", "new.fmx").code == 0
    assert (home / "link.fmx").is_symlink()
    assert (home / "new.fmx").is_symlink()
    assert names(home / "real") == ["a.fmx", "b.fmx"]
    assert n_text("real/a.fmx") == n_text("real/b.fmx") == 610


def test_names_of_outputs(home, command):
    assert command("index", "-q", "two.fa", "-o", "ref.fmx/").code == 0
    assert command("index", "-q", "two.fa", "-o", "new.fmx/").code == 0
    assert n_text() == n_text("new.fmx") == 610
    said = complaint(command("index", "-q", "two.fa", "-o", "no/new.fmx"))
    assert "no/new.fmx: cannot write here: the folder 'no' does not exist" in said
    assert "one.fa/x.fmx: cannot write here: Not a directory" in complaint(
        command("index", "-q", "two.fa", "-o", "one.fa/x.fmx")
    )
    assert "File name too long" in complaint(command("index", "-q", "two.fa", "-o", "x" * 256))
    assert "empty argument" in complaint(command("index", "-q", "two.fa", "-o", ""), 2)
    assert names(home) == ["new.fmx", "one.fa", "ref.fmx", "two.fa"]


def test_the_current_folder_is_not_replaced(home, command):
    for place, output in (("ref.fmx", "."), ("ref.fmx", "../ref.fmx")):
        with contextlib.chdir(home / place):
            message = complaint(command("index", "-q", "../two.fa", "-o", output))
            assert "cannot replace the current folder" in message
            assert command("index", "-q", "--add", "--layout", "sampled", ".").code == 0
    assert "two.fa" in names(home)
    assert ". exists and is not a complete fmx index" in complaint(
        command("index", "-q", "two.fa", "-o", ".")
    )


@pytest.mark.parametrize("what", ["EACCES", "EMFILE", "ENOMEM", "EIO"])
@pytest.mark.parametrize("name", ["meta.json", "sa_positions.npy", "contig_names.npy"])
def test_what_the_system_says_is_told(what, name, home, monkeypatch, command):
    code, real = getattr(errno, what), io.open

    def failing(file, *arguments, **named):
        if str(file).endswith(name):
            raise OSError(code, os.strerror(code), str(file))
        return real(file, *arguments, **named)

    monkeypatch.setattr(builtins, "open", failing)
    monkeypatch.setattr(io, "open", failing)
    message = complaint(command("inspect", "ref.fmx"))
    assert f"ref.fmx/{name}: cannot read: {os.strerror(code)}" in message
    assert "build the index again" not in message


@pytest.mark.parametrize("text", ["A" * 18, "ACGT" * 300])
def test_tables_are_bounded_by_the_text(text, folder, command):
    (folder / "r.fa").write_text(f">x\n{text}\n")
    for arguments in (["--layout", "cofi-k15"], ["--layout", "bvsfm,cofi-k11"], ["--prefix-length", "15"]):
        message = complaint(command("index", "-q", "r.fa", *arguments))
        assert "at most 10" in message
        assert names(folder) == ["r.fa"]
    assert command("index", "-q", "r.fa", "--layout", "cofi").code == 0
    assert "k is at most 10" in complaint(command("index", "-q", "--add", "--layout", "cofi-k12", "r.fmx"))
    assert command("index", "-q", "--add", "--layout", "cofi-k10", "r.fmx").code == 0
    assert command("index", "-q", "--prefix-length", "10", "r.fa").code == 0


def test_the_arrays_of_an_addition_are_on_disk_before_they_count(home, monkeypatch):
    order = []
    real_sync, real_replace = os.fsync, type(home).replace
    monkeypatch.setattr(
        os, "fsync", lambda fd: (order.append(os.readlink(f"/proc/self/fd/{fd}")), real_sync(fd))[1]
    )
    monkeypatch.setattr(
        type(home), "replace", lambda self, to: (order.append(f"to {to}"), real_replace(self, to))[1]
    )
    assert main.run(["index", "-q", "--add", "--layout", "sampled", "ref.fmx"]) == 0
    (moved,) = [
        i for i, what in enumerate(order) if what.endswith("sampled-k1-d64.entries.npy") and what[:3] == "to "
    ]
    (committed,) = [i for i, what in enumerate(order) if what == "to ref.fmx/meta.json"]
    synced = [
        i for i, what in enumerate(order) if what.endswith("sampled-k1-d64.entries.npy") and what[:3] != "to "
    ]
    assert synced[0] < moved < committed
    assert any(what.endswith(".partial/meta.json") for what in order[:committed])
    assert str(home / "ref.fmx") in order[moved:committed]
    assert order[-1].endswith("ref.fmx") or order[-1].endswith(str(home / "ref.fmx"))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("shape", [(0,), (1,), (20,), (21,), (7, 3)])
def test_an_array_written_in_pieces_is_one_that_numpy_saves(shape, n_threads, tmp_path, monkeypatch):
    monkeypatch.setattr(index_writer, "PIECE", 20)
    array = np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)
    with index_writer.IndexWriter(tmp_path / "x.fmx", n_threads) as opened:
        opened.add("part0/x", array)
        np.save(tmp_path / "x.npy", array)
        (file,) = tmp_path.rglob("part0/x.npy")
        assert file.read_bytes() == (tmp_path / "x.npy").read_bytes()
    entry, flat = opened.arrays["part0/x"], array.reshape(-1)
    assert (entry["dtype"], entry["shape"], entry["bytes"]) == ("uint16", list(shape), array.nbytes)
    assert entry["checksums"] == [disk.checksum(flat[i : i + 10]) for i in range(0, max(flat.size, 1), 10)]


# Checksums of the arrays of phage lambda's index whose values fmx chooses.  If one differs, older indexes
# would be read wrongly: raise the formats in fmx/index/disk.py.
STORED = {
    "alternate-k2-d64.entries": "b74fd85f03720f32", "alternate-k2-d64.missing": "ea1f49916e9d90cd",
    "bvsfm-k2-d96.entries": "55e324338a8023cb", "cofi-k5.changes": "90dd94d8bf801883",
    "cofi-k5.offsets": "4d0f88268af46fea", "kstep-k2-d64.entries": "3aff407176a50130",
    "kstep-k2-d64.missing": "ea1f49916e9d90cd", "lcp.rank": "aa998a6c05b9981e",
    "lcp.small": "bb10f7a431e5ccd9", "prefix_pairs": "7916f5237c460993",
    "sampled-k1-d64.entries": "be376f3184964450",
    "sampled-k1-d64.missing": "7f5dc66e57ed8258", "seed_starts": "28f94a92c032cbb8",
    "sparse-k21-w16.rows": "fc7825d24395d10b", "sparse-k21-w16.starts": "7ff2c174840dd893",
    "text_words": "414a12cb8605cace",
}  # fmt: skip
SAMPLED = {"sa_marks": "b39cfd6804fa1cc7", "sa_positions": "9c1a9286876ee47c"}


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        (["--layout", "sampled,kstep,alternate,bvsfm,cofi-k5,sparse", "--with-lcp"], STORED),
        (["--sa-rate", 32], SAMPLED),
    ],
)
def test_arrays_of_an_index_are_those_that_older_versions_wrote(words, stored, folder, command):
    command("index", "-q", ROOT / "fmx" / "data" / "lambda.fa.gz", "-o", "ref.fmx", *words)
    arrays = disk.read_meta("ref.fmx")["arrays"]
    assert {name: arrays[name]["checksums"] for name in stored} == {name: [x] for name, x in stored.items()}
