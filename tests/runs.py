"""Commands as processes of their own, in the middle of whose work something happens."""

import contextlib
import signal
import subprocess
import sys
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


def feed_until(process, data, done) -> None:
    """Write ``data`` to a command's standard input, again and again, until done() is true."""
    while not done():
        process.stdin.write(data)  # which fails once the command has ended


def wait_until(happens, *processes) -> None:
    """Wait, however long, for what processes do that run until then."""
    while not happens():
        assert all(process.poll() is None for process in processes) or happens()
        time.sleep(0.01)
