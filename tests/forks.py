"""Many commands by one process that has fmx imported: each in a child of its own, so that a crash is seen.

As a program: reads [whether in a child, arguments], a JSON list a line, and answers each by
[exit code, output, errors].
"""

import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from types import SimpleNamespace

SECONDS = 60  # of processor time; a walk or a wait without end must end


class Forks:
    """Calls it: forks("inspect", path) -> what subprocess.run gives, a negative code for a signal."""

    def __init__(self, **how):
        """``how`` the process is started: ``cwd``, ``env``."""
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how
        )

    def __call__(self, *arguments):
        return self._ask(True, arguments)

    def prepare(self, *arguments):
        """Run a good command in that process itself: its children have what it loads for this, too."""
        done = self._ask(False, arguments)
        assert done.returncode == 0, done.stderr

    def _ask(self, in_child, arguments):
        self._process.stdin.write(json.dumps([in_child, [str(argument) for argument in arguments]]) + "\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        return SimpleNamespace(args=arguments, returncode=code, stdout=out, stderr=err)

    def close(self):
        self._process.communicate()


def _answer(in_child, arguments) -> list:
    if not in_child:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            sys.argv = ["fmx", *arguments]
            code = main.run(arguments)
        return [code, out.getvalue(), err.getvalue()]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(10 * SECONDS)
            code = 70
            try:
                sys.argv = ["fmx", *arguments]
                code = main.run(arguments)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return [os.waitstatus_to_exitcode(status), *texts]


if __name__ == "__main__":
    sys.path.pop(0)
    from fmx.cli import main
    from fmx.jobs import search  # noqa: F401

    for line in sys.stdin:
        print(json.dumps(_answer(*json.loads(line))), flush=True)
