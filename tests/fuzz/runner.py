"""Runs command lines of fmx in a child process that may crash, hang or swell; a new one is started then."""

import contextlib
import faulthandler
import json
import os
import resource
import select
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
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
        self.folder, self.limit, self._child = folder, limit, None
        self._environment = {**os.environ, "FMX_INDEX": "", "PYTHONPATH": str(ROOT), **environment}
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def run(self, cwd, arguments, stdin=b"", chunk_size=None) -> Outcome:
        """Run one command line in the folder ``cwd``."""
        if self._child is None:
            self._start()
        files = [str(self.folder / name) for name in ("stdin", "stdout", "stderr")]
        for path, data in zip(files, (stdin, b"", b""), strict=True):
            Path(path).write_bytes(data)
        task = {"folder": str(cwd), "arguments": arguments, "standard": files, "chunk_size": chunk_size}
        answer, broken = self._ask(json.dumps(task) + "\n")
        out, err = (Path(path).read_bytes() for path in files[1:])
        return Outcome(arguments, answer.get("code"), out, err, answer.get("grown", 0), broken)

    def _ask(self, request) -> tuple:
        """(answer, how the child ended if it did)."""
        with contextlib.suppress(BrokenPipeError):  # it has crashed since
            self._requests.write(request)
            self._requests.flush()
        ready, _, _ = select.select([self._replies], [], [], self.limit)
        line = self._replies.readline() if ready else ""
        if line:
            return json.loads(line), ""
        if not ready:
            self.stop()
            return {}, f"hang: no end after {self.limit:.0f} s"
        code = self._child.wait()
        self.stop()
        return {}, f"crash: {signal.Signals(-code).name if code < 0 else f'exit {code} of the process'}"

    def _start(self) -> None:
        self.stop()
        (from_us, to_child), (from_child, to_us) = os.pipe(), os.pipe()
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.runner", str(from_us), str(to_us)],
            cwd=ROOT, env=self._environment, pass_fds=(from_us, to_us), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(from_us)
        os.close(to_us)
        self._requests, self._replies = os.fdopen(to_child, "w"), os.fdopen(from_child)

    def stop(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._replies.close()
            with contextlib.suppress(BrokenPipeError):
                self._requests.close()
            self._child = None


def answer(requests, replies) -> None:
    """In the child: run command lines as ``fmx`` would, and say how each ended.

    A request is a line of JSON (see Runner.run), the answer one, too: {"code": exit code, "grown": bytes}.
    """
    from fmx.cli import main as cli

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in requests:
        task = json.loads(line)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        code = _run(cli, task)
        grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        print(json.dumps({"code": code, "grown": grown}), file=replies, flush=True)


def _run(cli, task) -> int:
    os.chdir(task["folder"])
    for fd, path in enumerate(task["standard"]):
        opened = os.open(path, os.O_WRONLY if fd else os.O_RDONLY)
        os.dup2(opened, fd)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    sys.argv = ["fmx", *task["arguments"]]
    _set_chunk_size(task["chunk_size"])
    try:
        code = cli.run(task["arguments"])
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

    for place, name, small in (
        (shards, "APART", lambda _: size),
        (
            spans.RecordFile,
            "spans",
            lambda of: lambda file, _, *more, **named: of(file, size, *more, **named),
        ),
    ):
        original = ORIGINALS.setdefault((place, name), getattr(place, name))
        setattr(place, name, small(original) if size else original)


if __name__ == "__main__":
    answer(os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w"))
