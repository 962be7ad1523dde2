"""The child of a Runner: runs one command line after another, as ``fmx`` would, and tells how each ended.

A request is a line of JSON (see Runner.run), the answer one, too: {"code": exit code, "grown": bytes}.
"""

import faulthandler
import json
import os
import resource
import sys
import traceback

ORIGINALS: dict = {}  # of what _set_chunk_size changes
MOST_MEMORY = 6 << 30  # of addresses; keeps the machine alive


def main(requests, replies) -> None:
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
    main(os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w"))
