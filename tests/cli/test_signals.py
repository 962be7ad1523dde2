"""A signal at any moment of a run: its exit code, one line at most, no traceback, nothing half-made."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import termios

import cases
import pytest
from cover import nightly
from runs import MAIN, started, take_signals, wait_until
from texts import numbered, random_letters

GENOME = numbered([random_letters(700, "g1")])
READS = cases.fastq([(f"r{i}", GENOME[0][1][7 * i : 7 * i + 30]) for i in range(50)])


@pytest.fixture
def home(folder, index_of):
    """A folder that holds ref.fmx and reads."""
    (folder / "ref.fmx").symlink_to(index_of(GENOME))
    (folder / "r.fq").write_bytes(READS)
    return folder


# fmx, in which places where Python may handle a signal, at a call or after a function of C, are counted.  At
# one it waits; at its end it writes how many there are.
PLACES = """
import importlib.util, os, runpy, signal, sys, threading
at, reached, go = (int(sys.argv.pop(1)) for _ in range(3))
places, leave = set(), os._exit
package = os.path.dirname(importlib.util.find_spec("fmx").origin)
def count(frame, event, _):
    place = frame.f_code, frame.f_lasti, event
    if event not in ("call", "c_return") or place in places:
        return
    if not frame.f_code.co_filename.startswith(package):
        return
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        places.add(place)
        if len(places) == at:
            os.write(reached, b"-")
            os.read(go, 1)
def leave_counted(code):
    os.write(reached, str(len(places)).encode())
    leave(code)
os._exit = leave_counted
threading.setprofile(count)
sys.setprofile(count)
runpy.run_module("fmx", run_name="__main__", alter_sys=True)
"""


def interrupted(arguments, place, n_signals):
    """(exit code, stderr, number of places) of a command that gets SIGINT at one, again and again."""
    reached, go = os.pipe(), os.pipe()
    command = [sys.executable, "-c", PLACES, str(place), str(reached[1]), str(go[0]), *arguments]
    pipes = {"stderr": subprocess.PIPE, "pass_fds": (reached[1], go[0])}
    with open(reached[0]) as told, subprocess.Popen(command, preexec_fn=take_signals, **pipes) as process:
        os.close(reached[1])
        os.close(go[0])
        first = told.read(1)
        for _ in range(n_signals if first == "-" else 0):
            process.send_signal(signal.SIGINT)
        os.close(go[1])
        _, err = process.communicate()
        return process.returncode, err.decode(), first + told.read()


@pytest.mark.parametrize(("n_signals", "n_runs"), [(1, 3), (1000, 2), nightly(1, 60), nightly(1000, 30)])
def test_an_interrupt_at_any_time(n_signals, n_runs, home):
    arguments = ["search", "-q", "r.fq", "-o", "out.sam"]
    subprocess.run([*MAIN, *arguments], check=True)  # compiles
    (home / "out.sam").unlink()
    code, err, places = interrupted(arguments, 0, 0)
    assert (code, err) == (0, "")
    for i in range(1, n_runs + 1):
        (home / "out.sam").unlink(missing_ok=True)
        code, err, _ = interrupted(arguments, i * int(places) // n_runs, n_signals)
        assert err in ("", "fmx: interrupted\n"), (i, err)
        assert code == 130 or (code == 0 and i > 0.95 * n_runs), (i, err)  # at its end it takes no signals
        assert not list(home.glob(".*.partial"))
        assert (home / "out.sam").exists() or code == 130


PREPARE = """
import ctypes, os, signal, sys, time
from fmx import system
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt(): os.kill(os.getpid(), signal.SIGINT)
"""
AS_SIGNALS_ARE_CAUGHT = """
caught = signal.signal
def and_one_comes(number, handler):
    caught(number, handler)
    if number == signal.SIGINT and handler != signal.SIG_IGN:
        interrupt()
def work():
    raise AssertionError("it began")
signal.signal = and_one_comes
"""
IN_A_CALLBACK = """
def work():
    ctypes.CFUNCTYPE(None)(interrupt)()
    time.sleep(600)
"""
AS_ANOTHER_ERROR = """
def work():
    try:
        interrupt()
        time.sleep(600)
    except KeyboardInterrupt:
        raise ImportError("no such thing")
"""


@pytest.mark.parametrize(
    ("work", "code"),
    [(IN_A_CALLBACK, 130), (AS_ANOTHER_ERROR, 130), (AS_SIGNALS_ARE_CAUGHT, 130)],
)
def test_an_interrupt_is_not_lost_in_a_library(work, code):
    program = PREPARE + work + "system.run_with_signals(work)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (code, b"", b"")


WAITING = {
    "search": ["search", "-q", "-x", "ref.fmx", "-t", 2, "-o", "out"],
    "search both": ["search", "-q", "-x", "ref.fmx", "-t", 2, "-o", "out", "-2", "r.fq", "-1"],
    "collapse": ["search", "-q", "-x", "ref.fmx", "-o", "out", "--collapse"],
    "mem": ["mem", "-q", "-x", "ref.fmx", "-o", "out"],
    "count": ["count", "-q", "-l", "l.csv", "--offset", 0, "-o", "out"],
    "locate": ["locate", "-q", "-x", "ref.fmx", "-o", "out"],
    "pairwise": ["pairwise", "-q", "-o", "out"],
    "index": ["index", "-q", "-o", "out"],
}


def test_who_waits_for_input_that_does_not_come_can_be_ended(home):
    """All commands at once, each in a folder of its own."""
    (home / "l.csv").write_text(f"g,{GENOME[0][1][:20]}\n")
    endings = {signal.SIGINT: "interrupted", signal.SIGTERM: "stopped by SIGTERM"}
    endings |= {signal.SIGHUP: "stopped by SIGHUP"}
    stops = [("search", [signal.SIGINT]), ("search", [signal.SIGHUP])]
    stops += [(name, [signal.SIGTERM]) for name in WAITING]
    with contextlib.ExitStack() as stack:
        processes, pipes = [], []
        for i, (name, _) in enumerate(stops):
            place = home / str(i)
            place.mkdir()
            for held in ("ref.fmx", "r.fq", "l.csv"):
                (place / held).symlink_to(home / held)
            os.mkfifo(place / "pipe")
            arguments = [*map(str, WAITING[name]), "pipe"]
            processes.append(stack.enter_context(started(arguments, stderr=subprocess.PIPE, cwd=place)))
        for i, process in enumerate(processes):
            pipe = stack.enter_context(open_writer(home / str(i) / "pipe", process))
            pipe.write(b">")  # and nothing after it
            pipes.append(pipe)
        for pipe, process in zip(pipes, processes, strict=True):
            wait_until(lambda pipe=pipe: not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))), process)
        for (_, numbers), process in zip(stops, processes, strict=True):
            for number in numbers:
                process.send_signal(number)
        ends = [(process.communicate()[1], process.returncode) for process in processes]
    for i, ((name, numbers), (err, code)) in enumerate(zip(stops, ends, strict=True)):
        assert code - 128 in numbers, name
        assert err.decode() in [f"fmx: {endings[number]}\n" for number in numbers], name
        assert sorted(path.name for path in (home / str(i)).iterdir()) == [
            "l.csv", "pipe", "r.fq", "ref.fmx",
        ], name  # fmt: skip


def open_writer(path, process):
    """The other end of a pipe that a process reads, as a file."""
    opened = []

    def is_read() -> bool:
        with contextlib.suppress(OSError):  # nobody reads it yet
            opened.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_until(is_read, process)
    return os.fdopen(opened[0], "wb", 0)
