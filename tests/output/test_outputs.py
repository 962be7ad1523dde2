"""Outputs appear whole or not at all: signals, kills, two runs at once, full disks."""

import contextlib
import errno
import fcntl
import os
import resource
import signal
import subprocess

import cases
import pytest
from runs import MAIN, feed_until, started

from fmx import system
from fmx.input import streams

GENOME = [("c1", "ACGTTGCAAC" * 4 + "GGTACATTCG")]
GOOD = b"".join(b"@r%d\nACGTTGCAAC\n+\nIIIIIIIIII\n" % i for i in range(50))
FASTA = b">a\nACGTTGCAAC\n>b\nACGTTGCTAC\n"


@pytest.fixture
def indexed(folder, index_of):
    """A folder that holds ref.fmx, reads q.fq and sequences q.fa."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    (folder / "q.fq").write_bytes(GOOD)
    (folder / "q.fa").write_bytes(FASTA)
    return folder


def contents(folder) -> dict:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def grown(folder):
    """Has a draft of 100 kB appeared?"""
    return any(path.stat().st_size > 100_000 for path in folder.glob(".*.partial"))


COMMANDS = ["search - -o out.sam", "search - -o out.bam", "mem -l 5 - -o out"]


@pytest.mark.parametrize("names", ["INT", "TERM", "HUP", "HUP TERM HUP " * 3])
@pytest.mark.parametrize("arguments", COMMANDS)
def test_signals_leave_no_output(arguments, names, indexed):
    """Several do not cut the cleaning short."""
    before = sorted(os.listdir(indexed))
    with started(arguments.split(), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        feed_until(process, GOOD * 1000, lambda: grown(indexed))
        for name in names.split():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(getattr(signal, f"SIG{name}"))
        _, err = process.communicate()
    endings = {"INT": (130, "interrupted")}
    endings |= {"TERM": (143, "stopped by SIGTERM"), "HUP": (129, "stopped by SIGHUP")}
    codes, lines = zip(*(endings[name] for name in names.split()), strict=True)
    assert process.returncode in codes
    assert err.decode().splitlines()[-1].removeprefix("fmx: ") in lines
    assert "Traceback" not in err.decode()
    assert sorted(os.listdir(indexed)) == before


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


LARGE = [
    ["search", "-q", "big.fq", "-o", "out.sam"],
    ["search", "-q", "big.fq", "-o", os.devnull, "--counts", "counts.tsv"],
    ["locate", "-q", "big.fq", "-o", "out.tsv"],
    ["mem", "-q", "-l", "5", "big.fq", "-o", "out"],
    ["pairwise", "-q", "big.fa", "-o", "out.tsv"],
]


@pytest.mark.parametrize("arguments", LARGE, ids=lambda arguments: arguments[0])
def test_no_room_is_one_line_and_leaves_nothing(arguments, indexed, command):
    """A limit on the size of files stands for a full disk: both refuse a write half way."""
    if "--counts" in arguments:
        many = [(f"{'c' * 200}{i}", "ACGTTGCAAC") for i in range(150)]
        (indexed / "ref.fmx").unlink()
        cases.build(indexed / "ref.fmx", many)
    (indexed / "big.fq").write_bytes(GOOD * 100)
    (indexed / "big.fa").write_bytes(b"".join(b">s%d\nACGT\n" % i for i in range(200)))
    command(*arguments)  # compiles, whose files are large
    for name in ("out.sam", "counts.tsv", "out.tsv", "out"):
        (indexed / name).unlink(missing_ok=True)
    before = contents(indexed)
    done = subprocess.run([*MAIN, *arguments], capture_output=True, preexec_fn=small_files, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("fmx: error: ")
    assert line.endswith(": cannot write: File too large")
    assert contents(indexed) == before


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fails_at_the_end_is_told_and_leaves_nothing(call, indexed, command, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (indexed / "out.sam").write_bytes(b"old")
    before = contents(indexed)
    monkeypatch.setattr(os, call, fail)
    result = command("search", "-q", "q.fq", "-o", "out.sam")
    assert (result.code, result.err) == (1, "fmx: error: out.sam: cannot write: No space left on device\n")
    assert contents(indexed) == before


@pytest.mark.parametrize("last", ["out.sam", "c.tsv", "al.fq", "un.gz", "r.json"])
def test_no_output_appears_before_all_are_complete(last, indexed, command, monkeypatch):
    def fail(draft):
        if draft.final.name == last:
            raise OSError(errno.ENOSPC, "No space left on device")

    before = contents(indexed)
    monkeypatch.setattr(system.DraftFile, "complete", fail)
    others = ["--counts", "c.tsv", "--al", "al.fq", "--un", "un.gz", "--report", "r.json"]
    result = command("search", "-q", "q.fq", "-o", "out.sam", *others)
    assert (result.code, result.err) == (1, f"fmx: error: {last}: cannot write: No space left on device\n")
    assert contents(indexed) == before


def test_data_are_on_disk_before_they_have_their_name(folder, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real: calls.append(name) or real(*a))
    with cases.opened_output(folder / "x") as file:
        file.write(b"data")
    assert calls == ["fsync", "replace", "fsync"]


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="only Linux lets a pipe be widened")
@pytest.mark.parametrize(("end", "opened"), [(0, streams.Source), (1, cases.opened_output)])
def test_pipes_hold_more(end, opened):
    with open("/proc/sys/fs/pipe-max-size") as file:
        most = min(1 << 20, int(file.read()))
    sides = os.pipe()
    with open(sides[0], "rb"), open(sides[1], "wb", buffering=0) as writer:
        writer.write(FASTA)
        with opened(f"/dev/fd/{sides[end]}"):
            assert fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) == most
