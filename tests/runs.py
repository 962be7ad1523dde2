"""Commands as processes of their own, in the middle of whose work something happens."""

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time

MAIN = [sys.executable, "-m", "fmx"]


@contextlib.contextmanager
def started(arguments, **pipes):
    """A command under way; killed if it is still running at the end."""
    with subprocess.Popen([*MAIN, *map(str, arguments)], preexec_fn=take_signals, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def take_signals():
    """A background process of a shell script may have been started with signals ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_until(happens, *processes) -> None:
    """Wait, however long, for what processes do that run until then."""
    while not happens():
        assert all(process.poll() is None for process in processes) or happens()
        time.sleep(0.01)


def on_terminal(*arguments, stdout=None) -> tuple:
    """(exit code, what a terminal of 70 columns is sent) of a command whose stderr, and stdout, is that."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    command = [*MAIN, *map(str, arguments)]
    with subprocess.Popen(command, stdout=stdout or theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while block := os.read(ours, 65536):
                said += block
    os.close(ours)
    return process.returncode, said.replace(b"\r\n", b"\n").decode()
