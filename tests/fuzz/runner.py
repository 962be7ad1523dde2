"""Runs command lines of fmx in a child process that may crash, hang or swell; a new one is started then."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RUNS = 5000  # of one child


@dataclass
class Outcome:
    """What came of a command: ``code`` of its exit, or ``broken``: how the child ended."""

    arguments: list
    code: int | None
    out: bytes
    err: bytes
    seconds: float
    grown: int = 0
    broken: str = ""

    @property
    def message(self) -> str:
        return self.err.decode(errors="backslashreplace")


class Runner:
    """``folder`` holds what is passed to and from the child; ``environment`` adds to that of this process."""

    def __init__(self, folder: Path, limit=120.0, **environment):
        self.folder, self.limit, self._child, self._runs = folder, limit, None, 0
        self._environment = {**os.environ, "FMX_INDEX": "", "PYTHONPATH": str(ROOT), **environment}
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def run(self, cwd, arguments, stdin=b"", chunk_size=None) -> Outcome:
        """Run one command line in the folder ``cwd``."""
        if self._child is None or self._runs >= RUNS:
            self._start()
        self._runs += 1
        files = [str(self.folder / name) for name in ("stdin", "stdout", "stderr")]
        for path, data in zip(files, (stdin, b"", b""), strict=True):
            Path(path).write_bytes(data)
        task = {"folder": str(cwd), "arguments": arguments, "standard": files, "chunk_size": chunk_size}
        start = time.monotonic()
        answer, broken = self._ask(json.dumps(task) + "\n")
        out, err = (Path(path).read_bytes() for path in files[1:])
        return Outcome(
            arguments, answer.get("code"), out, err, time.monotonic() - start, answer.get("grown", 0), broken
        )

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
            [sys.executable, "-m", "tests.fuzz.worker", str(from_us), str(to_us)],
            cwd=ROOT, env=self._environment, pass_fds=(from_us, to_us), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(from_us)
        os.close(to_us)
        self._requests, self._replies = os.fdopen(to_child, "w"), os.fdopen(from_child)
        self._runs = 0

    def stop(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._replies.close()
            with contextlib.suppress(BrokenPipeError):
                self._requests.close()
            self._child = None
