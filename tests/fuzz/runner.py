"""Runs command lines of fmx in a child process that may crash, hang or swell; a new one is started then."""

import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parent.parent.parent
SPAWN = multiprocessing.get_context("spawn")
ORIGINALS: dict = {}  # of what _set_chunk_size changes
MOST_MEMORY = 6 << 30  # of addresses; keeps the machine alive


@dataclass
class Outcome:
    """What came of a command: ``code`` of its exit, or ``broken``: how the child ended."""

    arguments: list
    code: int | None
    out: bytes
    err: bytes
    grown: int = 0
    broken: str = ""

    @property
    def message(self) -> str:
        return self.err.decode(errors="backslashreplace")


class Runner:
    """``folder`` holds what is passed to and from the child; ``environment`` adds to that of this process."""

    def __init__(self, folder: Path, limit=120.0, **environment):
        self.folder, self.limit, self.child = folder, limit, None
        self._environment = {"FMX_INDEX": "", "PYTHONPATH": str(ROOT), **environment}
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def run(self, cwd, arguments, stdin=b"", chunk_size=None) -> Outcome:
        """Run one command line in the folder ``cwd``."""
        if self.child is None:
            self._start()
        files = [self.folder / name for name in ("stdin", "stdout", "stderr")]
        for path, data in zip(files, (stdin, b"", b""), strict=True):
            path.write_bytes(data)
        code, grown, broken = self._answer(str(cwd), arguments, files, chunk_size)
        out, err = (path.read_bytes() for path in files[1:])
        return Outcome(arguments, code, out, err, grown, broken)

    def _answer(self, *task) -> tuple:
        """(exit code, bytes that the child has grown by, how the child ended if it did)."""
        try:
            self._pipe.send(task)
            if self._pipe.poll(self.limit):
                return *self._pipe.recv(), ""
            broken = f"hang: no end after {self.limit:.0f} s"
        except (EOFError, OSError):
            self.child.join()
            code = self.child.exitcode
            broken = f"crash: {signal.Signals(-code).name if code < 0 else f'exit {code} of the process'}"
        self.stop()
        return None, 0, broken

    def _start(self) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        self.child = SPAWN.Process(target=answer, args=(theirs,), daemon=True)
        with mock.patch.dict(os.environ, self._environment):
            self.child.start()
        theirs.close()

    def stop(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.kill()
            self.child.join()
            self._pipe.close()
            self.child = None


def answer(pipe) -> None:
    """In the child: run command lines as ``fmx`` would, and tell the exit code and the growth of each."""
    from fmx.cli import main as cli

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        task = pipe.recv()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        code = _run(cli, *task)
        pipe.send((code, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)))


def _run(cli, folder, arguments, files, chunk_size) -> int:
    os.chdir(folder)
    for fd, path in enumerate(files):
        opened = os.open(path, os.O_WRONLY if fd else os.O_RDONLY)
        os.dup2(opened, fd)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    sys.argv = ["fmx", *arguments]
    _set_chunk_size(chunk_size)
    try:
        code = cli.run(arguments)
        sys.stdout.flush()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    return code


def _set_chunk_size(size) -> None:
    """Chunks of few bytes show borders that files of a few records never reach, and so do shards."""
    from fmx.input import shards, spans

    def small_spans(of):
        return lambda file, _, *more, **named: of(file, size, *more, **named)

    for place, name, small in (
        (shards, "APART", lambda _: size), (spans.RecordFile, "spans", small_spans),
    ):  # fmt: skip
        original = ORIGINALS.setdefault((place, name), getattr(place, name))
        setattr(place, name, small(original) if size else original)
